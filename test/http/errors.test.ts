import { expect, test } from 'vitest';
import { listenError } from '../../src/http/errors.ts';

test.each([
  ['EADDRINUSE', 'http/port-in-use'],
  ['EACCES', 'http/permission-denied'],
  ['EADDRNOTAVAIL', 'http/bad-host'],
  ['ENOTFOUND', 'http/bad-host'],
  ['ERR_SOCKET_BAD_PORT', 'http/bad-port'],
  ['ESOMETHING', 'http/listen-failed'],
])('%s is told as %s, with what to do', (systemCode, code) => {
  const cause = Object.assign(new Error('listen failed'), { code: systemCode });
  const error = listenError('127.0.0.1', 80, cause);
  expect(error).toMatchObject({ code, cause, details: { host: '127.0.0.1', port: 80, systemCode } });
  expect(error.message).toMatch(/^Cannot listen on 127\.0\.0\.1 port 80: .+\.$/);
  expect(error.hint).toContain('HOLDFAST_HTTP_');
});
