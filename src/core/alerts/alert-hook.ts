import { EnvHttpProxyAgent, request } from 'undici';
import { HoldfastError } from '../blob/errors.ts';
import { messageOfChain } from '../observability/message-of-chain.ts';
import type { AlertDocument } from './alert-document.ts';
import { type AlertFormat, formatAlert } from './alert-formats.ts';
import { signatureHeaders } from './alert-signature.ts';

export interface AlertHookOptions {
  /** May carry a token: never shown. */
  readonly url: string;
  /** Signs what is sent; null: nothing does. */
  readonly secret: string | null;
  readonly format: AlertFormat;
}

/** A delivered alert disproves this condition, so its receiver never needs to hear of it. */
export const NOT_DELIVERED = 'alert/not-delivered';
const ANSWER_MS = 10_000;

/** The address that alerts are posted to. It follows no redirect: what is signed for one receiver is for no other. */
export class AlertHook {
  readonly #options: AlertHookOptions;
  readonly #nowMs: () => number;
  readonly #dispatcher = new EnvHttpProxyAgent();

  constructor(options: AlertHookOptions, nowMs: () => number) {
    this.#options = options;
    this.#nowMs = nowMs;
  }

  /** @throws HoldfastError `alert/not-delivered`, which names no address. */
  async post(document: AlertDocument, signal: AbortSignal): Promise<void> {
    const { url, secret, format } = this.#options;
    const { headers, body } = formatAlert(document, format);
    const signed = signatureHeaders(document.id, Math.floor(this.#nowMs() / 1_000), body, secret);
    let status: number;
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { ...headers, ...signed },
        body,
        dispatcher: this.#dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      });
      await answer.body.dump();
      status = answer.statusCode;
    } catch (error) {
      signal.throwIfAborted();
      throw notDelivered(messageOfChain(error, url), {});
    }
    if (status < 200 || status >= 300) throw notDelivered(`it answered ${status}`, { status });
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

function notDelivered(why: string, details: { readonly status?: number }): HoldfastError {
  return new HoldfastError(NOT_DELIVERED, `An alert cannot be delivered: ${why}.`, {
    details,
    retryable: true,
    hint: 'Alerts do not arrive, so a failure would go unnoticed. Check HOLDFAST_ALERT_URL and its service; `holdfast alert test` sends a test alert.',
  });
}
