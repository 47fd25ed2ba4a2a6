import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, type SuiteFactory } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { describeWithGo, SERVER_START_MS } from '../servers/availability.ts';
import { type CommandEnd, runCommand } from '../servers/command.ts';
import { goBinary } from '../servers/go-binary.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export const CHART = fileURLToPath(new URL('../../helm', import.meta.url));
/** A suite that needs Helm. Whichever comes first on a machine builds Helm. */
export function describeWithHelm(name: string, suite: SuiteFactory): void {
  describeWithGo(name, (...test) => {
    beforeAll(async () => void (await goBinary('helm')), SERVER_START_MS);
    return suite(...test);
  });
}

/** Helm built from source takes an old Kubernetes for granted. */
const KUBERNETES = ['--kube-version', '1.31.0'];

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()) }),
});
export type Manifest = z.output<typeof manifest>;
export type Values = Readonly<Record<string, unknown>>;

/** Manifests that Helm made so far: the same words and values make the same again. */
const made = new Map<string, Promise<CommandEnd>>();

function helm(words: readonly string[], values: Values): Promise<CommandEnd> {
  const key = JSON.stringify([words, values]);
  const known = made.get(key) ?? runHelm(words, values);
  made.set(key, known);
  return known;
}

async function runHelm(words: readonly string[], values: Values): Promise<CommandEnd> {
  const file = join(temporaryFolder(), 'values.yaml');
  writeFileSync(file, stringify(values));
  // Helm lives for a moment: collecting its garbage costs more than the memory.
  const env = { GOGC: 'off' };
  return await runCommand(await goBinary('helm'), [...words, '--values', file, ...KUBERNETES], { env });
}

export function lint(values: Values): Promise<CommandEnd> {
  return helm(['lint', '--strict', CHART], values);
}

export function template(values: Values, release = 'blobs', more: readonly string[] = []): Promise<CommandEnd> {
  return helm(['template', release, CHART, '--namespace', 'archive', ...more], values);
}

/** Manifests that were parsed so far, by the text that Helm made. */
const parsed = new Map<string, readonly Manifest[]>();

/** Everything that the chart makes with these values. */
export async function render(values: Values, release?: string): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await template(values, release);
  if (code !== 0) throw new Error(stderr);
  const manifests = parsed.get(stdout) ?? manifestsIn(stdout);
  parsed.set(stdout, manifests);
  return manifests;
}

function manifestsIn(yaml: string): readonly Manifest[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS())
    .filter((document) => document !== null)
    .map((document) => manifest.parse(document));
}

/** Helm's refusal of these values. */
export async function refusal(values: Values, more: readonly string[] = []): Promise<string> {
  const { code, stderr } = await template(values, 'blobs', more);
  if (code === 0) throw new Error('The values were accepted.');
  return stderr;
}
