import { passedMethods } from '../config/index.ts';
import { createRawCalls } from '../node/index.ts';
import type { LiveSettings } from './live-settings.ts';

/** What the façade hands on, to the first node; `methods`: as the operator names them, null: none. */
export function openPassage(live: LiveSettings, methods: string | null) {
  const [first] = live.nodeOptions();
  if (methods === null || first === undefined) return null;
  const calls = createRawCalls(first);
  return {
    methods: new Set(passedMethods(methods)),
    call: calls.call.bind(calls),
    close: () => calls.close(),
  };
}
