import { describe, expect, test, vi } from 'vitest';
import { createArchiveReader, ReaderError, type SourceKind } from '../../src/reader/index.ts';
import { sampleBlob } from '../sample-blobs.ts';
import { type Behaviour, cuts, fakeSource, gives, hangs, pours, problem } from './fake-source.ts';

const BLOB = sampleBlob('a blob that is read', 5_000);
const BLAKE = sampleBlob('another hash', 3_000, 'blake2s256');
const OTHER = sampleBlob('another blob', 5_000);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const rpc = (reply: unknown): Behaviour => gives(JSON.stringify(reply));
const nodeSays = (message: string): Behaviour =>
  rpc({ result: null, error: { code: -32_602, message }, id: 'holdfast' });

/** Behaviours of a fake source of each kind that give a blob, right or wrong. */
const GIVING: Readonly<Record<SourceKind, (bytes: Uint8Array) => Behaviour>> = {
  holdfast: (bytes) => gives(bytes),
  sentinel: (bytes) => gives(hex(bytes)),
  'ipfs-gateway': (bytes) => gives(bytes),
  node: (bytes) => rpc({ result: { versionhash: BLOB.versionHash, data: hex(bytes) }, error: null, id: 'holdfast' }),
};
const ABSENT: Readonly<Record<SourceKind, Behaviour>> = {
  holdfast: problem(404, 'blob/absent'),
  sentinel: gives(''),
  'ipfs-gateway': gives('not here', 404),
  node: nodeSays(`Could not find blob information for versionhash ${BLOB.versionHash}`),
};
const KINDS: readonly SourceKind[] = ['holdfast', 'sentinel', 'ipfs-gateway', 'node'];

async function readerOf(sources: readonly (readonly [SourceKind, Behaviour])[], timeoutMs = 60_000) {
  const started = await Promise.all(sources.map(([, behave]) => fakeSource(behave)));
  let nowMs = 1_000_000;
  const reader = createArchiveReader({
    sources: sources.map(([kind], index) => ({ kind, url: started[index]?.url ?? '' })),
    timeoutMs,
    hedgeMs: 50,
    nowMs: () => nowMs,
  });
  const later = (ms: number) => {
    nowMs += ms;
  };
  return { reader, sources: started, later };
}

const thrown = async (work: Promise<unknown>): Promise<ReaderError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof ReaderError) return error;
    throw error;
  }
  throw new Error('It did not throw.');
};
const outcomes = ({ answers }: ReaderError) => answers.map(({ outcome }) => outcome);

describe.each(KINDS)('a source of the kind %s', (kind) => {
  test('gives verified bytes', async () => {
    const { reader } = await readerOf([[kind, GIVING[kind](BLOB.bytes)]]);
    const blob = await reader.read(BLOB.versionHash);
    expect(blob).toMatchObject({ hashType: 'keccak256', versionHash: BLOB.versionHash });
    expect(Buffer.compare(blob?.bytes ?? Buffer.of(), BLOB.bytes)).toBe(0);
  });

  test('a read gives null when the only source lacks the blob', async () => {
    const { reader } = await readerOf([[kind, ABSENT[kind]]]);
    expect(await reader.read(BLOB.versionHash)).toBeNull();
  });

  const WRONG: readonly (readonly [string, Behaviour])[] = [
    ['other bytes', GIVING[kind](OTHER.bytes)],
    ['too few bytes', GIVING[kind](BLOB.bytes.subarray(0, 4_999))],
    ['more than any blob has, without end', pours],
  ];
  test.each(WRONG)('a source that gives %s counts as a liar, and none of its bytes get out', async (_what, behave) => {
    const { reader } = await readerOf([[kind, behave]]);
    const error = await thrown(reader.read(BLOB.versionHash));
    expect([error.code, outcomes(error)]).toEqual(['reader/unavailable', ['lied']]);
    expect((await reader.status())[0]?.suspect).toBe(true);
  });

  const NO_ANSWERS: readonly (readonly [string, Behaviour])[] = [
    ['breaks off', cuts(Buffer.alloc(100, 'ab'))],
    ['hangs', hangs],
    ['fails with a web page', gives('<html>Bad gateway</html>', 502)],
    ['fails with nothing', gives('', 500)],
  ];
  test.each(NO_ANSWERS)('a source that %s has not answered, and absence is not proved', async (_what, behave) => {
    const { reader, sources } = await readerOf([[kind, behave]], 300);
    const error = await thrown(reader.read(BLOB.versionHash));
    expect([error.code, error.retryable, outcomes(error)]).toEqual(['reader/unavailable', true, ['no-answer']]);
    expect(error.answers[0]?.source).toBe(sources[0]?.url);
  });
});

