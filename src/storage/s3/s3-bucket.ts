import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import { StorageError } from '../errors.ts';
import { remoteCall, remoteFault } from '../remote-call.ts';
import { putOptions } from './put-options.ts';
import { readBody } from './read-body.ts';
import { createS3Client, loadSdk, type S3Connection, type Sdk } from './s3-client.ts';
import { answerOf, CLOCKS_APART, explainS3, GoneMeanwhile, NotS3Answer, TruncatedBody } from './s3-error.ts';
import { placeOf, type S3Options } from './s3-options.ts';
import { isSize, type ListedObject, type Page, pageOf } from './s3-page.ts';
import { S3Upload } from './s3-upload.ts';
import type { ServerClock } from './server-clock.ts';

export interface ReadObject {
  readonly body: Uint8Array;
  readonly etag: string;
}

/** Only when nothing is there (`absent`), only over what has this tag, or over whatever is there (null). */
export type PutCondition = 'absent' | { readonly etag: string } | null;
export interface PutAbout {
  readonly contentType: string;
  readonly condition: PutCondition;
  /** Retained for as long as the operator gave, if at all. */
  readonly lock: boolean;
}
export type PutOutcome = 'written' | 'condition failed' | 'condition refused';

/** Objects below one prefix of one bucket, by name, with errors that say what to do. */
export class S3Bucket {
  readonly id: string;
  /** For messages: never has credentials. */
  readonly where: string;
  readonly options: S3Options;
  readonly #sdk: Sdk;
  readonly #client: S3Client;
  readonly #prefix: string;
  readonly #clock: ServerClock;

  private constructor(options: S3Options, sdk: Sdk, { client, handler }: S3Connection) {
    this.id = options.id;
    this.options = options;
    this.#prefix = options.prefix === '' ? '' : `${options.prefix.replace(/^\/+|\/+$/g, '')}/`;
    this.where = `${placeOf(options)}/${this.#prefix}`.replace(/\/$/, '');
    this.#sdk = sdk;
    this.#client = client;
    this.#clock = handler.clock;
  }

  static async open(options: S3Options): Promise<S3Bucket> {
    const sdk = await loadSdk();
    return new S3Bucket(options, sdk, await createS3Client(sdk, options));
  }

