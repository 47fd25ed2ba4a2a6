import { type AtEnd, atEndOfTest } from '../../cleanup.ts';
import { ArchiveClient } from '../archive-client.ts';
import { eventually } from '../eventually.ts';
import { HoldfastHere } from '../holdfast-here.ts';
import { HoldfastProcess, type RunningHoldfast } from '../holdfast-process.ts';

export interface RunningReader extends RunningHoldfast {
  readonly client: ArchiveClient;
}

export interface ReaderProcess extends HoldfastProcess {
  readonly client: ArchiveClient;
}

/** `holdfast serve`, started and listening. */
export async function startReader(
  env: Readonly<Record<string, string>>,
  atEnd: AtEnd = atEndOfTest,
): Promise<ReaderProcess> {
  const reader = new HoldfastProcess(['serve'], { env: { HOLDFAST_HTTP_PORT: '0', ...env }, atEnd });
  const [, url = ''] = await reader.says(/"url":"([^"]+)"/);
  return Object.assign(reader, { client: new ArchiveClient(url) });
}

/** The same in the test's own process. */
export async function startReaderHere(
  env: Readonly<Record<string, string>>,
  atEnd: AtEnd = atEndOfTest,
): Promise<RunningReader> {
  const reader = new HoldfastHere(['serve'], { env: { HOLDFAST_HTTP_PORT: '0', ...env }, atEnd });
  const [, url = ''] = await reader.says(/"url":"([^"]+)"/);
  return Object.assign(reader, { client: new ArchiveClient(url) });
}

/** The reader, when it has looked at its backends: one that is late to answer keeps every blob 503 until then. */
export async function untilReady<R extends RunningReader>(reader: R): Promise<R> {
  await eventually(async () => {
    const { status, conditions } = await reader.client.readiness();
    if (status !== 200 || conditions.length > 0) throw new Error(`not ready: ${JSON.stringify(conditions)}`);
  });
  return reader;
}
