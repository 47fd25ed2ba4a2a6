import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RPC_OPERATIONS } from '../../src/cli/rpc/rpc-operations.ts';

const text = readFileSync(new URL('../../src/node/README.md', import.meta.url), 'utf8');
const shown = [...text.matchAll(/^holdfast rpc (\S+)/gm)].map(([, name = '']) => name);
const SPECIFIED = [
  'svccreatenevmblob',
  'svccreaterawnevmblob',
  'listnevmblobdata',
  'getnevmblobdata',
  'assetinfo',
  'assetallocationbalance',
  'assetallocationsend',
  'assetallocationsendmany',
];

test('the documentation shows each specified operation on the command line', () => {
  expect(shown).toEqual(SPECIFIED);
});

test('each that it shows is there', () => {
  const names = RPC_OPERATIONS.flatMap((operation) => operation.names);
  expect(shown.filter((name) => !names.includes(name))).toEqual([]);
});
