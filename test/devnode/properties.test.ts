import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toRpcHex } from '../../src/devnode/chain/double-sha256.ts';
import { decodeMerkleBlock, encodeMerkleBlock } from '../../src/devnode/chain/merkle-block.ts';
import { seededBytes } from '../../src/devnode/chain/seeded-bytes.ts';
import { parseUnits } from '../../src/devnode/rpc/asset-values.ts';
import { sortUnstably } from '../../src/devnode/rpc/list-order.ts';
import { amount, ReplyText } from '../../src/devnode/rpc/reply.ts';
import { parseWire, WireNumber } from '../../src/devnode/rpc/wire-value.ts';
import { rootOf } from './raw-block-parser.ts';

test('the sort of the list orders every input and loses nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 200 }), (numbers) => {
      expect(sortUnstably([...numbers], (a, b) => a < b)).toEqual(numbers.toSorted((a, b) => a - b));
    }),
  );
});

test('a Merkle proof of any transactions of any block gives them back in order', () => {
  const sizes = fc.integer({ min: 1, max: 70 });
  fc.assert(
    fc.property(sizes, fc.infiniteStream(fc.boolean()), (size, marks) => {
      const txids = Array.from({ length: size }, (_, index) => toRpcHex(seededBytes(`leaf ${index}`, 32)));
      const chosen = txids.filter(() => marks.next().value);
      const header = Buffer.concat([Buffer.alloc(36), Buffer.from(rootOf(txids), 'hex').reverse(), Buffer.alloc(12)]);
      const proof = encodeMerkleBlock(header, txids, new Set(chosen));
      expect(decodeMerkleBlock(proof)?.txids).toEqual(chosen);
    }),
  );
});

describe('numbers on the wire', () => {
  const places = fc.integer({ min: 0, max: 8 });
  const units = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

  test('an amount survives writing and reading to the last unit', () => {
    fc.assert(
      fc.property(units, places, (value, decimals) => {
        expect(parseUnits(amount(value, decimals), decimals)).toBe(value);
        expect(parseUnits(amount(value, decimals).source, decimals)).toBe(value);
      }),
    );
  });

  test('any JSON survives a round trip with all digits of its numbers', () => {
    const number = fc.oneof(fc.bigInt().map(String), fc.constantFrom('50.00000000', '1e400', '-0', '0.10'));
    fc.assert(
      fc.property(number, fc.string(), (digits, text) => {
        const source = `{"a":[${digits},${JSON.stringify(text)}]}`;
        const parsed = parseWire(source);
        expect(parsed).toEqual({ a: [new WireNumber(digits), text] });
        expect(Buffer.concat(ReplyText.of({ a: [new WireNumber(digits), text] })).toString()).toBe(source);
      }),
    );
  });
});
