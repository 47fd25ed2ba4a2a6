import { expect, test } from 'vitest';
import { ConditionBoard } from '../../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { refusal } from '../../replication/memory-backend.ts';

function board() {
  const clock = { ms: 0 };
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => clock.ms);
  return { conditions, clock };
}

test('a message that several subjects share is shown once, since the first of them', () => {
  const { conditions, clock } = board();
  for (const subject of ['backend:s3', 'chain:records:s3', 'chain:evidence:s3'] as const) {
    conditions.setError(subject, refusal('s3', 'storage/no-bucket'), false);
    clock.ms += 1_000;
  }
  conditions.setError('backend:other', refusal('other', 'storage/no-bucket'), false);
  expect(conditions.all()).toMatchObject([
    { message: 'The s3 store refuses.', since: new Date(0).toISOString() },
    { message: 'The other store refuses.', since: new Date(3_000).toISOString() },
  ]);
  conditions.set('backend:s3', null);
  conditions.setError('chain:records:s3', refusal('s3', 'storage/no-bucket'), true);
  expect(conditions.all()).toMatchObject([
    { message: 'The s3 store refuses.', since: new Date(1_000).toISOString(), blocksReadiness: true },
    { message: 'The other store refuses.', blocksReadiness: false },
  ]);
});

test('beside another subject only what that one does not tell is raised', () => {
  const { conditions } = board();
  conditions.setError('backend:s3', refusal('s3', 'storage/no-bucket'), false);
  expect(conditions.setErrorBeside('withheld', refusal('s3', 'storage/timeout'), 'backend:s3')).toBe(true);
  expect(conditions.has('withheld')).toBe(true);
  expect(conditions.setErrorBeside('withheld', refusal('s3', 'storage/no-bucket'), 'backend:s3')).toBe(false);
  expect(conditions.has('withheld')).toBe(false);
});
