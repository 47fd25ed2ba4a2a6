import { z } from 'zod';
import { LOG_LEVELS } from '../../core/observability/log-levels.ts';
import { jsonAnswer } from '../answer.ts';
import { NOTHING } from '../parameters.ts';
import { defineDeleteRoute, definePutRoute, defineRoute, type Route } from '../route.ts';
import type { AdminView } from './admin-view.ts';

const LEVEL = z.strictObject({ level: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`) });
const DRAIN = z.object({
  isDraining: z.boolean(),
  since: z.string().nullable(),
  isDone: z.boolean(),
  fetching: z.boolean(),
  runningJobs: z.int(),
  queued: z.record(z.string(), z.int()),
});
const MAX_BYTES = 1_024;
const plain = { access: 'admin' as const, parameters: NOTHING, query: NOTHING };

/** The level of the log, until the process ends. */
export function levelRoutes(levels: NonNullable<AdminView['levels']>): Route[] {
  const level = { answers: [{ mediaType: 'application/json', schema: LEVEL }], problems: [] };
  return [
    defineRoute({
      ...plain,
      ...level,
      path: '/admin/log-level',
      says: 'The least level that is logged.',
      answer: () => jsonAnswer({ level: levels.level }),
    }),
    definePutRoute({
      ...plain,
      ...level,
      path: '/admin/log-level',
      says: 'Sets the least level that is logged, until the process ends.',
      body: LEVEL,
      maxBytes: MAX_BYTES,
      answer({ body }) {
        levels.set(body.level);
        return jsonAnswer({ level: levels.level });
      },
    }),
  ];
}

/** Whether new work is taken, until the process ends. */
export function drainRoutes(drain: AdminView['drain']): Route[] {
  const draining = { answers: [{ mediaType: 'application/json', schema: DRAIN }], problems: [] };
  return [
    defineRoute({
      ...plain,
      ...draining,
      path: '/admin/drain',
      says: 'Whether it is being drained, and what is still under way.',
      answer: () => jsonAnswer(drain.status),
    }),
    definePutRoute({
      ...plain,
      ...draining,
      path: '/admin/drain',
      says: 'Takes no new work, and finishes what there is; readiness is refused meanwhile.',
      body: z.strictObject({}),
      maxBytes: MAX_BYTES,
      answer() {
        drain.begin();
        return jsonAnswer(drain.status);
      },
    }),
    defineDeleteRoute({
      ...plain,
      ...draining,
      path: '/admin/drain',
      says: 'Takes work again.',
      answer() {
        drain.end();
        return jsonAnswer(drain.status);
      },
    }),
  ];
}
