import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PROMISED } from '../servers/availability.ts';
import { runCommand } from '../servers/command.ts';
import { canHaveHadolint, hadolint } from '../servers/hadolint.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const DOCKERFILE = fileURLToPath(new URL('../../Dockerfile', import.meta.url));
const LABELS = ['title', 'description', 'licenses', 'version', 'revision', 'created'];
const FETCH_MS = 300_000;

async function lint(dockerfile: string) {
  const required = LABELS.map((name) => `--require-label=org.opencontainers.image.${name}:text`);
  return await runCommand(await hadolint(), ['--no-color', '--failure-threshold=style', ...required, dockerfile]);
}

describe.skipIf(!canHaveHadolint() && !PROMISED)('hadolint (skipped where Python has no pip)', () => {
  test(
    'finds nothing in the Dockerfile',
    async () => {
      expect(await lint(DOCKERFILE)).toEqual({ code: 0, stdout: '', stderr: '' });
    },
    FETCH_MS,
  );

  test(
    'would find what it is asked to find',
    async () => {
      const bad = join(temporaryFolder(), 'Dockerfile');
      writeFileSync(bad, 'FROM node:latest\nRUN cd /tmp && sudo npm install thing\nENTRYPOINT holdfast\n');
      const { code, stdout } = await lint(bad);
      expect(code).toBe(1);
      for (const rule of ['DL3007', 'DL3004', 'DL3025', 'DL3049']) expect(stdout).toContain(rule);
    },
    FETCH_MS,
  );
});
