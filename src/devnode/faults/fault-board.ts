import type { RpcCall } from '../rpc/envelope.ts';
import { isWireArray, isWireObject, parseWire, type WireValue } from '../rpc/wire-value.ts';
import { type AnswerFault, type Fault, FaultRule, isTransportFault, type TransportFault } from './fault.ts';

/** One active rule. */
export interface FaultHandle {
  /** Calls that the rule has changed so far. */
  readonly hits: number;
  remove(): void;
}

interface Active {
  readonly rule: FaultRule;
  readonly fault: Fault;
  matched: number;
  hits: number;
}

/** Injects faults: rules are added and removed while the node runs. */
export class FaultBoard {
  readonly #active = new Set<Active>();

  /**
   * Adds a rule.
   * @throws ZodError for a malformed rule
   */
  add(rule: FaultRule): FaultHandle {
    const active: Active = { rule, fault: FaultRule.parse(rule).fault, matched: 0, hits: 0 };
    this.#active.add(active);
    const board = this.#active;
    return {
      get hits() {
        return active.hits;
      },
      remove: () => void board.delete(active),
    };
  }

  clear(): void {
    this.#active.clear();
  }

  /** Counts a request against the connection rules and returns the faults that hit it. */
  takeTransport(body: string): TransportFault[] {
    const candidates = [...this.#active].filter(({ fault }) => isTransportFault(fault));
    if (candidates.length === 0) return [];
    const { calls, isBatch } = callsIn(body);
    const concerns = ({ fault, rule }: Active) =>
      (isBatch || fault.kind !== 'no-batches') && calls.some((call) => matches(rule, call));
    const hit = candidates.filter((active) => concerns(active) && take(active));
    return hit.map(({ fault }) => fault).filter(isTransportFault);
  }

  /** Counts a call against the answer rules and returns the faults that hit it, with their earlier hits. */
  takeAnswer(call: RpcCall): { fault: AnswerFault; hit: number }[] {
    const found: { fault: AnswerFault; hit: number }[] = [];
    for (const active of this.#active) {
      const { fault } = active;
      if (!isTransportFault(fault) && matches(active.rule, call) && take(active))
        found.push({ fault, hit: active.hits });
    }
    return found;
  }
}

function take(active: Active): boolean {
  const { after = 0, times = Number.POSITIVE_INFINITY } = active.rule;
  active.matched += 1;
  if (active.matched <= after || active.hits >= times) return false;
  active.hits += 1;
  return true;
}

function matches({ methods, hash }: FaultRule, { method, params }: RpcCall): boolean {
  if (methods !== undefined && !methods.includes(method)) return false;
  if (hash === undefined) return true;
  const values = isWireArray(params) ? params : Object.values(params);
  return values.some((value) => typeof value === 'string' && value.toLowerCase() === hash.toLowerCase());
}

/** The calls of a request. An unreadable request is one call without a method. */
function callsIn(body: string): { readonly calls: RpcCall[]; readonly isBatch: boolean } {
  let request: WireValue;
  try {
    request = parseWire(body);
  } catch {
    request = null;
  }
  return isWireArray(request)
    ? { calls: request.map(callIn), isBatch: true }
    : { calls: [callIn(request)], isBatch: false };
}

function callIn(single: WireValue): RpcCall {
  const { method, params } = isWireObject(single) ? single : {};
  const readable = params !== undefined && (isWireArray(params) || isWireObject(params));
  return { method: typeof method === 'string' ? method : '', params: readable ? params : [] };
}
