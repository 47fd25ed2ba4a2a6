import { codeOf } from '../core/blob/errors.ts';
import type { FaultMeaning } from './remote-call.ts';

/** Meaning of a failure below HTTP; null when the connection was not the problem. */
export function connectionFault(cause: unknown): FaultMeaning | null {
  for (let error: unknown = cause; error instanceof Error; error = error.cause) {
    // Several addresses of one name: Node gives one error for each, all of one kind.
    const code = codeOf(error) ?? (error instanceof AggregateError ? codeOf(error.errors[0]) : null);
    const meaning = code === null ? null : (CODES[code] ?? tlsFault(code));
    if (meaning !== null) return meaning;
  }
  return null;
}

const UNREACHABLE = {
  code: 'storage/unreachable',
  retryable: true,
  hint: 'Start that server or check address, port, firewall and proxy settings; the archiver tries again by itself.',
} as const;

const CUT: FaultMeaning = { ...UNREACHABLE, says: 'closed the connection before it had answered' };
const SILENT: FaultMeaning = { ...UNREACHABLE, says: 'does not accept connections in time' };
const NO_ROUTE: FaultMeaning = { ...UNREACHABLE, says: 'cannot be reached from here' };
const UNKNOWN_NAME: FaultMeaning = {
  ...UNREACHABLE,
  says: 'has a name that does not resolve',
  hint: 'Check the spelling of the address and the DNS of this machine; with a proxy, also NO_PROXY.',
};

const CODES: Readonly<Record<string, FaultMeaning>> = {
  ECONNREFUSED: { ...UNREACHABLE, says: 'refuses connections' },
  ECONNRESET: CUT,
  EPIPE: CUT,
  UND_ERR_SOCKET: CUT,
  HPE_INVALID_CONSTANT: {
    ...UNREACHABLE,
    says: 'does not speak HTTP on that port',
    hint: 'Check the port, and whether the address should begin with https://.',
  },
  ETIMEDOUT: SILENT,
  UND_ERR_CONNECT_TIMEOUT: SILENT,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ENOTFOUND: UNKNOWN_NAME,
  EAI_AGAIN: UNKNOWN_NAME,
};

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

function tlsFault(code: string): FaultMeaning | null {
  if (UNTRUSTED.has(code)) {
    return tls(
      'has a certificate that this machine does not trust',
      'Give the certificate of its authority in NODE_EXTRA_CA_CERTS; never switch verification off.',
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return tls(
      'has a certificate for another host name',
      'Use the host name that the certificate names; for S3 in a bucket host, try path style addressing.',
    );
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return tls('has a certificate that is not valid now', 'Renew the certificate, or set the clock of this machine.');
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) {
    return tls('does not agree on TLS', 'Check whether the address should begin with http:// instead of https://.');
  }
  return null;
}

function tls(says: string, hint: string): FaultMeaning {
  return { code: 'storage/tls', says, retryable: false, hint };
}
