import { Fields } from './fields.ts';

/** One peer of the archive, by its public name. */
export interface PagePeer {
  readonly name: string;
  readonly state: 'good' | 'silent' | 'left-alone' | 'not-asked' | 'unknown';
  readonly leftAloneUntil: string | null;
  readonly gave: number;
  readonly wrongBytes: number;
  /** null: no comparison has come to its end yet, or the peer has no inventory. */
  readonly compared: {
    readonly at: string;
    /** Share of the common heights that was compared. */
    readonly extent: 'whole' | 'partial' | 'none' | 'unknown';
    readonly onlyThere: number;
    readonly onlyHere: number;
    readonly fetched: number;
    readonly notGiven: number;
    readonly contradiction: string | null;
  } | null;
  /** null: nothing was drawn yet. */
  readonly audited: {
    readonly samples: number;
    readonly good: number;
    /** Wrong answers of the peer: no answer and a take-down are neither good nor failed. */
    readonly failed: number;
  } | null;
}

/** The latest statement that the archive signed. */
export interface PageAttested {
  readonly at: string;
  readonly number: number;
  readonly from: number;
  readonly to: number;
  readonly root: string;
  readonly key: string;
  readonly counts: {
    readonly stored: number;
    readonly missing: number;
    readonly lost: number;
    readonly withheld: number;
    readonly custom: number;
    readonly 'not-archived-by-rule': number;
  };
}

/** @throws UnexpectedAnswer */
export function decodePeer(value: unknown): PagePeer {
  const peer = Fields.of(value, 'peer');
  const compared = peer.innerOrNull('compared');
  const audited = peer.innerOrNull('audited');
  return {
    name: peer.text('name'),
    state: peer.word('state', ['good', 'silent', 'left-alone', 'not-asked']),
    leftAloneUntil: peer.textOrNull('leftAloneUntil'),
    gave: peer.number('gave'),
    wrongBytes: peer.number('wrongBytes'),
    compared: compared && {
      at: compared.text('at'),
      extent: compared.word('extent', ['whole', 'partial', 'none']),
      onlyThere: compared.number('onlyThere'),
      onlyHere: compared.number('onlyHere'),
      fetched: compared.number('fetched'),
      notGiven: compared.number('notGiven'),
      contradiction: compared.textOrNull('contradiction'),
    },
    audited: audited && decodeAudited(audited),
  };
}

function decodeAudited(audited: Fields): PagePeer['audited'] {
  const outcomes = audited.inner('outcomes');
  const failed = outcomes.number('absent') + outcomes.number('wrong-bytes') + outcomes.number('no-proof');
  return { samples: audited.number('samples'), good: outcomes.number('good'), failed };
}

/** @throws UnexpectedAnswer */
export function decodeAttested(attested: Fields | null): PageAttested | null {
  if (attested === null) return null;
  const counts = attested.inner('counts');
  return {
    at: attested.text('at'),
    number: attested.number('number'),
    from: attested.number('from'),
    to: attested.number('to'),
    root: attested.text('root'),
    key: attested.text('key'),
    counts: {
      stored: counts.number('stored'),
      missing: counts.number('missing'),
      lost: counts.number('lost'),
      withheld: counts.number('withheld'),
      custom: counts.number('custom'),
      'not-archived-by-rule': counts.number('not-archived-by-rule'),
    },
  };
}
