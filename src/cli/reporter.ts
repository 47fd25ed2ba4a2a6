import { createLogUpdate } from 'log-update';
import type { Daemon } from '../app/daemon.ts';
import type { Devnode } from '../devnode/index.ts';
import { type CliContext, print } from './cli-context.ts';
import { describeBytes, describeSeconds } from './describe.ts';

/** Shows a person what the daemon does. */
export interface Reporter {
  /** Draws no more, and tells in one line how things stand. Called before the daemon stops, which closes what this reads. */
  stop(): void;
}

export interface ReporterFacts {
  readonly emulated: boolean;
  readonly devnode: Devnode | null;
  readonly dataDir: string;
}

const REDRAW_MS = 200;
/** Blobs of a burst are told in one line, so that a drain of thousands does not scroll for ever. */
const LINES_EVERY_MS = 1_000;
const NAMED_AT_MOST = 3;

/** On a terminal one live line under the lines; elsewhere plain lines. */
export function startReporter(daemon: Daemon, facts: ReporterFacts, context: CliContext): Reporter {
  greet(daemon, facts, context);
  const { activity } = daemon.archive;
  let fresh: { versionHash: string; hashType: string; sizeBytes: number }[] = [];
  const onSpooled = (blob: (typeof fresh)[number]) => void fresh.push(blob);
  const onFailed = ({ versionHash, code }: { versionHash: string; code: string }) =>
    print(context, `failed    ${versionHash} (${code})`);
  activity.on('spooled', onSpooled).on('failed', onFailed);
  const tell = () => {
    const burst = fresh;
    fresh = [];
    for (const blob of burst.slice(0, NAMED_AT_MOST)) {
      print(context, `archived  ${blob.versionHash}  ${blob.hashType}  ${describeBytes(blob.sizeBytes)}`);
    }
    if (burst.length > NAMED_AT_MOST) print(context, `archived  ${burst.length - NAMED_AT_MOST} more`);
    return burst.length;
  };
  const drawing = context.stdout.isTTY === true ? live(daemon, tell, context) : lines(daemon, tell, context);
  return {
    stop: () => {
      activity.off('spooled', onSpooled).off('failed', onFailed);
      drawing.stop();
      tell();
      print(context, `stopping · ${summary(daemon)}`);
    },
  };
}

function greet({ url }: Daemon, { emulated, devnode, dataDir }: ReporterFacts, context: CliContext): void {
  print(context, `holdfast listens at ${url}  (data in ${dataDir})`);
  if (devnode === null) return;
  if (emulated)
    print(context, 'The chain is EMULATED: a built-in node makes it up, a block every 3 s. Nothing of it is real.');
  const address = devnode.url.replace('//', `//${devnode.username}:${devnode.password}@`);
  print(context, `emulated node at ${address}`);
}

function live(daemon: Daemon, tell: () => number, context: CliContext): Reporter {
  const line = createLogUpdate(context.stdout);
  const redraw = () => {
    line.clear();
    tell();
    line(summary(daemon));
  };
  const timer = setInterval(redraw, REDRAW_MS);
  return {
    stop: () => {
      clearInterval(timer);
      line.clear();
      // Shows the cursor again.
      line.done();
    },
  };
}

function lines(daemon: Daemon, tell: () => number, context: CliContext): Reporter {
  const timer = setInterval(() => {
    if (tell() > 0) print(context, summary(daemon));
  }, LINES_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

function summary(daemon: Daemon): string {
  const { node, content, smallestSlackSeconds: slack, conditions } = daemon.archive.status();
  const parts = [
    node.height === null ? 'node has not answered' : `height ${node.height}`,
    `${content.stored} stored (${describeBytes(content.storedBytes)})`,
    `${content.spooled} spooled`,
    `${content.seen} waiting`,
  ];
  if (slack !== null) parts.push(`slack ${describeSeconds(slack)}`);
  const worst = conditions[0];
  if (worst !== undefined) parts.push(`! ${worst.message}`);
  return parts.join(' · ');
}
