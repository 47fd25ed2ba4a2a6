import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { clauseOf } from '../../core/blob/errors.ts';
import { decodeHex } from '../../core/blob/hex.ts';
import { parseLossless } from '../../node/lossless-json.ts';
import { CliError } from '../errors.ts';

/** The words after `holdfast rpc <operation>`, read by position. `null` or a missing word leaves an argument out. */
export class CallWords {
  readonly #usage: string;
  readonly #words: readonly string[];
  readonly #cwd: string;

  constructor(usage: string, words: readonly string[], cwd: string) {
    this.#usage = usage;
    this.#words = words;
    this.#cwd = cwd;
  }

  optional(at: number): string | undefined {
    const word = this.#words[at];
    return word === undefined || word === 'null' ? undefined : word;
  }

  text(at: number): string {
    const word = this.optional(at);
    if (word !== undefined) return word;
    throw this.wrong(`Argument ${at + 1} is missing.`);
  }

  /** Hex, or `@file`. */
  bytes(at: number): Uint8Array {
    const word = this.text(at);
    if (!word.startsWith('@')) return decodeHex(word);
    try {
      return readFileSync(resolve(this.#cwd, word.slice(1)));
    } catch (cause) {
      throw this.wrong(`The file ${word.slice(1)} cannot be read: ${clauseOf(cause)}.`);
    }
  }

  flag(at: number): boolean | undefined {
    const word = this.optional(at);
    if (word === undefined) return undefined;
    if (word === 'true' || word === 'false') return word === 'true';
    throw this.wrong(`Argument ${at + 1} must be true or false, not ${word}.`);
  }

  whole(at: number): number | undefined {
    const word = this.optional(at);
    if (word === undefined) return undefined;
    if (/^-?\d{1,15}$/.test(word)) return Number(word);
    throw this.wrong(`Argument ${at + 1} must be a whole number, not ${word}.`);
  }

  guid(at: number): bigint {
    const word = this.text(at);
    if (/^\d{1,20}$/.test(word)) return BigInt(word);
    throw this.wrong(`Argument ${at + 1} must be an asset guid, digits only, not ${word}.`);
  }

  /** Numbers keep every digit. */
  json(at: number): unknown {
    const word = this.optional(at);
    if (word === undefined) return undefined;
    try {
      return parseLossless(word);
    } catch (cause) {
      throw this.wrong(`Argument ${at + 1} must be JSON: ${clauseOf(cause)}.`);
    }
  }

  wrong(message: string): CliError {
    return new CliError('cli/usage', message, { retryable: false, hint: `Usage: holdfast rpc ${this.#usage}` });
  }
}
