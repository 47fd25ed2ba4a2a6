import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { z } from 'zod';
import { messageOf } from '../../src/core/blob/errors.ts';
import type { ContentName, VersionHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createHttpApp, type HttpApp } from '../../src/http/app.ts';
import { blobRoutes } from '../../src/http/blobs.ts';
import { compatibilityRoutes } from '../../src/http/compatibility.ts';
import { RECORD } from '../../src/http/record-on-wire.ts';
import { statusRoutes } from '../../src/http/status.ts';
import type { NotGiven } from '../../src/view/archive-view.ts';
import type { Life } from './archiver.ts';
import type { Simulation } from './simulation.ts';

/** An answer to a reader. `isOf` reports whether the answer is what a blob of these bytes makes. */
export type Told =
  | { readonly kind: 'bytes'; readonly isOf: (bytes: Uint8Array) => boolean }
  | { readonly kind: 'record'; readonly record: RouteRecord }
  | { readonly kind: NotGiven['kind'] };

/** Asks a process of the archiver for a blob. */
export type Asker = (life: Life, name: ContentName) => Promise<Told>;

export type RouteRecord = z.infer<typeof RECORD>;

/** A way to ask for the bytes of a blob, and the body that these bytes make. */
interface Form {
  readonly request: (versionHash: VersionHash) => InjectOptions;
  readonly body: (bytes: Buffer) => Buffer;
}

const LAST_BYTES = 16;
export const FORMS: readonly Form[] = [
  { request: (hash) => ({ url: `/v1/blobs/${hash}` }), body: (bytes) => bytes },
  {
    request: (hash) => ({ url: `/v1/blobs/${hash}`, headers: { range: `bytes=-${LAST_BYTES}` } }),
    body: (bytes) => bytes.subarray(-LAST_BYTES),
  },
  { request: (hash) => ({ url: `/vh/0x${hash}` }), body: (bytes) => Buffer.from(bytes.toString('hex')) },
  { request: (hash) => ({ url: `/raw/vh/${hash}` }), body: (bytes) => bytes },
];

const KINDS: Readonly<Record<string, NotGiven['kind']>> = {
  'blob/absent': 'absent',
  'blob/lost': 'lost',
  'blob/withheld': 'withheld',
  'blob/not-archived-by-rule': 'not-archived-by-rule',
};
const problem = z.object({ code: z.string() });
const readiness = z.object({ conditions: z.array(z.object({ code: z.string() })) });

/** The archiver's own HTTP routes, asked without a socket. Each process of the archiver has its own. */
export class Routes {
  readonly #simulation: Pick<Simulation, 'life' | 'note' | 'fail'>;
  readonly #apps = new WeakMap<Life, HttpApp>();

  constructor(simulation: Pick<Simulation, 'life' | 'note' | 'fail'>) {
    this.#simulation = simulation;
  }

  /** Memory that requests and answers of this process hold. */
  heldBytes(life: Life): number {
    return this.#apps.get(life)?.budget.heldBytes ?? 0;
  }

  bytes({ request, body }: Form): Asker {
    return async (life, { hashType, versionHash }) => {
      const answer = await this.#ask(life, request(versionHash));
      if (answer?.statusCode === 200 || answer?.statusCode === 206) {
        return { kind: 'bytes', isOf: (bytes) => body(Buffer.from(bytes)).equals(answer.rawPayload) };
      }
      const kind = kindOf(answer);
      // For the clients of `/vh/` a lost blob is one that does not exist.
      const isLost = kind === 'absent' && life.catalog.losses.find({ hashType, versionHash }) !== null;
      return { kind: isLost ? 'lost' : kind };
    };
  }

  readonly record: Asker = async (life, { versionHash }) => {
    const answer = await this.#ask(life, { url: `/v1/blobs/${versionHash}/record` });
    if (answer?.statusCode === 200) return { kind: 'record', record: RECORD.parse(answer.json()) };
    return { kind: kindOf(answer) };
  };

  /** null: the archive cannot tell now. */
  async safety(life: Life, hashes: readonly VersionHash[]): Promise<readonly boolean[] | null> {
    const payload = JSON.stringify(hashes);
    const answer = await this.#ask(life, { method: 'POST', url: '/check_vh', payload });
    return answer?.statusCode === 200 ? z.array(z.boolean()).parse(answer.json()) : null;
  }

  /** null: the archive cannot tell now. */
  async lastBlock(life: Life): Promise<string | null> {
    const answer = await this.#ask(life, { url: '/lastblock' });
    return answer?.statusCode === 200 ? answer.payload : null;
  }

  /** Conditions that keep the archive from its work. */
  async blocking(life: Life): Promise<readonly string[]> {
    const answer = await this.#ask(life, { url: '/readyz' });
    if (answer === null || answer.statusCode === 200) return [];
    return readiness.parse(answer.json()).conditions.map(({ code }) => code);
  }

  /** null: the answer was cut short, or the process ended before it. */
  async #ask(life: Life, request: InjectOptions): Promise<LightMyRequestResponse | null> {
    try {
      const answer = await this.#appOf(life).fastify.inject(request);
      if (this.#isOver(life)) return null;
      this.#simulation.note(`${request.url}: ${answer.statusCode}`);
      if (answer.statusCode === 500) this.#simulation.fail('route', `${request.url}: ${answer.payload}`);
      return answer;
    } catch (error) {
      if (!this.#isOver(life)) this.#simulation.note(`${request.url}: ${messageOf(error)}`);
      return null;
    }
  }

  #isOver(life: Life): boolean {
    return life.signal.aborted || life !== this.#simulation.life;
  }

  #appOf(life: Life): HttpApp {
    const known = this.#apps.get(life);
    if (known !== undefined) return known;
    const { archive } = life;
    const app = createHttpApp(
      [
        ...blobRoutes(archive),
        ...statusRoutes(archive, SYSTEM_CLOCK),
        ...compatibilityRoutes(archive.reader, archive.chainView),
      ],
      {
        ...{ host: '127.0.0.1', port: 0, clock: SYSTEM_CLOCK },
        onServerError: (error) => this.#simulation.note(`a request failed: ${messageOf(error)}`),
      },
    );
    this.#apps.set(life, app);
    return app;
  }
}

function kindOf(answer: LightMyRequestResponse | null): NotGiven['kind'] {
  if (answer === null) return 'unavailable';
  return KINDS[problem.parse(answer.json()).code] ?? 'unavailable';
}
