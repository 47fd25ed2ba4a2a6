import { z } from 'zod';

/** One thing that can be configured: by flag, environment, file, in this order, else its default. */
export interface Setting<T> {
  /** Path in the configuration file: `node.url`. */
  readonly key: string;
  /** null: only a file can hold it, because it is more than one value. */
  readonly env: `HOLDFAST_${string}` | null;
  /** null: a secret is never given by flag, where every user of the machine can read it. */
  readonly flag: `--${string}` | null;
  readonly schema: z.ZodType<T>;
  readonly fallback: T;
  /** `inside`: fields of it whose names say secret. `address`: user and password, which it may carry. */
  readonly secret: boolean | 'inside' | 'address';
  /** One sentence for people. */
  readonly says: string;
}

/** A setting whose names follow from its path: `node.url` → `HOLDFAST_NODE_URL`, `--node-url`. */
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

/** A setting that must never be shown. It can also come from the file that `<env>_FILE` names. */
export function secret(key: string, says: string, schema: z.ZodType<string> = text): Setting<string | null> {
  return { ...setting<string | null>(key, schema.nullable(), null, says), flag: null, secret: true };
}

/** An address that may carry user and password: shown without them, and it can also come from the file of `<env>_FILE`. */
export function address(key: string, schema: z.ZodType<string>, says: string): Setting<string | null> {
  return { ...setting<string | null>(key, schema.nullable(), null, says), secret: 'address' };
}

/** Whether the file that `<env>_FILE` names may hold it. */
export function hasSecretFile({ secret: kind }: Pick<Setting<unknown>, 'secret'>): boolean {
  return kind === true || kind === 'address';
}

/** Something that is more than one value: only the configuration file holds it. */
export function fileSetting<T>(key: string, schema: z.ZodType<T>, fallback: T, says: string): Setting<T> {
  return { key, env: null, flag: null, schema, fallback, secret: 'inside', says };
}

export const text = z.string('must be text').min(1, 'must not be empty');

/** A whole number, also as text, as the environment gives it. The bounds stand in its JSON schema too. */
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

/** An address that is asked as it is, with all that it carries. */
export const wholeAddress = text.refine(
  (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
  'must be an http:// or https:// address',
);

export const CODED_CREDENTIALS = 'must have user and password percent-encoded';

/** In an address, `%` of a password stands as %25. */
export function hasCodedCredentials(url: string): boolean {
  const { username, password } = URL.parse(url) ?? { username: '', password: '' };
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** The address of a server, which may carry user and password. */
export const addressWithCredentials = text
  .meta({ pattern: '^https?://' })
  .refine((value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, search, hash } = new URL(value);
    return (protocol === 'http:' || protocol === 'https:') && search === '' && hash === '';
  }, 'must be an http:// or https:// address without query, like http://127.0.0.1:9000')
  .refine(hasCodedCredentials, CODED_CREDENTIALS);

/** The address of a server that takes its credentials from settings of their own: in the address they would be passed over. */
export const httpAddress = addressWithCredentials.refine((value) => {
  const { username, password } = URL.parse(value) ?? { username: '', password: '' };
  return username === '' && password === '';
}, 'must not carry user and password: there are settings for its credentials');
