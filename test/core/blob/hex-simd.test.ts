import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import wabt from 'wabt';
import { HEX_SIMD_BASE64, loadHexSimd } from '../../../src/core/blob/hex-simd.ts';

test('the embedded module is the compiled WAT file', async () => {
  const { parseWat } = await wabt();
  const file = new URL('../../../src/core/blob/hex-simd.wat', import.meta.url);
  const parsed = parseWat('hex-simd.wat', await readFile(file, 'utf8'), { simd: true });
  expect(Buffer.from(parsed.toBinary({}).buffer).toString('base64')).toBe(HEX_SIMD_BASE64);
});

test('this machine supports SIMD', () => {
  expect(loadHexSimd()).not.toBeNull();
});
