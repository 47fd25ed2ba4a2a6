import type { CreateMultipartUploadCommandInput, S3Client } from '@aws-sdk/client-s3';
import { putOptions } from './put-options.ts';
import type { Sdk } from './s3-client.ts';
import { answerOf, NotS3Answer } from './s3-error.ts';
import type { S3Options } from './s3-options.ts';
import { isSize } from './s3-page.ts';

/** Access of an upload to its bucket. */
export interface UploadAccess {
  readonly sdk: Sdk;
  readonly client: S3Client;
  readonly options: S3Options;
  readonly call: <T>(
    operation: string,
    signal: AbortSignal,
    work: (abortSignal: AbortSignal) => Promise<T>,
  ) => Promise<T>;
}

/** A part that the server has. The tag of an object without a key of its own is the MD5 of its bytes, in quotes. */
export interface UploadedPart {
  readonly etag: string;
  readonly sizeBytes: number;
}

interface PartAnswer {
  readonly tag: string;
  readonly algorithm: string | undefined;
  readonly keyId: string | undefined;
}

interface Target {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string;
}

const NO_BYTES = new Uint8Array();

/** One large object, written in parts. It appears under its name whole, or not at all. */
export class S3Upload {
  readonly #access: UploadAccess;
  readonly #contentType: string;
  #target: Target;
  /** Parts of an earlier run; empty once the upload was begun again. */
  #uploaded: ReadonlyMap<number, UploadedPart>;
  /** Whether the server answered that the parts are encrypted as is asked for now. */
  #isEncryptedAsAsked: boolean;

  private constructor(
    access: UploadAccess,
    contentType: string,
    target: Target,
    uploaded: ReadonlyMap<number, UploadedPart> | null,
  ) {
    this.#access = access;
    this.#contentType = contentType;
    this.#target = target;
    this.#uploaded = uploaded ?? new Map();
    this.#isEncryptedAsAsked = uploaded === null || access.options.encryption === null;
  }

  /**
   * The parts of an earlier run, by their numbers. No list tells how an upload is encrypted, the answer to a part does.
   * Where an encryption is asked for, there are none before the first part was put again.
   */
  get uploaded(): ReadonlyMap<number, UploadedPart> {
    return this.#isEncryptedAsAsked ? this.#uploaded : new Map();
  }

  /** Continues the newest upload under this key that was begun and not completed, or begins one. */
  static async open(access: UploadAccess, key: string, contentType: string, signal: AbortSignal): Promise<S3Upload> {
    const begun = await unfinished(access, key, signal);
    if (begun === null) {
      return new S3Upload(access, contentType, await begin(access, key, contentType, signal), null);
    }
    const target = { Bucket: access.options.bucket, Key: key, UploadId: begun };
    return new S3Upload(access, contentType, target, await partsOf(access, target, signal));
  }

  /**
   * Gives the tag of the part. The server refuses bytes that do not have this MD5 (base64). The first part is put before any
   * other: where it shows that the upload was begun with another encryption, it is put into a new one.
   */
  async put(number: number, bytes: Uint8Array, contentMd5: string, signal: AbortSignal): Promise<string> {
    const { options } = this.#access;
    const answer = await this.#putPart(number, bytes, contentMd5, signal);
    if (this.#isEncryptedAsAsked || isEncryptedAs(options, answer)) {
      this.#isEncryptedAsAsked = true;
      return answer.tag;
    }
    // The upload of before is left to the bucket's rule for unfinished ones, as every other that is not continued.
    this.#target = await begin(this.#access, this.#target.Key, this.#contentType, signal);
    this.#uploaded = new Map();
    this.#isEncryptedAsAsked = true;
    return (await this.#putPart(number, bytes, contentMd5, signal)).tag;
  }

  async #putPart(number: number, bytes: Uint8Array, contentMd5: string, signal: AbortSignal): Promise<PartAnswer> {
    const { sdk, client, call } = this.#access;
    const input = {
      ...this.#target,
      PartNumber: number,
      Body: bytes,
      ContentLength: bytes.length,
      ContentMD5: contentMd5,
    };
    return await call('put part', signal, async (abortSignal) => {
      const answer = await client.send(new sdk.UploadPartCommand(input), { abortSignal });
      if (answer.ETag === undefined) throw new NotS3Answer('success without an ETag');
      return { tag: answer.ETag, algorithm: answer.ServerSideEncryption, keyId: answer.SSEKMSKeyId };
    });
  }

