import type { Route } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { SharedByTests } from '../cleanup.ts';
import { Scene, type SceneBlob } from '../scenario/archive-on-devnode.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
let browser: Browser;

const PROOF = z.object({ records: z.array(z.record(z.string(), z.unknown())) });
type Records = z.output<typeof PROOF>['records'];

/** Starts a page with a final blob and another one. The test alters the answers on their way to the page. */
async function tamperedScene() {
  const scene = await (await Scene.create({ time: 'real' })).start();
  scene.mine(3, 2);
  await scene.caughtUp();
  await scene.finalUpTo(scene.node.chain.tip.height - 1);
  const [blob, other] = scene.blobs;
  if (blob === undefined || other === undefined) throw new Error('There are six.');
  const watched = await WatchedPage.open(browser, scene.url);
  // Chromium intercepts from the first route on, and takes a moment to begin: a request in that moment would not be changed.
  await watched.page.route('**/never-asked-for', (route) => route.abort());
  await watched.is('live');
  return { scene, watched, blob, other };
}

type Tamper = (route: Route, scene: { blob: SceneBlob; other: SceneBlob; url: string }) => Promise<void>;

const bytesOf =
  (change: (bytes: Buffer) => Buffer): Tamper =>
  async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: change(await answer.body()) });
  };
const proofOf =
  (change: (records: Records, others: Records) => unknown): Tamper =>
  async (route, { other, url }) => {
    const [answer, others] = [await route.fetch(), await fetch(`${url}/v1/blobs/${other.versionHash}/proof`)];
    const { records } = PROOF.parse(await answer.json());
    const body = JSON.stringify(change(records, PROOF.parse(await others.json()).records));
    await route.fulfill({ response: answer, body });
  };
const field = (name: string, change: (value: string) => unknown) =>
  proofOf((records) => ({ records: records.map((one) => ({ ...one, [name]: change(String(one[name])) })) }));
const flipped = (hex: string) => `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`;
const BYTES = '**/v1/blobs/*';
const PROOFS = '**/v1/blobs/*/proof';
const RECORD = '**/v1/blobs/*/record';

const LIES: readonly [string, string, Tamper][] = [
  [
    'one flipped bit in the bytes',
    BYTES,
    bytesOf((bytes) => Buffer.from(bytes.map((byte, at) => (at === 7 ? byte ^ 1 : byte)))),
  ],
  ['the last byte missing', BYTES, bytesOf((bytes) => bytes.subarray(0, -1))],
  ['one byte more', BYTES, bytesOf((bytes) => Buffer.concat([bytes, Buffer.of(0)]))],
  ['no bytes at all', BYTES, bytesOf(() => Buffer.alloc(0))],
  [
    'the bytes of another blob',
    BYTES,
    (route, { other }) => route.fulfill({ status: 200, body: Buffer.from(other.bytes) }),
  ],
  [
    'a page of markup instead of the bytes',
    BYTES,
    (route) => route.fulfill({ status: 200, body: '<html>hello</html>' }),
  ],
  ['the proof of another blob', PROOFS, proofOf((_, others) => ({ records: others }))],
  ['a proof that is dropped', PROOFS, proofOf(() => ({ records: [] }))],
  ['no list of proofs', PROOFS, proofOf(() => ({}))],
  ['no JSON of proofs', PROOFS, proofOf(() => 'null')],
  [
    'another header',
    PROOFS,
    proofOf((records, others) => ({
      records: records.map((one) => ({
        ...one,
        header: others[0]?.['header'] === one['header'] ? flipped(String(one['header'])) : others[0]?.['header'],
      })),
    })),
  ],
  ['another Merkle proof', PROOFS, field('merkleProof', flipped)],
  ['another transaction id', PROOFS, field('txid', flipped)],
  ['another block hash', PROOFS, field('blockHash', flipped)],
  ['another transaction', PROOFS, field('transaction', (hex) => hex.replace(/.{8}$/, '01000000'))],
  ['another output', PROOFS, field('vout', (vout) => Number(vout) + 1)],
  ['another size', PROOFS, field('size', (size) => Number(size) + 1)],
  [
    'a field that no record has',
    PROOFS,
    proofOf((records) => ({ records: records.map((one) => ({ ...one, note: 'trust me' })) })),
  ],
  ['the other hash type', PROOFS, field('hashType', (type) => (type === 'keccak256' ? 'blake2s256' : 'keccak256'))],
];

