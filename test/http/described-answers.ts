import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { z } from 'zod';

const CONTENT = z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) }));
const METHOD = z.looseObject({
  parameters: z.array(
    z.object({ name: z.string(), in: z.string(), schema: z.looseObject({ pattern: z.string().optional() }) }),
  ),
  responses: z.record(z.string(), z.object({ description: z.string().min(1), content: CONTENT })),
});
const DESCRIPTION = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), METHOD)),
  components: z.looseObject({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});

export interface DescribedOperation {
  readonly path: string;
  /** In upper case. */
  readonly verb: string;
  readonly method: z.output<typeof METHOD>;
}

export interface GivenAnswer {
  readonly status: number;
  readonly mediaType: string;
  readonly body: Buffer;
}

/** The API's description of answers, to hold real ones against. */
export class DescribedAnswers {
  readonly operations: readonly DescribedOperation[];
  /** The described answers that were seen: `GET /v1/status 200 application/json`. */
  readonly seen = new Set<string>();
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(description: unknown) {
    const { paths, components } = DESCRIPTION.parse(description);
    this.operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([verb, method]) => ({ path, verb: verb.toUpperCase(), method })),
    );
    this.#ajv = new Ajv2020({ strict: true, strictTypes: false, validateFormats: false, allowUnionTypes: true });
    for (const [name, schema] of Object.entries(components.schemas)) {
      this.#ajv.addSchema(schema, `#/components/schemas/${name}`);
    }
  }

  /** The first difference from the description; null: there is none. */
  complaint({ path, verb, method }: DescribedOperation, { status, mediaType, body }: GivenAnswer): string | null {
    const where = `${verb} ${path} ${status} ${mediaType}`;
    const response = method.responses[String(status)];
    if (response === undefined) return `${where}: no such status is described`;
    this.seen.add(where);
    if (status === 304) return body.length === 0 ? null : `${where}: it has a body`;
    const content = response.content[mediaType];
    if (content === undefined) return `${where}: no such media type is described`;
    if (verb === 'HEAD') return body.length === 0 ? null : `${where}: it has a body`;
    if (body.length === 0) return `${where}: it is empty`;
    if (!/json$/.test(mediaType)) return null;
    const validate = this.#validator(content.schema);
    if (validate(JSON.parse(body.toString('utf8')))) return null;
    return `${where}: ${this.#ajv.errorsText(validate.errors)} in ${body.toString('utf8').slice(0, 500)}`;
  }

  /** Every schema of every answer is one that can be held against. @throws what the compiler finds wrong */
  compileAll(): void {
    for (const { method } of this.operations) {
      for (const { content } of Object.values(method.responses)) {
        for (const { schema } of Object.values(content)) this.#validator(schema);
      }
    }
  }

  /** Many answers share a schema, and to compile one takes longer than to hold an answer against it. */
  #validator(schema: Record<string, unknown>): ValidateFunction {
    const text = JSON.stringify(schema);
    const known = this.#compiled.get(text) ?? this.#ajv.compile(schema);
    this.#compiled.set(text, known);
    return known;
  }
}

/** Without its parameters. */
export function mediaTypeOf(contentType: string | readonly string[] | null | undefined): string {
  return String(contentType ?? '').split(';', 1)[0] ?? '';
}
