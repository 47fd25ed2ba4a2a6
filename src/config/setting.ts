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

/** Bytes in each unit of a size: decimal units as disks are sold in, binary ones as memory is counted in. */
const SIZE_UNITS = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
} as const;

/** Milliseconds in each unit of a duration. */
const DURATION_UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A whole number, given as a number or as text. Both bounds are inclusive and appear in the JSON schema. */
export function wholeNumber(least: number, most: number): z.ZodType<number> {
  return counted(least, most, {}, `must be a whole number from ${least} to ${most}`);
}

/** A size in bytes: a whole number, or a number with a unit, such as `50GB` or `512MiB`. Both bounds are inclusive. */
export function bytes(least: number, most: number): z.ZodType<number> {
  const says = `must be from ${least} to ${most} bytes: a whole number, or a size like 50GB or 512MiB`;
  return counted(least, most, SIZE_UNITS, says);
}

/** A duration in milliseconds: a whole number, or a number with a unit, such as `500ms` or `2s`. Both bounds are inclusive. */
export function milliseconds(least: number, most: number): z.ZodType<number> {
  const says = `must be from ${least} to ${most} milliseconds: a whole number, or a duration like 500ms or 2s`;
  return counted(least, most, DURATION_UNITS, says);
}

/** A duration in seconds: a whole number, or a number with a unit, such as `90s` or `6h`. Both bounds are inclusive. */
export function seconds(least: number, most: number): z.ZodType<number> {
  const says = `must be from ${least} to ${most} seconds: a whole number, or a duration like 90s or 6h`;
  const inSeconds = Object.fromEntries(Object.entries(DURATION_UNITS).map(([unit, ms]) => [unit, ms / 1_000]));
  return counted(least, most, inSeconds, says);
}

/** A number, its text, or text with one of these units, which count the setting's own unit. */
function counted(
  least: number,
  most: number,
  units: Readonly<Record<string, number>>,
  says: string,
): z.ZodType<number> {
  const names = Object.keys(units);
  const withUnit = new RegExp(`^(\\d{1,15}(?:\\.\\d{1,9})?) ?(${names.join('|')})$`);
  const plain = z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number);
  const measured = z
    .string()
    .regex(withUnit)
    .transform((given) => {
      const [, amount, unit = ''] = withUnit.exec(given) ?? [];
      // Rounded to a millionth: 2.3 times 10⁹ is not a whole number in binary arithmetic.
      return Math.round(Number(amount) * (units[unit] ?? Number.NaN) * 1e6) / 1e6;
    });
  return z
    .union(names.length === 0 ? [z.number(), plain] : [z.number(), plain, measured], says)
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
