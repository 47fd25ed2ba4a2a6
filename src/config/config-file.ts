import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { messageOf } from '../blob/errors.ts';
import { ConfigError } from './errors.ts';

/** Reads a YAML (or JSON) file into its leaves: `node: {url: x}` → `node.url` = x. */
export function readConfigFile(path: string): Map<string, unknown> {
  let value: unknown;
  try {
    value = parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError(
      'config/unreadable-file',
      `The configuration file ${path} cannot be read: ${messageOf(cause)}`,
      {
        details: { path },
        retryable: false,
        hint: 'Give the path of a readable YAML or JSON file with --config or HOLDFAST_CONFIG.',
        cause,
      },
    );
  }
  const leaves = new Map<string, unknown>();
  if (value !== null && value !== undefined) collect(value, '', leaves);
  return leaves;
}

function collect(value: unknown, path: string, leaves: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    leaves.set(path, value);
    return;
  }
  for (const [key, inner] of Object.entries(value)) collect(inner, path === '' ? key : `${path}.${key}`, leaves);
}
