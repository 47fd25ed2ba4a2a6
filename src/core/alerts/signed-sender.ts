import { EnvHttpProxyAgent, request } from 'undici';
import { messageOfChain } from '../observability/message-of-chain.ts';
import { signatureHeaders } from './alert-signature.ts';

/** One signed POST. */
export interface SignedPost {
  /** The URL may carry a token: no message shows it. */
  readonly url: string;
  /** Signs the post; null: the post is not signed. */
  readonly secret: string | null;
  /** The same in every try, so that a receiver knows a repetition. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A refusal of a receiver, or its silence. */
export interface NotTaken {
  /** A clause that does not name the URL. */
  readonly why: string;
  /** The status that the receiver answered with; null: the receiver did not answer. */
  readonly status: number | null;
}

const ANSWER_MS = 10_000;

/** Posts to webhooks. It follows no redirect: a post that is signed for one receiver is for no other. */
export class SignedSender {
  readonly #nowMs: () => number;
  readonly #dispatcher = new EnvHttpProxyAgent();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** null: the receiver took the post (any 2xx answer). Rejects when the signal aborts. */
  async send({ url, secret, id, headers, body }: SignedPost, signal: AbortSignal): Promise<NotTaken | null> {
    const signed = signatureHeaders(id, Math.floor(this.#nowMs() / 1_000), body, secret);
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { ...headers, ...signed },
        body,
        dispatcher: this.#dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      });
      await answer.body.dump();
      const { statusCode: status } = answer;
      return status >= 200 && status < 300 ? null : { why: `it answered ${status}`, status };
    } catch (error) {
      signal.throwIfAborted();
      return { why: messageOfChain(error, url), status: null };
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}
