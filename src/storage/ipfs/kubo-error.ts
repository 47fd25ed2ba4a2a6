import { z } from 'zod';
import { codeOf } from '../../core/blob/errors.ts';
import { connectionFault } from '../connection-fault.ts';
import type { FaultMeaning } from '../remote-call.ts';

/** An error that Kubo answered to a request. */
export class KuboRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An answer that no Kubo gives. */
export class NotKuboAnswer extends Error {}

function refusalOf(cause: unknown): KuboRefusal | null {
  return cause instanceof KuboRefusal ? cause : null;
}

/**
 * Kubo's positive "I have not got this block", offline. It has the status 500 as everything has; only the words tell:
 * boxo blockservice ErrNotFound, ipld.ErrNotFound.
 */
export function saysAbsent(cause: unknown): boolean {
  const refusal = refusalOf(cause);
  return refusal?.status === 500 && /could not find b|not found locally \(offline\)/.test(refusal.message);
}

/** core/commands/pin: `path '…' is not pinned`; boxo pinning: `not pinned or pinned indirectly`. */
export function saysNotPinned(cause: unknown): boolean {
  const refusal = refusalOf(cause);
  return refusal?.status === 500 && /is not pinned|not pinned or pinned/.test(refusal.message);
}

/** With `Datastore.HashOnRead` Kubo looks at what it hands out (boxo blockstore ErrHashMismatch). */
export function saysDamaged(cause: unknown): boolean {
  return refusalOf(cause)?.message.includes('block in storage has different hash than requested') ?? false;
}

export function explainKubo(cause: unknown): FaultMeaning {
  if (cause instanceof NotKuboAnswer || cause instanceof SyntaxError || cause instanceof z.ZodError) return NOT_KUBO;
  const refusal = refusalOf(cause);
  if (refusal !== null) return byWords(refusal.message) ?? byStatus(refusal.status);
  const code = codeOf(cause);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return SILENT;
  const cut = cause instanceof TypeError && cause.message === 'terminated';
  return connectionFault(cause) ?? (cut ? CUT : FAILED);
}

function byWords(message: string): FaultMeaning | null {
  if (/block is over 1 ?MiB|unrecognized multihash function/i.test(message)) return TOO_OLD;
  if (/no space left|disk quota|storage limit|ENOSPC/i.test(message)) return FULL;
  if (/read-only file system|permission denied/i.test(message)) return READ_ONLY;
  if (/context deadline exceeded|request timed out/.test(message)) return SILENT;
  return null;
}

function byStatus(status: number): FaultMeaning {
  if (status === 401) return CREDENTIALS;
  if (status === 403) return DENIED;
  if (status === 429 || status === 503) return BUSY;
  if (status >= 500) return FAILED;
  return NOT_KUBO;
}

const NOT_KUBO: FaultMeaning = {
  code: 'storage/not-kubo',
  says: "does not answer as Kubo's RPC API does",
  retryable: false,
  hint: 'Give the address of the API (Addresses.API, port 5001 as it comes), not of the gateway (8080).',
};
const TOO_OLD: FaultMeaning = {
  code: 'storage/too-old-server',
  says: 'is too old: it does not take blocks of 2 MiB under this hash',
  retryable: false,
  hint: 'Update Kubo; 0.42 is known to work.',
};
const FULL: FaultMeaning = {
  code: 'storage/full',
  says: 'has no space left',
  retryable: true,
  hint: 'Give the repository of that Kubo more space; the archiver goes on by itself once there is room.',
};
const READ_ONLY: FaultMeaning = {
  code: 'storage/read-only',
  says: 'cannot write its repository',
  retryable: false,
  hint: 'Mount IPFS_PATH of that Kubo writable for the user that runs it.',
};
const SILENT: FaultMeaning = {
  code: 'storage/timeout',
  says: 'stopped answering',
  retryable: true,
  hint: 'Look at the load and the network of that Kubo; the archiver tries again with growing pauses.',
};
const CUT: FaultMeaning = {
  code: 'storage/truncated',
  says: 'cut its answer short',
  retryable: true,
  hint: 'Look at the log of that Kubo and at proxies between; the archiver asks again.',
};
const CREDENTIALS: FaultMeaning = {
  code: 'storage/bad-credentials',
  says: 'does not accept the credentials',
  retryable: false,
  hint: 'Give user and password in the address, or the token that API.Authorizations of that Kubo names.',
};
const DENIED: FaultMeaning = {
  code: 'storage/denied',
  says: 'does not permit it',
  retryable: false,
  hint: 'Allow block, pin, version, config and diag in API.Authorizations of that Kubo, and this host in its firewall.',
};
const BUSY: FaultMeaning = {
  code: 'storage/busy',
  says: 'asks for fewer requests',
  retryable: true,
  hint: 'Lower the concurrency of this backend if it lasts; the archiver tries again with growing pauses.',
};
const FAILED: FaultMeaning = {
  code: 'storage/fault',
  says: 'failed',
  retryable: true,
  hint: 'Look at the log of that Kubo; the archiver tries again with growing pauses.',
};
