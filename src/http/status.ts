import { z } from 'zod';
import type { Condition } from '../core/conditions/condition.ts';
import type { Clock } from '../core/time/clock.ts';
import { jsonAnswer } from './answer.ts';
import { NOTHING } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { defineRoute, type Route } from './route.ts';

export interface StatusView {
  status(): { readonly version: string; readonly conditions: readonly Condition[] };
  /** The conditions of the status. */
  conditions(): readonly Condition[];
}

/** The routes of the archive's state: for people, for supervisors, for balancers. */
export function statusRoutes(view: StatusView, clock: Pick<Clock, 'wallMs'>): Route[] {
  const startedAtMs = clock.wallMs();
  return [
    defineRoute({
      path: '/v1/status',
      says: 'State of the window, of node, chain, backends, and all conditions.',
      answers: [{ mediaType: 'application/json', schema: z.looseObject({ version: z.string() }) }],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      answer: () => jsonAnswer(view.status()),
    }),
    defineRoute({
      path: '/healthz',
      access: 'public',
      isAlwaysAnswered: true,
      says: 'Liveness: answers while the process does.',
      answers: [{ mediaType: 'application/json', schema: z.object({ alive: z.boolean(), uptimeSeconds: z.int() }) }],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      // Liveness asks no other part: a supervisor restarts what fails here, and a restart heals neither node nor disk.
      answer: () => jsonAnswer({ alive: true, uptimeSeconds: Math.floor((clock.wallMs() - startedAtMs) / 1_000) }),
    }),
    defineRoute({
      path: '/readyz',
      access: 'public',
      isAlwaysAnswered: true,
      says: 'Readiness: refused with what blocks it.',
      answers: [{ mediaType: 'application/json', schema: z.looseObject({ ready: z.boolean() }) }],
      problems: ['http/not-ready'],
      parameters: NOTHING,
      query: NOTHING,
      answer() {
        const conditions = view.conditions();
        const blocking = conditions.filter((condition) => condition.blocksReadiness);
        if (blocking.length === 0) return jsonAnswer({ ready: true, conditions: conditions.map(conditionOnWire) });
        return problemAnswer('http/not-ready', blocking.map(({ message }) => message).join(' '), {
          members: { ready: false, conditions: blocking.map(conditionOnWire) },
        });
      },
    }),
  ];
}

function conditionOnWire({ code, message, hint, since, severity }: Condition) {
  return { code, severity, message, hint, since };
}