  async put(name: string, body: Uint8Array, about: PutAbout, signal: AbortSignal): Promise<PutOutcome> {
    const { condition, contentType } = about;
    const key = this.#prefix + name;
    const lockFromMs = about.lock && this.options.objectLock !== null ? await this.#lockFromMs(signal) : null;
    const input: PutObjectCommandInput = {
      Bucket: this.options.bucket,
      Key: key,
      Body: body,
      ContentLength: body.length,
      ContentType: contentType,
      ...(condition === 'absent' ? { IfNoneMatch: '*' } : {}),
      ...(typeof condition === 'object' && condition !== null ? { IfMatch: condition.etag } : {}),
      ...putOptions(this.options, body, lockFromMs),
    };
    return await this.#call('put', signal, async (abortSignal) => {
      try {
        const answer = await this.#client.send(new this.#sdk.PutObjectCommand(input), { abortSignal });
        if (answer.ETag === undefined) throw new NotS3Answer('success without an ETag');
        return 'written';
      } catch (cause) {
        const { name: code, status } = answerOf(cause);
        if (condition !== null && status === 412) return 'condition failed';
        // If-Match on what was deleted meanwhile.
        if (typeof condition === 'object' && condition !== null && code === 'NoSuchKey') return 'condition failed';
        if (condition !== null && (status === 501 || code === 'NotImplemented')) return 'condition refused';
        throw cause;
      }
    });
  }

  /** null: the server said positively that the bucket is there and this key is not. */
  async get(name: string, limitBytes: number, signal: AbortSignal): Promise<ReadObject | null> {
    return await this.#call('get', signal, async (abortSignal) => {
      try {
        const command = new this.#sdk.GetObjectCommand({ Bucket: this.options.bucket, Key: this.#prefix + name });
        const answer = await this.#client.send(command, { abortSignal });
        if (answer.ETag === undefined) throw new NotS3Answer('success without an ETag');
        return { body: await readBody(answer.Body, answer.ContentLength, limitBytes), etag: answer.ETag };
      } catch (cause) {
        if (answerOf(cause).name === 'NoSuchKey') return null;
        throw cause;
      }
    });
  }

  /**
   * Bytes of an object from `begin` on, exactly so many.
   * @param etag the object that is meant; null: whichever is there
   * @throws StorageError `storage/conflict` where another object is there by now, or none
   */
  async range(
    name: string,
    { begin, length, etag }: { readonly begin: number; readonly length: number; readonly etag: string | null },
    signal: AbortSignal,
  ): Promise<ReadObject> {
    const input = {
      Bucket: this.options.bucket,
      Key: this.#prefix + name,
      Range: `bytes=${begin}-${begin + length - 1}`,
      ...(etag === null ? {} : { IfMatch: etag }),
    };
    return await this.#call('get range', signal, async (abortSignal) => {
      const answer = await this.#client
        .send(new this.#sdk.GetObjectCommand(input), { abortSignal })
        .catch((cause: unknown) => {
          throw answerOf(cause).name === 'NoSuchKey' ? new GoneMeanwhile('NoSuchKey') : cause;
        });
      if (answer.ETag === undefined) throw new NotS3Answer('success without an ETag');
      if (answer.ContentRange?.startsWith(`bytes ${begin}-`) !== true) throw new NotS3Answer('another range');
      const body = await readBody(answer.Body, answer.ContentLength, length);
      if (body.length !== length) throw new TruncatedBody(`${body.length} of ${length} bytes came`);
      return { body, etag: answer.ETag };
    });
  }

  /** Begins to write a large object in parts, or continues what an earlier run began. */
  async upload(name: string, contentType: string, signal: AbortSignal): Promise<S3Upload> {
    const access = {
      sdk: this.#sdk,
      client: this.#client,
      options: this.options,
      call: <T>(operation: string, ending: AbortSignal, work: (abortSignal: AbortSignal) => Promise<T>) =>
        this.#call(operation, ending, work),
    };
    return await S3Upload.open(access, this.#prefix + name, contentType, signal);
  }

  /** No client can shorten a retention: it counts on the clock of the server, which enforces it. */
  async #lockFromMs(signal: AbortSignal): Promise<number> {
    const clock = this.#clock;
    // Any answer tells its time, a refusal too.
    if (clock.offsetMs === null) await this.firstObject(signal).catch(() => signal.throwIfAborted());
    const fromMs = clock.nowMs();
    if (fromMs !== null) return fromMs;
    throw remoteFault({ backend: this.id, where: this.where, operation: 'put' }, CLOCKS_APART, null);
  }

  /** Size of an object. HEAD has no body that says what is missing, so a miss is asked for again by GET. */
  async size(name: string, signal: AbortSignal): Promise<number | null> {
    const target = { Bucket: this.options.bucket, Key: this.#prefix + name };
    return await this.#call('stat', signal, async (abortSignal) => {
      try {
        const { ContentLength, ETag } = await this.#client.send(new this.#sdk.HeadObjectCommand(target), {
          abortSignal,
        });
        if (!isSize(ContentLength) || ETag === undefined) throw new NotS3Answer('success without size or ETag');
        return ContentLength;
      } catch (cause) {
        if (answerOf(cause).status !== 404) throw cause;
      }
      try {
        const answer = await this.#client.send(new this.#sdk.GetObjectCommand(target), { abortSignal });
        const body = await readBody(answer.Body, answer.ContentLength, 0);
        return answer.ContentLength ?? body.length;
      } catch (cause) {
        if (answerOf(cause).name === 'NoSuchKey') return null;
        throw cause;
      }
    });
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    await this.#call('delete', signal, async (abortSignal) => {
      const command = new this.#sdk.DeleteObjectCommand({ Bucket: this.options.bucket, Key: this.#prefix + name });
      await this.#client.send(command, { abortSignal });
    });
  }

  /**
   * Older versions as well, and the marks of deletion. A retained version keeps none of the others, and keeps the marks:
   * they hide it. false: there was nothing.
   */
  async deleteForGood(name: string, signal: AbortSignal): Promise<boolean> {
    const versions = await this.#versionsOf(name, signal);
    if (versions === null || versions.length === 0) {
      // This server keeps one version of everything; or it lists none, and that alone is no proof of absence.
      if ((await this.size(name, signal)) === null) return false;
      await this.delete(name, signal);
      return true;
    }
    let refusal: StorageError | null = null;
    // The marks of deletion come last.
    for (const { id: VersionId, isMark } of versions) {
      if (isMark && refusal !== null) break;
      try {
        await this.#call('delete', signal, async (abortSignal) => {
          const target = { Bucket: this.options.bucket, Key: this.#prefix + name, VersionId };
          await this.#client.send(new this.#sdk.DeleteObjectCommand(target), { abortSignal });
        });
      } catch (error) {
        if (!(error instanceof StorageError) || error.code !== 'storage/locked') throw error;
        refusal ??= error;
      }
    }
    if (refusal !== null) throw refusal;
    return true;
  }

  /** Every name below this that a listing shows, or of which older versions alone are left. */
  async namesEver(below: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    for await (const { key } of this.list(below, signal)) names.add(key);
    for (let after: VersionCursor | null = {}; after !== null; ) {
      const page: VersionPage | null = await this.#versions(this.#prefix + below, after, signal);
      for (const { key } of page?.versions ?? []) names.add(key.slice(this.#prefix.length));
      after = page?.more ?? null;
    }
    return names;
  }

  /** null: the server knows no versions. */
  async #versionsOf(name: string, signal: AbortSignal): Promise<readonly ListedVersion[] | null> {
    const page = await this.#versions(this.#prefix + name, {}, signal);
    return page?.versions.filter(({ key }) => key === this.#prefix + name) ?? null;
  }

  #versions(Prefix: string, after: VersionCursor, signal: AbortSignal): Promise<VersionPage | null> {
    return this.#call('list versions', signal, async (abortSignal) => {
      try {
        const input = { Bucket: this.options.bucket, Prefix, ...after };
        const answer = await this.#client.send(new this.#sdk.ListObjectVersionsCommand(input), { abortSignal });
        const { Versions = [], DeleteMarkers = [], IsTruncated, NextKeyMarker, NextVersionIdMarker } = answer;
        const listed = (
          entries: readonly { Key?: string | undefined; VersionId?: string | undefined }[],
          isMark: boolean,
        ) => entries.map(({ Key = '', VersionId = 'null' }) => ({ key: Key, id: VersionId, isMark }));
        const versions = [...listed(Versions, false), ...listed(DeleteMarkers, true)];
        if (IsTruncated !== true || NextKeyMarker === undefined) return { versions, more: null };
        if (NextKeyMarker === after.KeyMarker && NextVersionIdMarker === after.VersionIdMarker) {
          throw new NotS3Answer('a listing of versions that goes on with the same page');
        }
        const VersionIdMarker = NextVersionIdMarker === undefined ? {} : { VersionIdMarker: NextVersionIdMarker };
        return { versions, more: { KeyMarker: NextKeyMarker, ...VersionIdMarker } };
      } catch (cause) {
        const { status, name: code } = answerOf(cause);
        if (status === 501 || status === 405 || code === 'NotImplemented') return null;
        throw cause;
      }
    });
  }

  async copy(from: string, to: string, signal: AbortSignal): Promise<void> {
    const { bucket } = this.options;
    const source = `${bucket}/${this.#prefix}${from}`.split('/').map(encodeURIComponent).join('/');
    await this.#call('copy', signal, async (abortSignal) => {
      const command = new this.#sdk.CopyObjectCommand({ Bucket: bucket, Key: this.#prefix + to, CopySource: source });
      await this.#client.send(command, { abortSignal });
    });
  }

  /** In the order of keys. The next page is under way while this one is taken. */
  async *list(below: string, signal: AbortSignal): AsyncIterable<ListedObject> {
    let next: Promise<Page> | null = this.#page(below, undefined, signal);
    while (next !== null) {
      const page: Page = await next;
      next = page.more === null ? null : this.#page(below, page.more, signal);
      // The promise may fail without a waiting caller: between two turns of the loop, or after the listing was left
      // early.
      next?.catch(() => {});
      for (const object of page.objects) {
        signal.throwIfAborted();
        yield object;
      }
    }
  }

  /** One page's beginning: whether the bucket can be listed at all. */
  async firstObject(signal: AbortSignal): Promise<ListedObject | null> {
    return (await this.#page('', undefined, signal, 1)).objects[0] ?? null;
  }

  /** Whether what is written here can be retained; null: the server does not say, or not to these credentials. */
  async hasObjectLock(signal: AbortSignal): Promise<boolean | null> {
    return await this.#call('object lock', signal, async (abortSignal) => {
      try {
        const command = new this.#sdk.GetObjectLockConfigurationCommand({ Bucket: this.options.bucket });
        const { ObjectLockConfiguration } = await this.#client.send(command, { abortSignal });
        return ObjectLockConfiguration?.ObjectLockEnabled === 'Enabled';
      } catch (cause) {
        const { name, status } = answerOf(cause);
        if (name === 'ObjectLockConfigurationNotFoundError') return false;
        if (status === 403 || status === 405 || status === 501) return null;
        throw cause;
      }
    });
  }

  /** The clock of the server as its last answer told it, minus ours; null before there was one. */
  get clockOffsetMs(): number | null {
    return this.#clock.offsetMs;
  }

  close(): void {
    this.#client.destroy();
  }

  #page(below: string, after: string | undefined, signal: AbortSignal, maxKeys?: number): Promise<Page> {
    return this.#call('list', signal, async (abortSignal) => {
      const command = new this.#sdk.ListObjectsV2Command({
        Bucket: this.options.bucket,
        Prefix: this.#prefix + below,
        ...(after === undefined ? {} : { ContinuationToken: after }),
        ...(maxKeys === undefined ? {} : { MaxKeys: maxKeys }),
      });
      return pageOf(await this.#client.send(command, { abortSignal }), this.#prefix, after);
    });
  }

  #call<T>(operation: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.options;
    return remoteCall({ backend: this.id, where: this.where, operation, signal, timeoutMs }, explainS3, work);
  }
}

/** Position in a listing of versions; empty at its beginning. */
interface VersionCursor {
  readonly KeyMarker?: string;
  readonly VersionIdMarker?: string;
}

interface ListedVersion {
  readonly key: string;
  readonly id: string;
  /** A mark is no object: it says that the object was deleted. */
  readonly isMark: boolean;
}

interface VersionPage {
  /** The marks of deletion behind the objects. */
  readonly versions: readonly ListedVersion[];
  readonly more: VersionCursor | null;
}
