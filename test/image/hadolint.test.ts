import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runCommand } from '../servers/command.ts';
import { describeWithPip, FETCH_MS, pythonPackage } from '../servers/python-package.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const DOCKERFILE = fileURLToPath(new URL('../../Dockerfile', import.meta.url));
const LABELS = ['title', 'description', 'licenses', 'version', 'revision', 'created'];

async function lint(dockerfile: string) {
  const required = LABELS.map((name) => `--require-label=org.opencontainers.image.${name}:text`);
  return await runCommand(join(await pythonPackage('hadolint'), 'bin/hadolint'), [
    '--no-color',
    '--failure-threshold=style',
    ...required,
    dockerfile,
  ]);
}

describeWithPip('hadolint', () => {
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
