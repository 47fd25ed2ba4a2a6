import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const FRAMEWORK = new URL('../../src/http/framework.ts', import.meta.url);
const CONFIG = new URL('../../src/http/config.ts', import.meta.url);

/** In a process of its own: tests beside this one load the same packages for themselves. */
const ASKED = `
  import { createRequire } from 'node:module';
  import { createFramework } from ${JSON.stringify(FRAMEWORK.href)};
  import { DEFAULT_HTTP_LIMITS } from ${JSON.stringify(CONFIG.href)};
  const app = createFramework(DEFAULT_HTTP_LIMITS, {}, () => {});
  app.get('/', (_request, reply) => reply.send('served'));
  const { body } = await app.inject('/');
  const { cache } = createRequire(import.meta.url);
  const of = (name) => Object.keys(cache).filter((path) => path.includes('/node_modules/' + name + '/')).length;
  console.log(JSON.stringify({ body, fastify: of('fastify') > 0, ajv: of('ajv'), compilers: of('@fastify/ajv-compiler') }));
`;

test('a server answers without the compilers of schemas that no route has', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', ASKED]);
  expect(JSON.parse(stdout)).toEqual({ body: 'served', fastify: true, ajv: 0, compilers: 0 });
});
