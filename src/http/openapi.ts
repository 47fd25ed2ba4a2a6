import { z } from 'zod';
import { jsonAnswer } from './answer.ts';
import { NOTHING } from './parameters.ts';
import { PROBLEMS, type ProblemCode } from './problem-table.ts';
import { defineRoute, FACADE_PATH, type GoodAnswer, type Route } from './route.ts';

/** The version of the routes, not of the program: a new route or member raises the second number, what breaks clients the first. */
const API_VERSION = '1.5.0';

export const DESCRIPTION_PATH = '/openapi.json';

/** Every route can answer these, whatever is asked. */
const ALWAYS: readonly ProblemCode[] = [
  'http/bad-parameter',
  'http/bad-url',
  'http/malformed-request',
  'http/unauthorized',
  'http/request-timeout',
  'http/uri-too-long',
  'http/headers-too-large',
  'http/too-many-requests',
  'http/internal',
  'http/temporary-fault',
  'http/too-busy',
];
const ADMIN: readonly ProblemCode[] = ['http/admin-closed'];
const WITH_BODY: readonly ProblemCode[] = ['http/bad-json', 'http/bad-body', 'http/body-too-large'];
const WITHOUT_BODY: readonly ProblemCode[] = ['http/body-not-allowed'];
/** The form of an answer of these statuses; the others say what went wrong in their own form. */
const GOOD: Readonly<Record<number, string>> = {
  200: 'What was asked for.',
  206: 'The part that was asked for.',
  304: 'The client has it already.',
};
const PROBLEM_CONTENT = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
};

/** A client of the façade reads `error` of every refusal; members of a problem can stand beside it. */
export const RPC_REFUSAL = z.looseObject({
  result: z.null(),
  error: z.object({ code: z.int(), message: z.string() }),
  id: z.union([z.string(), z.number(), z.boolean(), z.null()]),
});
const RPC_REFUSAL_CONTENT = {
  'application/json': { schema: { $ref: '#/components/schemas/RpcRefusal' } },
};

const PROBLEM = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: z.string(),
  detail: z.string(),
  hint: z.string(),
  /** The reason of `blob/withheld` for publication, when the operator gave one. */
  publicReason: z.string().exactOptional(),
  /** The rule that leaves the blob out, of `blob/not-archived-by-rule`, and since when it does. */
  rule: z.string().exactOptional(),
  since: z.string().exactOptional(),
});

/** The routes, and one that describes them all, itself included: made of the schemas that decode their requests. */
export function withDescription(routes: readonly Route[]): Route[] {
  const own: Route = defineRoute({
    path: DESCRIPTION_PATH,
    says: 'This description, OpenAPI 3.1.',
    answers: [{ mediaType: 'application/json', schema: z.looseObject({ openapi: z.string() }) }],
    problems: [],
    parameters: NOTHING,
    query: NOTHING,
    answer: () => {
      // Made when it is asked for: it takes longer than everything else of these routes, and most starts never need it.
      description ??= describeRoutes([...routes, own]);
      return jsonAnswer(description);
    },
  });
  let description: object | null = null;
  return [...routes, own];
}

export function describeRoutes(routes: readonly Route[]) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: API_VERSION,
      description: 'Blobs of layer 1, archived before the node prunes them; verified before they leave.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to where the description was read: a proxy in front needs no setting.
    servers: [{ url: '/' }],
    paths: Object.fromEntries(
      Map.groupBy(routes, ({ path }) => path.replace(/:([A-Za-z]+)/g, '{$1}'))
        .entries()
        .map(([path, methods]) => [path, Object.assign({}, ...methods.map(describeMethods))]),
    ),
    components: {
      schemas: { Problem: schemaOf(PROBLEM, 'output'), RpcRefusal: schemaOf(RPC_REFUSAL, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function describeMethods(route: Route): object {
  const described = {
    summary: route.says,
    parameters: [...describeParameters(route.parameters, 'path'), ...describeParameters(route.query, 'query')],
    ...(route.body === null ? {} : { requestBody: describeBody(route.body.schema) }),
    responses: describeAnswers(route),
    // An empty one: it can also be read without a token, where none is configured.
    security: { open: [{}], public: [{}], read: [{}, { token: [] }], admin: [{ token: [] }] }[route.access],
  };
  const verbs = route.verb === 'GET' ? ['get', 'head'] : [route.verb.toLowerCase()];
  return Object.fromEntries(
    verbs.map((verb) => [verb, { operationId: operationIdOf(verb, route.path), ...described }]),
  );
}

/** `getV1BlobsVersionHashRecord`: stable as long as the path is. */
function operationIdOf(verb: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return (
    verb + (words.length === 0 ? 'Root' : words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join(''))
  );
}

function describeParameters(schema: z.ZodType, place: 'path' | 'query'): object[] {
  const { properties = {}, required = [] } = OBJECT_SCHEMA.parse(schemaOf(schema, 'input'));
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }));
}

const OBJECT_SCHEMA = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

function describeBody(schema: z.ZodType): object {
  return { required: true, content: { 'application/json': { schema: schemaOf(schema, 'input') } } };
}

function describeAnswers({ answers, problems, body, access, path, verb }: Route): object {
  const refusals = path === FACADE_PATH && verb === 'POST' ? RPC_REFUSAL_CONTENT : PROBLEM_CONTENT;
  const always = [...ALWAYS, ...(access === 'admin' ? ADMIN : []), ...(body === null ? WITHOUT_BODY : WITH_BODY)];
  const codes = Map.groupBy(new Set([...problems, ...always]), (code): number => PROBLEMS[code].status);
  const given = Map.groupBy(answers, ({ status = 200 }) => status);
  const statuses = [...new Set([...given.keys(), ...codes.keys()])].toSorted((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      describeStatus(status, given.get(status) ?? [], codes.get(status) ?? [], refusals),
    ]),
  );
}

function describeStatus(
  status: number,
  answers: readonly GoodAnswer[],
  codes: readonly ProblemCode[],
  refusals: object,
): object {
  const problems = codes.map((code) => `${code}: ${PROBLEMS[code].title}`);
  const own = answers.length === 0 ? [] : [GOOD[status] ?? 'An error in the form of this route.'];
  const content = answers.flatMap(({ mediaType, schema }) =>
    mediaType === null ? [] : [[mediaType, contentOf(schema)]],
  );
  return {
    description: [...own, ...problems].join('; '),
    content: { ...Object.fromEntries(content), ...(codes.length === 0 ? {} : refusals) },
  };
}

function contentOf(schema: z.ZodType | null): object {
  return { schema: schema === null ? { type: 'string' } : schemaOf(schema, 'output') };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return described;
}
