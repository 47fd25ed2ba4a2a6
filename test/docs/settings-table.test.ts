import { expect, test } from 'vitest';
import { hasSecretFile, SETTING_NAMES, SETTINGS, type SettingName } from '../../src/config/index.ts';

const cell = (text: string) => text.replaceAll('|', '\\|');

function row(name: SettingName): string {
  const { env, key, fallback, says } = SETTINGS[name];
  const shown = fallback === null ? '' : `\`${Array.isArray(fallback) ? '[]' : String(fallback)}\``;
  const named = env === null ? '(file only)' : `\`${env}\`${hasSecretFile(SETTINGS[name]) ? ' or `…_FILE`' : ''}`;
  return `| ${named} | \`${key}\` | ${shown} | ${cell(says)} |`;
}

test('the table of settings is up to date (vitest -u writes it)', async () => {
  const head = [
    '# Settings',
    '',
    'Made from `src/config/settings.ts`. The flag of a setting is its key in words: `node.pollMs` is `--node-poll-ms`; secrets',
    'have none. `HOLDFAST_CONFIG` or `--config` names the file.',
    '',
    '| environment | key in the file | default | what it is |',
    '|---|---|---|---|',
  ];
  await expect(`${[...head, ...SETTING_NAMES.map(row)].join('\n')}\n`).toMatchFileSnapshot('../../config/SETTINGS.md');
});
