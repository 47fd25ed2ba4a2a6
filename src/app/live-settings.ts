import { nodeCredentials, nodeUrls, type SettingValues } from '../config/index.ts';
import type { createBlobNode } from '../node/index.ts';
import { bucketKeys, type Keys } from './open-backends.ts';

/** The settings with the secrets as they are now: these are replaced while everything runs. */
export class LiveSettings {
  #values: SettingValues;
  #keys: ReadonlyMap<string, Keys>;

  private constructor(values: SettingValues, keys: ReadonlyMap<string, Keys>) {
    this.#values = values;
    this.#keys = keys;
  }

  /** @throws ConfigError */
  static async read(values: SettingValues): Promise<LiveSettings> {
    return new LiveSettings(values, await bucketKeys(values));
  }

  /** Keys of a bucket, by the id of its backend; null: the SDK finds its own. */
  keysOf(id: string): Keys {
    return this.#keys.get(id) ?? null;
  }

  /**
   * Reads the files of secrets again; what is returned puts everything in place, and gives the backends whose keys are others.
   * @throws ConfigError, and then everything stays as it was.
   */
  async prepare(values: SettingValues): Promise<() => string[]> {
    const keys = await bucketKeys(values);
    return () => {
      const changed = [...keys].filter(([id, key]) => JSON.stringify(key) !== JSON.stringify(this.keysOf(id)));
      this.#values = values;
      this.#keys = keys;
      return changed.map(([id]) => id);
    };
  }

  /** Address and credentials of each node at this moment. */
  nodeOptions(): Parameters<typeof createBlobNode>[0][] {
    const { nodeUrl, nodeRequests, nodeDialect: dialect } = this.#values;
    // Beside the fetches: the poller, the list, four blocks ahead in the walk, and one that waits for the next block.
    const connections = nodeRequests + 7;
    return nodeUrls(nodeUrl ?? '').map((url) => {
      const credentials = nodeCredentials(url, this.#values);
      if (credentials === null) return { url, connections, dialect };
      if ('cookieFile' in credentials) return { url, connections, dialect, credentials };
      const now = () => {
        const found = nodeCredentials(url, this.#values);
        return found === null || 'cookieFile' in found ? credentials : found;
      };
      const live = {
        get user() {
          return now().user;
        },
        get password() {
          return now().password;
        },
      };
      return { url, connections, dialect, credentials: live };
    });
  }
}
