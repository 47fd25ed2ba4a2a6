import { z } from 'zod';

/** One setting. A flag overrides the environment, which overrides the file, which overrides the default. */
export interface Setting<T> {
  /** Path in the configuration file, such as `node.url`. */
  readonly key: string;
  /** Name of the environment variable. null: only the file can hold this structured value. */
  readonly env: `HOLDFAST_${string}` | null;
  /** Name of the flag. null for a secret: every user of the machine can read the flags of a process. */
  readonly flag: `--${string}` | null;
  readonly schema: z.ZodType<T>;
  readonly fallback: T;
  /** true: never shown. `inside`: fields named like a secret are masked. `address`: user and password are masked. */
  readonly secret: boolean | 'inside' | 'address';
  /** One sentence of help: meaning, unit and legal values. */
  readonly says: string;
}

/** Builds a setting whose names follow from its path: `node.url` becomes `HOLDFAST_NODE_URL` and `--node-url`. */
export function setting<T>(key: string, schema: z.ZodType<T>, fallback: T, says: string): Setting<T> {
  const words = key.split('.').flatMap((part) => part.split(/(?=[A-Z])/).map((word) => word.toLowerCase()));
  return {
    key,
    env: `HOLDFAST_${words.join('_').toUpperCase()}`,
    flag: `--${words.join('-')}`,
    schema,
    fallback,
    secret: false,
    says,
  };
}

/** Builds a setting that is never shown. The file that `<env>_FILE` names can hold its value. */
export function secret(key: string, says: string, schema: z.ZodType<string> = text): Setting<string | null> {
  return { ...setting<string | null>(key, schema.nullable(), null, says), flag: null, secret: true };
}

/**
 * Builds a setting for an address that may carry user and password. Holdfast shows it without them. The file that
 * `<env>_FILE` names can hold it.
 */
export function address<T = string>(key: string, schema: z.ZodType<T>, says: string): Setting<T | null> {
  return { ...setting<T | null>(key, schema.nullable(), null, says), secret: 'address' };
}

/** Reports whether the file that `<env>_FILE` names may hold this setting. */
export function hasSecretFile({ secret: kind }: Pick<Setting<unknown>, 'secret'>): boolean {
  return kind === true || kind === 'address';
}

/** Builds a setting with a structured value, which only the configuration file can hold. */
export function fileSetting<T>(key: string, schema: z.ZodType<T>, fallback: T, says: string): Setting<T> {
  return { key, env: null, flag: null, schema, fallback, secret: 'inside', says };
}

export const text = z.string('must be text').min(1, 'must not be empty');

/** A whole number, given as a number or as text. Both bounds are inclusive and appear in the JSON schema. */
export function wholeNumber(least: number, most: number): z.ZodType<number> {
  const says = `must be a whole number from ${least} to ${most}`;
  return z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^\d{1,15}$/)
          .transform(Number),
      ],
      says,
    )
    .meta({ minimum: least, maximum: most })
    .pipe(z.number(says).int(says).min(least, says).max(most, says));
}

export function oneOf<const T extends readonly [string, ...string[]]>(values: T): z.ZodType<T[number]> {
  return z.enum(values, `must be one of ${values.join(', ')}`);
}

/** An address that Holdfast requests unchanged, query included. */
export const wholeAddress = text.refine(
  (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
  'must be an http:// or https:// address',
);

export const CODED_CREDENTIALS = 'must have user and password percent-encoded';

/** Reports whether user and password are percent-encoded: a `%` in a password is written `%25`. */
export function hasCodedCredentials(url: string): boolean {
  const { username, password } = URL.parse(url) ?? { username: '', password: '' };
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** Base address of a server, which may carry user and password. */
export const addressWithCredentials = text
  .meta({ pattern: '^https?://' })
  .refine((value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, search, hash } = new URL(value);
    return (protocol === 'http:' || protocol === 'https:') && search === '' && hash === '';
  }, 'must be an http:// or https:// address without query, like http://127.0.0.1:9000')
  .refine(hasCodedCredentials, CODED_CREDENTIALS);

/**
 * Base address of a server whose credentials have their own settings. Credentials in the address are refused, because
 * nothing would use them.
 */
export const httpAddress = addressWithCredentials.refine((value) => {
  const { username, password } = URL.parse(value) ?? { username: '', password: '' };
  return username === '' && password === '';
}, 'must not carry user and password: there are settings for its credentials');