  /** Makes the object out of the parts with these tags, which are numbered from 1 on. */
  async complete(
    etags: readonly string[],
    condition: 'absent' | null,
    signal: AbortSignal,
  ): Promise<'written' | 'condition failed' | 'condition refused'> {
    const { sdk, client, call } = this.#access;
    const Parts = etags.map((ETag, index) => ({ PartNumber: index + 1, ETag }));
    const input = {
      ...this.#target,
      MultipartUpload: { Parts },
      ...(condition === 'absent' ? { IfNoneMatch: '*' } : {}),
    };
    return await call('complete upload', signal, async (abortSignal) => {
      try {
        const answer = await client.send(new sdk.CompleteMultipartUploadCommand(input), { abortSignal });
        if (answer.ETag === undefined) throw new NotS3Answer('success without an ETag');
        return 'written';
      } catch (cause) {
        const { name, status } = answerOf(cause);
        if (condition !== null && status === 412) return 'condition failed';
        if (condition !== null && (status === 501 || name === 'NotImplemented')) return 'condition refused';
        throw cause;
      }
    });
  }
}

async function begin(access: UploadAccess, key: string, contentType: string, signal: AbortSignal): Promise<Target> {
  const { sdk, client, options, call } = access;
  const target = { Bucket: options.bucket, Key: key };
  const input: CreateMultipartUploadCommandInput = { ...target, ContentType: contentType, ...creationOptions(options) };
  const UploadId = await call('begin upload', signal, async (abortSignal) => {
    const answer = await client.send(new sdk.CreateMultipartUploadCommand(input), { abortSignal });
    if (answer.UploadId === undefined) throw new NotS3Answer('an upload without an id');
    return answer.UploadId;
  });
  return { ...target, UploadId };
}

/**
 * Whether a part surely lies in an upload with the encryption of these settings. A key that is meant by an alias, or chosen by
 * the server, cannot be told from another one: then it is false.
 */
function isEncryptedAs({ encryption }: S3Options, { algorithm, keyId }: PartAnswer): boolean {
  if (encryption === null || algorithm !== encryption.algorithm) return encryption === null;
  if (algorithm === 'AES256') return true;
  return encryption.keyId !== null && (keyId === encryption.keyId || keyId?.endsWith(`/${encryption.keyId}`) === true);
}

/** The id of the newest unfinished upload under this key; null: there is none. */
async function unfinished(access: UploadAccess, key: string, signal: AbortSignal): Promise<string | null> {
  const { sdk, client, options, call } = access;
  return await call('list uploads', signal, async (abortSignal) => {
    const command = new sdk.ListMultipartUploadsCommand({ Bucket: options.bucket, Prefix: key });
    const { Uploads = [] } = await client.send(command, { abortSignal });
    const ours = Uploads.filter(({ Key, UploadId }) => Key === key && UploadId !== undefined);
    const [newest] = ours.toSorted((a, b) => (b.Initiated?.getTime() ?? 0) - (a.Initiated?.getTime() ?? 0));
    return newest?.UploadId ?? null;
  });
}

async function partsOf(
  { sdk, client, call }: UploadAccess,
  target: Target,
  signal: AbortSignal,
): Promise<Map<number, UploadedPart>> {
  const parts = new Map<number, UploadedPart>();
  for (let after: string | undefined, isMore = true; isMore; ) {
    const PartNumberMarker: string | undefined = after;
    const page = await call('list parts', signal, (abortSignal) =>
      client.send(
        new sdk.ListPartsCommand({ ...target, ...(PartNumberMarker === undefined ? {} : { PartNumberMarker }) }),
        { abortSignal },
      ),
    );
    for (const { PartNumber, ETag, Size } of page.Parts ?? []) {
      if (isSize(PartNumber) && PartNumber > 0 && ETag !== undefined && isSize(Size))
        parts.set(PartNumber, { etag: ETag, sizeBytes: Size });
    }
    isMore = page.IsTruncated === true && page.NextPartNumberMarker !== after;
    after = page.NextPartNumberMarker;
  }
  return parts;
}

/** Encryption and storage class. No retention: an object that nothing can delete must not be a wrong one. */
function creationOptions(options: S3Options) {
  const { ServerSideEncryption, SSEKMSKeyId, StorageClass } = putOptions(options, NO_BYTES, null);
  return {
    ...(ServerSideEncryption === undefined ? {} : { ServerSideEncryption }),
    ...(SSEKMSKeyId === undefined ? {} : { SSEKMSKeyId }),
    ...(StorageClass === undefined ? {} : { StorageClass }),
  };
}
