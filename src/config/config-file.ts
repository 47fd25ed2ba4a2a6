import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { messageOf } from '../core/blob/errors.ts';
import { ConfigError } from './errors.ts';

/** Reads a YAML (or JSON) file into its leaves: `node: {url: x}` → `node.url` = x. */
export function readConfigFile(path: string): Map<string, unknown> {
  const value = parseYaml(readText(path), path);
  const leaves = new Map<string, unknown>();
  if (value !== null && value !== undefined) collect(value, '', leaves);
  return leaves;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, messageOf(cause), cause);
  }
}

function parseYaml(text: string, path: string): unknown {
  const document = parseDocument(text);
  // The parser's message quotes the file after its first line and names tags. Either may hold a password.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const place = problem.linePos?.[0];
    const at = place === undefined ? '' : ` at line ${place.line}, column ${place.col}`;
    throw unreadable(path, `it is not valid YAML${at} (${problem.code})`);
  }
  try {
    return document.toJS();
  } catch {
    throw unreadable(path, 'it names an alias (*…) that it does not define; put such a value in quotes');
  }
}

function unreadable(path: string, why: string, cause?: unknown): ConfigError {
  return new ConfigError('config/unreadable-file', `The configuration file ${path} cannot be read: ${why}.`, {
    details: { path },
    retryable: false,
    hint: 'Give the path of a readable YAML or JSON file with --config or HOLDFAST_CONFIG.',
    cause,
  });
}

function collect(value: unknown, path: string, leaves: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    leaves.set(path, value);
    return;
  }
  for (const [key, inner] of Object.entries(value)) collect(inner, path === '' ? key : `${path}.${key}`, leaves);
}
