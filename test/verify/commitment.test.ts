import { describe, expect, test } from 'vitest';
import { carriedBy, committedIn, occurrencesOf, parseBlock, parseTransaction } from '../../src/verify/index.ts';
import { commitment, craftBlock, craftTransaction } from './craft.ts';

const A = Buffer.alloc(32, 0xaa);
const B = Buffer.alloc(32, 0xbb);
const SPENDABLE = Buffer.from('0014'.padEnd(44, '1'), 'hex');
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const carried = (...scripts: Uint8Array[]) => carriedBy(parseTransaction(craftTransaction({ version: 137, scripts })));

describe('commitments in a script', () => {
  test('the two recorded forms', () => {
    expect(committedIn(commitment(A))).toEqual({ hashType: 'keccak256', versionHash: A.toString('hex') });
    expect(committedIn(commitment(A, 1))).toEqual({ hashType: 'blake2s256', versionHash: A.toString('hex') });
  });

  test.each([
    ['another push opcode', `6a 4c 21 20 ${A.toString('hex')}`],
    ['a two-byte push opcode', `6a 4d 2100 20 ${A.toString('hex')}`],
    ['a witness commitment before it', `6a 24 aa21a9ed ${B.toString('hex')} 21 20 ${A.toString('hex')}`],
    ['a torn push behind it', `6a 21 20 ${A.toString('hex')} 05 00`],
  ])('%s: the node accepts it, so no blob is hidden in it', (_, script) => {
    expect(committedIn(hex(script))?.versionHash).toBe(A.toString('hex'));
  });

  test.each([
    ['nothing', ''],
    ['OP_RETURN alone', '6a'],
    ['no OP_RETURN', `21 20 ${A.toString('hex')}`],
    ['an unknown tag', `6a 22 21 02 ${A.toString('hex')}`],
    ['a wrong inner length', `6a 21 1f ${A.toString('hex')}`],
    ['31 bytes', `6a 20 1f ${A.subarray(1).toString('hex')}`],
    ['a bare digest', `6a 20 ${A.toString('hex')}`],
    ['an operation behind it', `6a 21 20 ${A.toString('hex')} 51`],
    ['a whole push behind it', `6a 21 20 ${A.toString('hex')} 01 00`],
    ['a torn push', `6a 21 20 ${A.subarray(1).toString('hex')}`],
    ['a push whose length is cut', '6a 4e 00'],
    ['a push of 4 GiB', '6a 4e ffffffff 20'],
    ['an operation that pushes no bytes', '6a 51'],
  ])('%s is none', (_, script) => expect(committedIn(hex(script))).toBeNull());
});

describe('payloads of a transaction of version 137', () => {
  test('one, at any index', () => {
    expect(carried(SPENDABLE, commitment(A))).toMatchObject({ kind: 'one', commitment: { vout: 1 } });
    expect(carried(commitment(A, 1), SPENDABLE)).toMatchObject({ kind: 'one', commitment: { vout: 0 } });
  });

  test('none is told', () => expect(carried(SPENDABLE)).toEqual({ kind: 'unclear', candidates: [], nodeTakes: null }));

  test('the node takes the first of several, and all are reported', () => {
    const found = carried(SPENDABLE, commitment(A), commitment(B));
    expect(found).toMatchObject({ kind: 'unclear', candidates: [{ vout: 1 }, { vout: 2 }], nodeTakes: { vout: 1 } });
  });

  test.each([
    ['another OP_RETURN', hex('6a 04 74657374')],
    ['a script too long to be spent', Buffer.alloc(10_001, 0x51)],
  ])('one behind %s is passed over by the node', (_, first) => {
    expect(carried(first, commitment(A))).toMatchObject({
      kind: 'unclear',
      candidates: [{ vout: 1 }],
      nodeTakes: null,
    });
  });
});

test('only transactions of version 137 count, and of unclear ones the output that the node takes', () => {
  const transactions = [
    craftTransaction({ version: 2, scripts: [commitment(A)] }),
    craftTransaction({ version: 137, scripts: [commitment(A)] }),
    craftTransaction({ version: 137, scripts: [commitment(A), commitment(B)] }),
    craftTransaction({ version: 137, scripts: [commitment(B, 1)] }),
  ];
  const { occurrences, unclear } = occurrencesOf(parseBlock(craftBlock(transactions)));
  expect(occurrences).toMatchObject([
    { transactionIndex: 1, hashType: 'keccak256', versionHash: A.toString('hex'), vout: 0 },
    { transactionIndex: 2, hashType: 'keccak256', versionHash: A.toString('hex'), vout: 0 },
    { transactionIndex: 3, hashType: 'blake2s256', versionHash: B.toString('hex'), vout: 0 },
  ]);
  expect(unclear).toMatchObject([{ transactionIndex: 2, carried: { nodeTakes: { vout: 0 } } }]);
});
