import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';

test('check without a daemon ends with 3 as long as records are missing, not only the first time', async () => {
  const node = await startNode();
  node.submitLabelled({ label: 'recorded', sizeBytes: 500, hashType: 'keccak256' });
  for (let block = 0; block < 12; block += 1) node.mine();
  const setup = { dataDir: temporaryFolder(), node };
  const records = join(setup.dataDir, 'occurrences', 'keccak256');
  const recorded = () => eventually(() => expect(readdirSync(records)).toHaveLength(1));
  const first = await startArchiveHere(setup);
  await untilStored(first, 1);
  await recorded();
  await stop(first);
  const env = environmentOf(setup);
  const check = () => holdfastHere(['check'], { env });
  expect(await check()).toMatchObject({ code: 0 });

  rmSync(records, { recursive: true });
  const verdict = expect.stringContaining('1 record is missing there');
  expect(await check()).toMatchObject({ code: 3, stdout: verdict });
  expect(await check()).toMatchObject({ code: 3, stdout: verdict });

  const again = await startArchiveHere(setup);
  await recorded();
  // Beside a daemon, settings of the command's own would say nothing: they are refused.
  expect(await holdfastHere(['check', '--s3-bucket', 'another'], { env })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('with its own settings: --s3-bucket would say nothing'),
  });
  await stop(again);
  expect(await check()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Everything is as the catalog says.'),
  });
});
