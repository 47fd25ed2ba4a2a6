import type { Command } from 'commander';
import type { CliContext, ExitCode } from './cli-context.ts';
import type { VerbOptions } from './verb-options.ts';

/** Exports of a verb's file. */
export interface Verb {
  /** Adds the verb's own options and arguments. */
  define(command: Command): Command;
  handle(options: VerbOptions, context: CliContext, args: readonly string[]): Promise<ExitCode>;
}

export interface ListedVerb {
  readonly name: string;
  readonly says: string;
  /** Whether its help lists every setting; the help of any other verb names the list. */
  readonly listsSettings?: boolean;
  /** A verb is loaded when it is typed: the daemon alone is some thousand files, which `--help` does not need. */
  readonly load: () => Promise<Verb>;
}

/** Every command, in the order of `holdfast --help`. */
export const VERBS: readonly ListedVerb[] = [
  {
    name: 'run',
    says: 'Archive every blob that the node publishes, until stopped.',
    load: () => import('./verbs/run.ts'),
  },
  {
    name: 'init',
    says: 'Ask node and backends whether they answer, and write a configuration file with a comment for every setting.',
    load: () => import('./verbs/init.ts'),
  },
  {
    name: 'serve',
    says: 'Answer bytes and proofs out of S3 and IPFS, without a catalog: any number of these, anywhere.',
    load: () => import('./verbs/serve.ts'),
  },
  {
    name: 'backfill',
    says: 'Fetch what is on chain and not stored, from the node, peers, buckets and folders.',
    load: () => import('./verbs/backfill.ts'),
  },
  {
    name: 'export',
    says: 'Write the blobs and records of a range of final blocks into one file, a bundle.',
    load: () => import('./verbs/export.ts'),
  },
  {
    name: 'import',
    says: 'Take blobs from files, folders, tarballs and bundles: verified, placed, and stored.',
    load: () => import('./verbs/import.ts'),
  },
  {
    name: 'get',
    says: 'Fetch a blob from the archive, verify it, and write it to a file.',
    load: () => import('./verbs/get.ts'),
  },
  {
    name: 'status',
    says: 'Say whether anything is at risk, what the running daemon holds where, and what is wrong.',
    load: () => import('./verbs/status.ts'),
  },
  {
    name: 'submit',
    says: 'Submit a file as a blob to the node, and wait until the node lists it.',
    load: () => import('./verbs/submit.ts'),
  },
  {
    name: 'verify',
    says: 'Check a file against a version hash or an occurrence record, or an attestation: offline, without any archive.',
    load: () => import('./verbs/verify.ts'),
  },
  {
    name: 'check',
    says: 'Compare every backend with the catalog, and the catalog with every backend.',
    load: () => import('./verbs/check.ts'),
  },
  {
    name: 'audit',
    says: 'Draw blobs from your own chain, ask an archive for them, and say how much of it it holds.',
    load: () => import('./verbs/audit.ts'),
  },
  {
    name: 'attest',
    says: 'State what is held of what is final, signed, for peers and auditors.',
    load: () => import('./verbs/attest.ts'),
  },
  {
    name: 'rebuild',
    says: 'Make the catalog again from the data folder and the backends.',
    load: () => import('./verbs/rebuild.ts'),
  },
  {
    name: 'withhold',
    says: 'Take a blob down: it is served, fetched and replicated no more, until this is revoked.',
    load: () => import('./verbs/withhold.ts'),
  },
  {
    name: 'alert',
    says: 'Post a test to the receiver of alerts (HOLDFAST_ALERT_URL).',
    load: () => import('./verbs/alert.ts'),
  },
  {
    name: 'rpc',
    says: 'Call one operation of the node, spelled as its release wants it.',
    load: () => import('./verbs/rpc.ts'),
  },
  {
    name: 'devnode',
    says: 'Run an emulated node on a socket, for tests and try-outs. Nothing of its chain is real.',
    load: () => import('./verbs/devnode.ts'),
  },
  {
    name: 'config',
    says: 'Show the effective configuration, secrets masked, and where each value comes from.',
    listsSettings: true,
    load: () => import('./verbs/config.ts'),
  },
];
