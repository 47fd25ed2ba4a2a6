import { createHmac } from 'node:crypto';

/** A secret in the form of Standard Webhooks: base64 behind this. */
const CODED_SECRET = 'whsec_';

/**
 * The headers of Standard Webhooks (standardwebhooks.com), which libraries of most languages verify: HMAC-SHA256 over id, time
 * and body. Without a secret the id and the time alone. `seconds`: when this try is made.
 */
export function signatureHeaders(
  id: string,
  seconds: number,
  body: string,
  secret: string | null,
): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds) };
  if (secret === null) return headers;
  const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`);
  return { ...headers, 'webhook-signature': `v1,${hmac.digest('base64')}` };
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(CODED_SECRET)
    ? Buffer.from(secret.slice(CODED_SECRET.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
