import { z } from 'zod';

const condition = z.object({ code: z.string(), message: z.string(), hint: z.string(), since: z.string() });
const readiness = z.object({ ready: z.boolean(), conditions: z.array(condition) });
const status = z.looseObject({
  emulated: z.boolean(),
  node: z.looseObject({ reachable: z.boolean(), height: z.number().nullable() }),
  content: z.object({
    seen: z.number(),
    spooled: z.number(),
    stored: z.number(),
    storedBytes: z.number(),
    failing: z.number(),
  }),
  backends: z.array(z.object({ id: z.string(), state: z.string(), queued: z.number() })),
  conditions: z.array(z.looseObject({ code: z.string(), message: z.string(), hint: z.string() })),
});
const record = z.object({
  versionHash: z.string(),
  hashType: z.string().nullable(),
  state: z.string(),
  sizeBytes: z.number(),
  replicas: z.array(z.object({ backend: z.string(), state: z.string(), verifiedAt: z.string().nullable() })),
  lastFailure: z.object({ code: z.string(), message: z.string(), attempts: z.number() }).nullable(),
});
const listing = z.object({ blobs: z.array(record), next: z.string().nullable() });
const problem = z.object({ code: z.string(), detail: z.string(), status: z.number() });

export interface Bytes {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Asks a running archive as its users do: over HTTP. */
export class ArchiveClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Bytes> {
    const response = await fetch(`${this.url}${path}`, { headers });
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  }

  blob(versionHash: string): Promise<Bytes> {
    return this.get(`/v1/blobs/${versionHash}`);
  }

  /** Asks as older clients do: hex text. */
  async hexOf(versionHash: string): Promise<string> {
    return (await this.get(`/vh/${versionHash}`)).body.toString('latin1');
  }

  async status() {
    return status.parse(await this.#json('/v1/status'));
  }

  async record(versionHash: string) {
    return record.parse(await this.#json(`/v1/blobs/${versionHash}/record`));
  }

  async page(query: string) {
    return listing.parse(await this.#json(`/v1/blobs?${query}`));
  }

  /** The answer of `/readyz`, with its HTTP status. */
  async readiness() {
    const { status: code, body } = await this.get('/readyz');
    return { status: code, ...readiness.parse(JSON.parse(body.toString())) };
  }

  async problem(path: string) {
    const { headers, body } = await this.get(path);
    return { type: headers.get('content-type'), ...problem.parse(JSON.parse(body.toString())) };
  }

  async #json(path: string): Promise<unknown> {
    return JSON.parse((await this.get(path)).body.toString());
  }
}