describeInBrowser('a lying archive or proxy', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test('each lie of an archive is not verified, and wrong bytes are not offered', async () => {
    const { scene, watched, blob, other } = await tamperedScene();
    const { page } = watched;
    // The same look-up without the lie succeeds, so the later refusal has no other reason.
    for (const name of [blob.versionHash, blob.txid]) expect(await watched.lookUp(name)).toBe('verified');
    for (const [lie, where, tamper] of LIES) {
      await page.route(where, (route) => tamper(route, { blob, other, url: scene.url }));
      expect(await watched.lookUp(blob.versionHash), lie).toBe('not-verified');
      expect(await watched.text('.check h3'), lie).toBe('NOT verified');
      const downloads = await page.getByRole('button', { name: /^Download/ }).count();
      expect(downloads, lie).toBe(where === BYTES ? 0 : 1);
      await page.unroute(where);
    }
    await watched.screenshot('not-verified');
    await watched.expectAccessible();
    expect(await watched.lookUp(blob.versionHash)).toBe('verified');
    watched.expectQuiet(/status of (404|503)/);
  });

  test('both of two final occurrences must be proven', async () => {
    const { scene, watched, blob } = await tamperedScene();
    scene.node.submitBlob(blob.bytes, { hashType: blob.hashType });
    scene.mine(3);
    await scene.caughtUp();
    await scene.until('both final', async () => (await scene.states(blob.versionHash)).join() === 'final,final');
    expect(await watched.lookUp(blob.versionHash)).toBe('verified');
    expect(await watched.page.locator('.check li').count()).toBe(3);
    await watched.page.route(PROOFS, (route) =>
      proofOf((records) => ({ records: records.slice(0, 1) }))(route, { blob, other: blob, url: scene.url }),
    );
    expect(await watched.lookUp(blob.versionHash)).toBe('not-verified');
    expect(await watched.text('.check')).toContain('1 more occurrence final, and gave no proof of it');
    watched.expectQuiet();
  });

  test('a transaction from a look-up must itself be proven, whatever other occurrences its blob has', async () => {
    const { watched, blob, other } = await tamperedScene();
    // The archive answers the look-up of the other transaction with this transaction's content, which it proves
    // correctly.
    await watched.page.route(`**/v1/transactions/${other.txid}`, async (route) => {
      const answer = await route.fetch();
      const body = {
        ...z.record(z.string(), z.unknown()).parse(await answer.json()),
        versionHash: blob.versionHash,
        hashType: blob.hashType,
      };
      await route.fulfill({ response: answer, body: JSON.stringify(body) });
    });
    expect(await watched.lookUp(other.txid)).toBe('not-verified');
    expect(await watched.text('.check')).toContain(`no proof of the transaction ${other.txid}`);
    watched.expectQuiet(/status of (404|503)/);
  });

  test('an unreadable record, and the record of another blob, are not shown', async () => {
    const { watched, blob, other } = await tamperedScene();
    const { page } = watched;
    for (const body of ['{}', '[]', 'null', '"text"', `{"versionHash":"${other.versionHash}"}`]) {
      await page.route(RECORD, (route) => route.fulfill({ status: 200, body, contentType: 'application/json' }));
      await page.locator('#look-up-input').fill(blob.versionHash);
      await page.getByRole('button', { name: 'Look up' }).click();
      await page.locator('#look-up-message.bad').waitFor();
      expect(await page.locator('#look-up-result').innerHTML()).toBe('');
      await page.unroute(RECORD);
    }
    watched.expectQuiet();
  });
});
