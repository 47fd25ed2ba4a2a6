import type { Readable } from 'node:stream';
import { multiselect, password, type TextOptions, text } from '@clack/prompts';
import { type Config, SETTINGS, type SettingName } from '../../config/index.ts';
import type { CliContext } from '../cli-context.ts';

/** Answers by environment variable, which is how a secret can be given as well. */
export type Answers = Readonly<Record<string, string>>;

/** Thrown when the person leaves the questions with Ctrl-C or Escape. */
export class LeftQuestions extends Error {}

const PLACES = [
  { value: 's3', label: 'an S3 bucket', hint: 'AWS, R2, MinIO, Garage' },
  { value: 'ipfs', label: 'IPFS', hint: 'a Kubo node' },
] as const;

/** Asks for every setting of a first configuration that neither a flag nor the environment gives. */
export class InitQuestions {
  readonly #config: Config;
  readonly #context: CliContext;
  readonly #input: Readable;
  readonly #answers: Record<string, string> = {};

  constructor(config: Config, context: CliContext, input: Readable) {
    this.#config = config;
    this.#context = context;
    this.#input = input;
  }

  /** @throws LeftQuestions */
  async ask(): Promise<Answers> {
    await this.#setting('nodeUrl', 'Address of the node', { placeholder: 'http://127.0.0.1:8370' });
    const user = await this.#optional('nodeUser', 'User name for the node (none: Enter)');
    if (user) await this.#secret('nodePassword', 'Password for the node');
    else await this.#optional('nodeCookieFile', 'Cookie file of the node (none: Enter)');
    await this.#setting('dataDir', 'Data folder', { defaultValue: String(SETTINGS.dataDir.fallback) });
    const places = await this.#places();
    if (places.includes('s3')) await this.#bucket();
    if (places.includes('ipfs')) {
      await this.#setting('ipfsApiUrl', 'Address of the Kubo API', { defaultValue: 'http://127.0.0.1:5001' });
    }
    await this.#setting('finality', 'Finality: chainlock, or depth:<blocks>', {
      defaultValue: String(SETTINGS.finality.fallback),
    });
    await this.#setting('httpPort', 'Port of the HTTP API', { defaultValue: String(SETTINGS.httpPort.fallback) });
    return this.#answers;
  }

  async #bucket(): Promise<void> {
    await this.#optional('s3Endpoint', 'Address of the S3 server (AWS: Enter)');
    await this.#setting('s3Bucket', 'Bucket');
    await this.#setting('s3Region', 'Region', { defaultValue: String(SETTINGS.s3Region.fallback) });
    const key = await this.#optional(
      's3AccessKeyId',
      'Access key id (the one of the environment or the machine: Enter)',
    );
    if (key) await this.#secret('s3SecretAccessKey', 'Secret access key');
  }

  async #places(): Promise<readonly string[]> {
    const { values } = this.#config;
    const given = [...(values.s3Bucket === null ? [] : ['s3']), ...(values.ipfsApiUrl === null ? [] : ['ipfs'])];
    if (given.length > 0) return given;
    const message = 'Where are blobs kept besides the data folder? (Space chooses, Enter goes on)';
    const chosen = await multiselect({ message, options: PLACES, required: false, ...this.#streams });
    if (typeof chosen === 'symbol') throw this.#left();
    return chosen;
  }

  /** The answer becomes the setting. An empty one is the default, where there is one. */
  async #setting(name: SettingName, message: string, more: Partial<TextOptions> = {}): Promise<void> {
    if (this.#isGiven(name)) return;
    const { defaultValue } = more;
    const validate = (typed = '') => this.#problem(name, typed === '' ? (defaultValue ?? '') : typed);
    const shown = defaultValue === undefined ? {} : { placeholder: defaultValue };
    this.#take(name, this.#typed(await text({ message, validate, ...shown, ...more, ...this.#streams })));
  }

  /** true: the setting has a value. */
  async #optional(name: SettingName, message: string): Promise<boolean> {
    if (this.#isGiven(name)) return true;
    const validate = (typed = '') => (typed === '' ? undefined : this.#problem(name, typed));
    const typed = this.#typed(await text({ message, validate, defaultValue: '', ...this.#streams }));
    if (typed !== '') this.#take(name, typed);
    return typed !== '';
  }

  async #secret(name: SettingName, message: string): Promise<void> {
    if (this.#isGiven(name)) return;
    const asked = `${message} (is not written into the file)`;
    this.#take(name, this.#typed(await password({ message: asked, ...this.#streams })));
  }

  #isGiven(name: SettingName): boolean {
    return this.#config.origins[name] !== 'default';
  }

  #take(name: SettingName, typed: string): void {
    const { env } = SETTINGS[name];
    if (env !== null) this.#answers[env] = typed;
  }

  #problem(name: SettingName, typed: string): string | undefined {
    const issue = SETTINGS[name].schema.safeParse(typed).error?.issues[0];
    return issue === undefined ? undefined : `It ${issue.message}.`;
  }

  #typed(given: string | symbol): string {
    if (typeof given === 'symbol') throw this.#left();
    return given;
  }

  #left(): unknown {
    const { signal } = this.#context;
    return signal.aborted ? signal.reason : new LeftQuestions();
  }

  get #streams() {
    return { input: this.#input, output: this.#context.stdout, signal: this.#context.signal };
  }
}
