import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { cli } from '../cli/cli-in-process.ts';
import { ALERTS } from './alert-rules.ts';

const RUNBOOK = readFileSync(fileURLToPath(new URL('../../config/RUNBOOK.md', import.meta.url)), 'utf8');
const ENTRIES = [...RUNBOOK.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name);
const SHELL = [...RUNBOOK.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text.trim());
const LINES = SHELL.flatMap((text) => text.split('\n'));

describe('the runbook', () => {
  test('has an entry for each alert, and none besides', () => {
    expect(ENTRIES.toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
  });

  test('is where the alerts say that it is', () => {
    for (const { alert, annotations } of ALERTS) {
      expect(annotations.runbook_url).toBe(`config/RUNBOOK.md#${alert.toLowerCase()}`);
    }
  });

  test('each entry says what is at stake and what to type', () => {
    const parts = RUNBOOK.split(/^#+ /m).filter((part) => part.startsWith('Holdfast'));
    expect(parts).toHaveLength(ALERTS.length);
    for (const part of parts) {
      expect(part).toContain('**At stake**: ');
      expect(part).toContain('```sh\n');
    }
  });

  test('every line of shell is one', () => {
    expect(LINES.length).toBeGreaterThan(ALERTS.length);
    for (const text of SHELL) expect(spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' }).stderr).toBe('');
  });

  test('every command of Holdfast is there, with every flag that it is given', async () => {
    const commands = [...new Set(LINES.filter((line) => line.startsWith('holdfast ')))];
    expect(commands.length).toBeGreaterThan(5);
    for (const line of commands) {
      const [, verb = '', ...words] = line.split(' ');
      const { code, stdout } = await cli([verb, '--help']);
      expect(code, line).toBe(0);
      for (const word of words.filter((one) => one.startsWith('-'))) expect(stdout, line).toContain(word);
    }
  });

  test('every setting that it names is one', async () => {
    const { stdout } = await cli(['run', '--help']);
    const { stdout: shown } = await cli(['config', '--json']);
    for (const [name] of RUNBOOK.matchAll(/HOLDFAST_[A-Z_0-9]+/g)) {
      const key = name.replace('HOLDFAST_', '').toLowerCase().replaceAll('_', '-');
      expect(stdout.includes(`--${key}`) || shown.includes(name), name).toBe(true);
    }
  });
});
