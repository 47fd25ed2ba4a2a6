import fc from 'fast-check';
import { expect, test } from 'vitest';
import { prefersRawBytes } from '../../src/http/media-preference.ts';

test.each([
  ['application/octet-stream', true],
  ['Application/Octet-Stream', true],
  ['application/octet-stream;q=0.5', true],
  ['application/octet-stream, */*', true],
  ['text/plain;q=0.4, application/octet-stream; q=0.5', true],
  ['text/plain, application/octet-stream;q=0.5', false],
  ['application/octet-stream;q=0', false],
  ['*/*', false],
  ['application/*', false],
  ['', false],
  [undefined, false],
])('Accept: %s', (accept, raw) => {
  expect(prefersRawBytes(accept)).toBe(raw);
});

test('any header is answered', () => {
  fc.assert(fc.property(fc.string(), (accept) => typeof prefersRawBytes(accept) === 'boolean'));
});
