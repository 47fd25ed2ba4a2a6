import { expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';

const HOURS = 5;

test('a clock that is hours off what blocks say is told; the archive goes on by the clock of the chain', async () => {
  const node = await startNode();
  const daemon = await startArchiveHere({ dataDir: temporaryFolder(), node });
  await eventually(async () => expect((await daemon.client.readiness()).status).toBe(200));
  // To the daemon it is the same as if its own machine were so much behind.
  node.advanceSeconds(HOURS * 3_600);
  const told = await eventually(async () => {
    // One at a time, as they are found: of several that come at once, all but the last may be old.
    const [mined] = node.mine();
    await eventually(async () => expect((await daemon.client.status()).node.height).toBe(mined?.height));
    const { conditions } = await daemon.client.status();
    const wrong = conditions.find(({ code }) => code === 'clock/wrong');
    expect(conditions.map(({ code }) => code)).toContain('clock/wrong');
    return wrong;
  });
  expect(told?.message).toMatch(
    /^The clock of this machine is (299|300|301) minutes behind blocks that were found just now\.$/,
  );
  expect(told?.hint).toContain('chrony');
  const metrics = (await daemon.client.get('/metrics')).body.toString();
  expect(metrics).toMatch(/^holdfast_condition\{code="clock\/wrong",blocks_readiness="[^"]*",severity="warning"\} 1$/m);
  node.submitLabelled({ label: 'with a wrong clock', sizeBytes: 1_000, hashType: 'keccak256' });
  node.mine();
  await untilStored(daemon, 1);
  expect((await daemon.client.readiness()).status).toBe(200);
});
