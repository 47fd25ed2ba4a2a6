import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The step of `npm run reference`: writes the API reference of `client`, `verify` and `devnode` as HTML pages to
 * `dist/reference`, or to the given folder. Exit code 1: TypeDoc has a warning.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const target = process.argv[2] ?? join(ROOT, 'dist', 'reference');

// TypeDoc needs the compiler API of TypeScript 6; release 7, which checks the types, has none yet.
registerHooks({
  resolve: (name, context, next) =>
    next(
      name === 'typescript' || name.startsWith('typescript/') ? name.replace('typescript', 'typescript-api') : name,
      context,
    ),
});
const { Application } = await import('typedoc');

const app = await Application.bootstrap({
  name: 'Holdfast',
  entryPoints: ['src/client.ts', 'src/verify/index.ts', 'src/devnode/index.ts'].map((path) => join(ROOT, path)),
  tsconfig: join(ROOT, 'config', 'tsconfig.build.json'),
  readme: 'none',
  excludePrivate: true,
  disableSources: true,
  skipErrorChecking: true,
  // The list whose words are the type `Holding`; programs need the type alone.
  intentionallyNotExported: ['src/verify/inventory.ts:HOLDINGS'],
  treatWarningsAsErrors: true,
});
const project = await app.convert();
if (project === undefined) throw new Error('TypeDoc cannot read the declarations; the lines above say why.');
app.validate(project);
await app.generateDocs(project, target);
process.exitCode = app.logger.hasErrors() || app.logger.hasWarnings() ? 1 : 0;
