import { describe, expect, test } from 'vitest';
import { showStatusReport, statusReport } from '../../src/cli/status-report.ts';
import { HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

const codes = (scene: Scene, about: string) => scene.conditions().filter((code) => code.startsWith(about));

describe('alarms by age, on the chain’s clock', () => {
  test('at half, three quarters and nine tenths of its window, a blob that is not here is told of', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    scene.mine(12);
    await scene.caughtUp();
    const blob = scene.submit();
    scene.node.advanceSeconds(150);
    scene.node.mine(1, { withoutBytes: true });
    await scene.until('walked', async () => (await scene.record(blob.versionHash))?.hashType != null);
    expect(codes(scene, 'chain/at-risk')).toEqual([]);
    for (const [hours, percent] of [
      [3.4, 50],
      [1.5, 75],
      [0.9, 90],
    ] as const) {
      scene.mine(Math.round(hours * HOUR_BLOCKS));
      const code = `chain/at-risk-${percent}`;
      await scene.until(code, () => scene.conditions().includes(code));
      expect(codes(scene, 'chain/at-risk')).toEqual([code]);
    }
  });

  test('the same, where the walk stands still', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    scene.mine(12);
    await scene.caughtUp();
    const blob = scene.submit();
    scene.node.advanceSeconds(150);
    scene.node.mine(1, { withoutBytes: true });
    await scene.until('walked', async () => (await scene.record(blob.versionHash))?.hashType != null);
    scene.node.faults.add({ fault: { kind: 'rpc-error', code: -1, message: 'bad disk' }, methods: ['getblock'] });
    scene.mine(5 * HOUR_BLOCKS);
    await scene.until('told', () => scene.conditions().includes('chain/at-risk-75'));
    expect(await scene.audit()).toMatchObject({ isComplete: false, unexamined: [{ to: scene.node.chain.tip.height }] });
  });

  test('past its deadline, it is told of without a gap until every source has answered', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    scene.mine(12);
    await scene.caughtUp();
    const blob = scene.submit();
    scene.node.advanceSeconds(150);
    scene.node.mine(1, { withoutBytes: true });
    const fault = { kind: 'rpc-error', code: -32603, message: 'bad disk' } as const;
    scene.node.faults.add({ fault, methods: ['getnevmblobdata'] });
    scene.mine(5.5 * HOUR_BLOCKS);
    await scene.until('nearly lost', () => scene.conditions().includes('chain/at-risk-90'));
    const gaps: string[][] = [];
    const look = () => {
      if (!scene.conditions().some((code) => /at-risk-90|overdue/.test(code))) gaps.push(scene.conditions());
    };
    scene.archive.activity.on('tip', look).on('walked', look);
    scene.mine(HOUR_BLOCKS);
    const overdue = () => scene.archive.status().conditions.find(({ code }) => code === 'chain/overdue');
    await scene.until('asked', () => overdue()?.message.includes(`${blob.versionHash}. These`) === true);
    expect(overdue()?.message).toContain(`node ${scene.node.url}: `);
    expect(gaps).toEqual([]);
    expect(codes(scene, 'chain/at-risk')).toEqual([]);
    const report = statusReport.parse(scene.archive.status());
    const [verdict] = showStatusReport(report, { address: scene.url, jobs: [], nowMs: 0 });
    expect(verdict).toMatch(/^CRITICAL: 1 blobs on chain are not here/);
    scene.node.faults.clear();
    await scene.until('lost', () => scene.archive.status().chain.lost === 1);
    await scene.until('over', () => overdue() === undefined);
  });

  test('the same, where it is here but on no backend yet', async () => {
    // Nothing listens there.
    const env = {
      HOLDFAST_S3_ENDPOINT: 'http://127.0.0.1:9',
      HOLDFAST_S3_BUCKET: 'bucket',
      HOLDFAST_S3_ACCESS_KEY_ID: 'key',
      HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
    };
    const scene = await Scene.create({ env });
    await scene.start();
    scene.mine(1, 1);
    await scene.until('spooled', () => scene.archive.status().content.spooled === 1);
    expect(codes(scene, 'chain/unstored')).toEqual([]);
    for (const [hours, percent] of [
      [3.4, 50],
      [1.5, 75],
      [0.9, 90],
    ] as const) {
      scene.mine(Math.round(hours * HOUR_BLOCKS));
      const code = `chain/unstored-${percent}`;
      await scene.until(code, () => scene.conditions().includes(code));
      expect(codes(scene, 'chain/unstored')).toEqual([code]);
    }
  });

  test('blocks without a blob are told of after as many as the operator says, until there is one', async () => {
    const scene = await Scene.create({ env: { HOLDFAST_ALARM_SILENT_BLOCKS: '20' } });
    await scene.start();
    scene.mine(2, 1);
    await scene.caughtUp();
    scene.mine(19);
    await scene.caughtUp();
    expect(codes(scene, 'chain/nothing-new')).toEqual([]);
    scene.mine(1);
    await scene.until('told', () => scene.conditions().includes('chain/nothing-new'));
    scene.mine(1, 1);
    await scene.until('over', () => !scene.conditions().includes('chain/nothing-new'));
  });

  test('never, when the operator says 0', async () => {
    const scene = await Scene.create({ env: { HOLDFAST_ALARM_SILENT_BLOCKS: '0' } });
    await scene.start();
    scene.mine(400);
    await scene.caughtUp();
    expect(codes(scene, 'chain/nothing-new')).toEqual([]);
  });
});

test('a node that fails when it is asked what is final is told as that, not as a walk that is behind', async () => {
  const scene = await Scene.create();
  await scene.start();
  scene.mine(12);
  await scene.until('final', () => scene.archive.status().chain.finalHeight !== null);
  await scene.until('well', () => scene.conditions().length === 0);
  const final = scene.archive.status().chain.finalHeight;
  const fault = { kind: 'rpc-error', code: -1, message: 'bad quorum' } as const;
  scene.node.faults.add({ fault, methods: ['getbestchainlock'] });
  scene.mine(1);
  await scene.caughtUp();
  await scene.until('told', () => scene.conditions().includes('chain/finality-unknown'));
  expect(scene.conditions()).not.toContain('chain/walk-behind');
  const { chain, conditions } = scene.archive.status();
  expect(chain.finalHeight).toBeGreaterThanOrEqual(final ?? 0);
  expect(chain.finalHeight).toBeLessThan(chain.height ?? 0);
  expect(conditions.find(({ code }) => code === 'chain/finality-unknown')?.message).toContain('bad quorum');
  // Far behind, that is what is wrong.
  scene.node.faults.add({ fault: { ...fault, message: 'bad disk' }, methods: ['getblock'] });
  scene.mine(5);
  await scene.until('behind', () => scene.conditions().includes('chain/walk-behind'));
  expect(scene.conditions()).not.toContain('chain/finality-unknown');
  scene.node.faults.clear();
  await scene.until('well', () => scene.conditions().length === 0);
});
