import { passedMethods } from '../config/index.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import { createRawCalls } from '../node/index.ts';
import type { LiveSettings } from './live-settings.ts';

/**
 * Opens the façade's pass-through to the first node.
 * @param methods the operator's list of methods; null: none
 */
export function openPassThrough(live: LiveSettings, methods: string | null) {
  const [first] = live.nodeOptions();
  if (methods === null || first === undefined) return null;
  const calls = createRawCalls(first, SYSTEM_CLOCK);
  return {
    methods: new Set(passedMethods(methods)),
    call: calls.call.bind(calls),
    close: () => calls.close(),
  };
}
