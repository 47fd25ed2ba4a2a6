import type { S3Client } from '@aws-sdk/client-s3';
import type { UndiciHttpHandler } from '@smithy/undici-http-handler';
import { readBody } from './read-body.ts';
import { NotS3Answer } from './s3-error.ts';
import { ServerClock } from './server-clock.ts';

type Handle = UndiciHttpHandler['handle'];
type HttpRequest = Parameters<Handle>[0];
type HandlerOptions = NonNullable<Parameters<Handle>[1]>;
type Answered = ReturnType<Handle>;
export type HttpResponse = Awaited<Answered>['response'];
/** Of the SDK's client: who signs, and when it is for the server. */
type Signing = Pick<S3Client['config'], 'signer' | 'systemClockOffset'>;

/** One question about an object. The SDK passes it on to the handler, with every try. */
export interface Asking extends HandlerOptions {
  readonly abortSignal: AbortSignal;
  /** Questions of one kind differ in nothing but key and body. null: of no kind. */
  readonly kind: string | null;
  readonly key: string;
  /** What a try without the SDK came to, which is the SDK's first. */
  tried?: Answered;
}
/** What arrives here of it: other questions have no kind. */
type Asked = HandlerOptions & Partial<Pick<Asking, 'kind' | 'key' | 'tried'>>;

/** What is the same in all requests of a kind. */
interface Known {
  /** Without what is of one time or one object. */
  readonly request: HttpRequest;
  /** The path before the key. */
  readonly base: string;
  readonly signingRegion: string;
  readonly signingService: string;
}

/** The signer makes date, token and signature anew. */
const OF_ONE_TRY = ['authorization', 'x-amz-date', 'x-amz-security-token', 'amz-sdk-invocation-id', 'amz-sdk-request'];
/** The one way of signing that is alike for all objects of a bucket, and the region and service that it signs for. */
const SIGNED = /^AWS4-HMAC-SHA256 Credential=[^,]+\/\d{8}\/([^/,]+)\/([^/,]+)\/aws4_request,/;
/** Signed by the credentials of a session (S3 Express), which only the SDK renews. */
const SESSION = 'x-amz-s3session-token';

/**
 * Stands between the SDK and the network. Of a kind of request that succeeded it knows all but key, body, date and
 * signature, so that the next of that kind is signed, by the SDK's own signer, and sent from here: the SDK's middleware
 * takes ten times as long for one as signing it does (0.4 ms, measured). What does not plainly succeed, the SDK takes for
 * its own first try: it reads the error, corrects its clock, and tries again where that helps.
 */
export class RepeatedRequests {
  readonly clock = new ServerClock();
  readonly #handler: UndiciHttpHandler;
  readonly #known = new Map<string, Known>();
  #signer: ReturnType<Signing['signer']> | null = null;

  constructor(handler: UndiciHttpHandler) {
    this.#handler = handler;
  }

  /** One try of the SDK's. */
  async handle(request: HttpRequest, asked: Asked = {}): Answered {
    const { tried, kind, key } = asked;
    if (tried !== undefined) {
      delete asked.tried;
      return await tried;
    }
    const answered = await this.#send(request, asked);
    if (answered.response.statusCode === 200 && typeof kind === 'string' && key !== undefined) {
      this.#learn(kind, key, request);
    }
    return answered;
  }

  /** The answer of a plain success; null: the SDK is to be asked, with the same `asking`. */
  async repeat(asking: Asking, body: Uint8Array | null, signing: Signing): Promise<HttpResponse | null> {
    const known = asking.kind === null ? undefined : this.#known.get(asking.kind);
    if (known === undefined) return null;
    asking.tried = this.#again(known, asking, body, signing);
    const response = await asking.tried.then(
      (answered) => answered.response,
      () => null,
    );
    return response !== null && isPlainSuccess(response, body !== null) ? response : null;
  }

  destroy(): void {
    this.#handler.destroy();
  }

  /** As the SDK asks of a handler: it has no settings that change. */
  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): object {
    return {};
  }

  #learn(kind: string, key: string, request: HttpRequest): void {
    const [, signingRegion, signingService] = SIGNED.exec(request.headers['authorization'] ?? '') ?? [];
    const path = encodeKey(key);
    if (this.#known.has(kind) || request.headers[SESSION] !== undefined || !request.path.endsWith(path)) return;
    if (signingRegion === undefined || signingService === undefined) return;
    const common = request.clone();
    for (const name of OF_ONE_TRY) delete common.headers[name];
    delete common.body;
    const base = request.path.slice(0, -path.length);
    this.#known.set(kind, { request: common, base, signingRegion, signingService });
  }

  async #again(known: Known, asking: Asking, body: Uint8Array | null, signing: Signing): Answered {
    const { signingRegion, signingService } = known;
    const request = known.request.clone();
    request.path = known.base + encodeKey(asking.key);
    if (body !== null) {
      request.body = body;
      request.headers['content-length'] = String(body.length);
    }
    this.#signer ??= signing.signer();
    const signer = await this.#signer;
    const signingDate = new Date(Date.now() + signing.systemClockOffset);
    const { headers } = await signer.sign(request, { signingDate, signingRegion, signingService });
    request.headers = headers;
    return await this.#send(request, asking);
  }

  async #send(request: HttpRequest, options: HandlerOptions): Answered {
    const answered = await this.#handler.handle(request, options);
    const { response } = answered;
    this.clock.note(response.headers);
    if (request.method === 'GET' && response.statusCode === 200 && !saysItsEnd(response)) {
      await readBody(response.body, undefined, 0);
      throw new NotS3Answer('an answer that does not say how long it is');
    }
    return answered;
  }
}

/** A body that ends where the connection does looks whole when it is cut. */
function saysItsEnd({ headers }: HttpResponse): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** A put is answered without a body; S3 may say an error in one, with 200 before it. */
function isPlainSuccess({ statusCode, headers }: HttpResponse, isPut: boolean): boolean {
  return statusCode === 200 && headers['etag'] !== undefined && (!isPut || headers['content-length'] === '0');
}

/** As the SDK writes keys in paths. */
function encodeKey(key: string): string {
  return encodeURIComponent(key)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
