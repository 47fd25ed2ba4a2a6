import { Fields } from './fields.ts';
import { decodeAttested, decodePeer, type PageAttested, type PagePeer } from './peers.ts';

export interface PageCondition {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly since: string;
  readonly severity: 'critical' | 'error' | 'warning' | 'unknown';
  readonly blocksReadiness: boolean;
}

export interface BackendState {
  readonly id: string;
  readonly state: 'good' | 'not-admitted' | 'left-alone' | 'unknown';
  readonly queued: number;
}

/** The fields of `/v1/status` that the page shows. */
export interface PageStatus {
  readonly version: string;
  readonly emulated: boolean;
  readonly node: {
    readonly name: string;
    readonly reachable: boolean;
    readonly height: number | null;
    readonly lastAnswerAt: string | null;
    /** Calls to the node since the archive started. */
    readonly calls: number;
  };
  readonly chain: {
    readonly startHeight: number | null;
    readonly height: number | null;
    readonly lagBlocks: number | null;
    readonly finality: string;
    readonly finalHeight: number | null;
    readonly lost: number;
  };
  readonly content: {
    readonly seen: number;
    readonly spooled: number;
    readonly stored: number;
    readonly storedBytes: number;
    readonly failing: number;
  };
  /** The operator's rule of what is archived; `says` null: everything is. */
  readonly archiveRule: { readonly says: string | null; readonly notArchived: number; readonly since: string | null };
  readonly backends: readonly BackendState[];
  readonly peers: readonly PagePeer[];
  /** null: the archive has signed no statement yet. */
  readonly attested: PageAttested | null;
  readonly smallestSlackSeconds: number | null;
  readonly conditions: readonly PageCondition[];
}

/** @throws UnexpectedAnswer */
export function decodeStatus(status: Fields): PageStatus {
  const node = status.inner('node');
  const chain = status.inner('chain');
  const content = status.inner('content');
  const rule = status.inner('archiveRule');
  return {
    version: status.text('version'),
    emulated: status.flag('emulated'),
    node: {
      name: node.text('name'),
      reachable: node.flag('reachable'),
      height: node.numberOrNull('height'),
      lastAnswerAt: node.textOrNull('lastAnswerAt'),
      calls: node
        .inner('calls')
        .numbers()
        .reduce((sum, calls) => sum + calls, 0),
    },
    chain: {
      startHeight: chain.numberOrNull('startHeight'),
      height: chain.numberOrNull('height'),
      lagBlocks: chain.numberOrNull('lagBlocks'),
      finality: chain.text('finality'),
      finalHeight: chain.numberOrNull('finalHeight'),
      lost: chain.number('lost'),
    },
    content: {
      seen: content.number('seen'),
      spooled: content.number('spooled'),
      stored: content.number('stored'),
      storedBytes: content.number('storedBytes'),
      failing: content.number('failing'),
    },
    archiveRule: {
      says: rule.textOrNull('says'),
      notArchived: rule.number('notArchived'),
      since: rule.textOrNull('since'),
    },
    backends: status.list('backends', (value) => {
      const backend = Fields.of(value, 'backend');
      return {
        id: backend.text('id'),
        state: backend.word('state', ['good', 'not-admitted', 'left-alone']),
        queued: backend.number('queued'),
      };
    }),
    peers: status.list('peers', decodePeer),
    attested: decodeAttested(status.innerOrNull('attested')),
    smallestSlackSeconds: status.numberOrNull('smallestSlackSeconds'),
    conditions: decodeConditions(status),
  };
}

/** Decodes the conditions, which the status of a stateless reader has as well. */
export function decodeConditions(status: Fields): PageCondition[] {
  return status.list('conditions', (value) => {
    const condition = Fields.of(value, 'condition');
    return {
      code: condition.text('code'),
      message: condition.text('message'),
      hint: condition.text('hint'),
      since: condition.text('since'),
      severity: condition.word('severity', ['critical', 'error', 'warning']),
      blocksReadiness: condition.flag('blocksReadiness'),
    };
  });
}
