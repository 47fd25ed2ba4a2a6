import { Fields } from './fields.ts';

/** An answer with an error status. */
export class Refused extends Error {
  readonly status: number;
  /** Problem code of the archive; empty when a proxy answered. */
  readonly code: string;
  readonly hint: string;

  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Sends requests to the archive that served this page. Paths are relative, so the archive may lie below a path of a
 * proxy.
 */
export class ArchiveApi {
  readonly #fetch: Fetch;
  readonly #base: string;
  readonly #token: () => string | null;

  constructor(base: string, token: () => string | null, fetcher: Fetch) {
    this.#base = base;
    this.#token = token;
    this.#fetch = fetcher;
  }

  /** @throws Refused for an error status; TypeError when no server answers */
  async ask(path: string, { signal, headers = {} }: AskOptions = {}): Promise<Response> {
    const token = this.#token();
    const answer = await this.#fetch(`${this.#base}${path}`, {
      headers: { ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      // The browser cache is bypassed: the page shows the archive's current state, and hashes bytes itself.
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.ok) return answer;
    throw await refusal(answer);
  }

  async json(path: string, options: AskOptions = {}): Promise<unknown> {
    return await (await this.ask(path, options)).json();
  }

  async bytes(path: string, options: AskOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await (await this.ask(path, options)).arrayBuffer());
  }
}

async function refusal(answer: Response): Promise<Refused> {
  try {
    const problem = Fields.of(await answer.json(), 'problem');
    return new Refused(answer.status, problem.text('code'), problem.text('detail'), problem.text('hint'));
  } catch {
    return new Refused(answer.status, '', `The server answered with status ${answer.status}.`, '');
  }
}
