import { HoldfastError } from '../blob/errors.ts';
import type { AlertDocument } from './alert-document.ts';
import { type AlertFormat, formatAlert } from './alert-formats.ts';
import { type NotTaken, SignedSender } from './signed-sender.ts';

export interface AlertHookOptions {
  /** May carry a token: never shown. */
  readonly url: string;
  /** Signs what is sent; null: nothing does. */
  readonly secret: string | null;
  readonly format: AlertFormat;
}

/** A delivered alert disproves this condition, so its receiver never needs to hear of it. */
export const NOT_DELIVERED = 'alert/not-delivered';

/** The address that alerts are posted to. */
export class AlertHook {
  readonly #options: AlertHookOptions;
  readonly #sender: SignedSender;

  constructor(options: AlertHookOptions, nowMs: () => number) {
    this.#options = options;
    this.#sender = new SignedSender(nowMs);
  }

  /** @throws HoldfastError `alert/not-delivered`, which names no address. */
  async post(document: AlertDocument, signal: AbortSignal): Promise<void> {
    const { url, secret, format } = this.#options;
    const post = { url, secret, id: document.id, ...formatAlert(document, format) };
    const failure = await this.#sender.send(post, signal);
    if (failure !== null) throw notDelivered(failure);
  }

  async close(): Promise<void> {
    await this.#sender.close();
  }
}

function notDelivered({ why, status }: NotTaken): HoldfastError {
  return new HoldfastError(NOT_DELIVERED, `An alert cannot be delivered: ${why}.`, {
    details: status === null ? {} : { status },
    retryable: true,
    hint: 'Alerts do not arrive, so a failure would go unnoticed. Check HOLDFAST_ALERT_URL and its service; `holdfast alert test` sends a test alert.',
  });
}