test('release 4.4 proves absence in words of its own', async () => {
  const { reader } = await readerOf([['node', nodeSays(`Could not find MTP for versionhash ${BLOB.versionHash}`)]]);
  expect(await reader.read(BLOB.versionHash)).toBeNull();
});

test.each(['data size', 'payload'])(
  'a node of release 4.4 without the %s of a blob proves no absence',
  async (what) => {
    const { reader } = await readerOf([
      ['node', nodeSays(`Could not find ${what} for versionhash ${BLOB.versionHash}`)],
    ]);
    const error = await thrown(reader.read(BLOB.versionHash));
    expect([error.code, outcomes(error)]).toEqual(['reader/unavailable', ['no-answer']]);
  },
);

describe('several sources', () => {
  test('an honest slow source beats a fast liar, which comes last from then on', async () => {
    const slow: Behaviour = (request, response) => {
      setTimeout(() => gives(BLOB.bytes)(request, response), 120);
    };
    const { reader, sources } = await readerOf([
      ['holdfast', gives(OTHER.bytes)],
      ['holdfast', slow],
    ]);
    expect((await reader.read(BLOB.versionHash))?.versionHash).toBe(BLOB.versionHash);
    const askedBefore = sources[0]?.asked.length;
    expect(await reader.read(BLOB.versionHash)).not.toBeNull();
    expect(sources[0]?.asked.length).toBe(askedBefore);
  });

  test('a lie is forgiven in time, and a suspect is asked when every other source fails', async () => {
    const { reader, sources, later } = await readerOf([
      ['holdfast', gives(OTHER.bytes)],
      ['sentinel', gives('')],
    ]);
    const error = await thrown(reader.read(BLOB.versionHash));
    expect(new Set(outcomes(error))).toEqual(new Set(['lied', 'absent']));
    const [liar] = sources;
    if (liar === undefined) throw new Error('no source');
    liar.behave = gives(BLOB.bytes);
    expect(await reader.read(BLOB.versionHash)).not.toBeNull();
    const suspects = async () => (await reader.status()).filter(({ suspect }) => suspect).length;
    expect(await suspects()).toBe(1);
    later(700_000);
    expect(await suspects()).toBe(0);
  });

  test('the next source is asked when one hangs, and the hanging request is aborted', async () => {
    const closed = vi.fn();
    const { reader } = await readerOf([
      ['holdfast', (_request, response) => void response.once('close', closed)],
      ['holdfast', gives(BLOB.bytes)],
    ]);
    expect(await reader.read(BLOB.versionHash)).not.toBeNull();
    await expect.poll(() => closed.mock.calls.length).toBeGreaterThan(0);
  });

  test('a read gives null only when all sources lack the blob, and names a source without an answer', async () => {
    const all = await readerOf(KINDS.map((kind) => [kind, ABSENT[kind]] as const));
    expect(await all.reader.read(BLOB.versionHash)).toBeNull();
    const { reader } = await readerOf([
      ['sentinel', ABSENT.sentinel],
      ['holdfast', problem(503, 'blob/cannot-tell')],
    ]);
    const error = await thrown(reader.read(BLOB.versionHash));
    expect(error.answers).toContainEqual(
      expect.objectContaining({ outcome: 'no-answer', says: 'blob/cannot-tell: As said.' }),
    );
  });

  test.each([
    [410, 'blob/lost', 'reader/lost'],
    [451, 'blob/withheld', 'reader/withheld'],
    [421, 'blob/not-archived-by-rule', 'reader/not-archived-by-rule'],
  ])('%i has its own error code, unless another source has the bytes', async (status, code, expected) => {
    const alone = await readerOf([
      ['holdfast', problem(status, code)],
      ['sentinel', ABSENT.sentinel],
    ]);
    expect((await thrown(alone.reader.read(BLOB.versionHash))).code).toBe(expected);
    const { reader } = await readerOf([
      ['holdfast', problem(status, code)],
      ['sentinel', GIVING.sentinel(BLOB.bytes)],
    ]);
    expect(await reader.read(BLOB.versionHash)).not.toBeNull();
  });

  test('a 404 without a problem document is no absence', async () => {
    const { reader } = await readerOf([['holdfast', gives('<html>404</html>', 404)]]);
    expect((await thrown(reader.read(BLOB.versionHash))).code).toBe('reader/unavailable');
  });

  test('a blob of the other hash type is found under the bare name and under the one of 66 characters', async () => {
    for (const kind of KINDS) {
      const { reader } = await readerOf([[kind, GIVING[kind](BLAKE.bytes)]]);
      expect(await reader.read(BLAKE.versionHash)).toMatchObject({ hashType: 'blake2s256' });
      expect(await reader.read(`01${BLAKE.versionHash}`)).toMatchObject({ hashType: 'blake2s256' });
    }
  });

  test('an abort rejects at once with the signal’s own reason', async () => {
    const { reader } = await readerOf([['holdfast', hangs]], 60_000);
    const stop = new AbortController();
    const reading = reader.read(BLOB.versionHash, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  test('credentials are sent in the header and appear in no message', async () => {
    let authorization: string | undefined;
    const source = await fakeSource((request, response) => {
      authorization = request.headers.authorization;
      gives('no', 500)(request, response);
    });
    const url = source.url.replace('//', '//user:s3cret@');
    const reader = createArchiveReader({ sources: [{ kind: 'node', url }] });
    const error = await thrown(reader.read(BLOB.versionHash));
    expect(authorization).toBe(`Basic ${btoa('user:s3cret')}`);
    expect(JSON.stringify([error, error.message, await reader.status()])).not.toContain('s3cret');
  });

  test('a reader without a source, or with a bad address, is refused before any request', () => {
    expect(() => createArchiveReader({ sources: [] })).toThrow(ReaderError);
    const url = 'ftp://user:s3cret@example.org';
    expect(() => createArchiveReader({ sources: [{ kind: 'holdfast', url }] })).toThrow(/http:\/\/ or https:\/\//);
  });
});

describe('redirects', () => {
  const redirects =
    (to: string, status = 307): Behaviour =>
    (_request, response) => {
      response.writeHead(status, { location: to }).end();
    };

  test.each(KINDS)(
    'a source of the kind %s that redirects to another origin gives no answer, and that origin is not asked',
    async (kind) => {
      const elsewhere = await fakeSource(GIVING[kind](BLOB.bytes));
      const { reader } = await readerOf([[kind, redirects(`${elsewhere.url}/found`)]]);
      const error = await thrown(reader.read(BLOB.versionHash));
      expect(error.answers[0]).toMatchObject({ outcome: 'no-answer', says: expect.stringContaining(elsewhere.url) });
      expect(elsewhere.asked).toEqual([]);
    },
  );

  test('a POST is sent once, also when the source redirects it within the origin', async () => {
    const { reader, sources } = await readerOf([['node', redirects('/other')]]);
    expect(outcomes(await thrown(reader.read(BLOB.versionHash)))).toEqual(['no-answer']);
    expect(sources[0]?.asked).toEqual(['/']);
  });

  test('a GET follows a few redirects within the origin', async () => {
    const { reader, sources } = await readerOf([['holdfast', hangs]]);
    const [source] = sources;
    if (source === undefined) throw new Error('There is one.');
    source.behave = (request, response) =>
      request.url === '/moved' ? gives(BLOB.bytes)(request, response) : redirects('/moved', 301)(request, response);
    expect((await reader.read(BLOB.versionHash))?.versionHash).toBe(BLOB.versionHash);
    source.behave = redirects('/again');
    expect(outcomes(await thrown(reader.read(BLOB.versionHash)))).toEqual(['no-answer']);
    expect(source.asked.filter((path) => path === '/again').length).toBeLessThanOrEqual(3);
  });
});
