import { countStates, type PageWindow } from './window.ts';
import { counted, duration } from './words.ts';

/** `unknown`: the page cannot tell. The page never shows it as good. */
export type Tone = 'good' | 'notice' | 'bad' | 'unknown';

export interface Verdict {
  readonly tone: Tone;
  /** The main line, for an operator. */
  readonly title: string;
  readonly detail: string;
}

/** Blocks that the chain follower may lag behind the node before the verdict is unknown. */
const LAG_BLOCKS = 2;

/** Judges a live window. It calls blobs safe only on positive evidence. */
export function judge(window: PageWindow): Verdict {
  const { status, atRisk } = window;
  const { lost, lagBlocks } = status.chain;
  const drawn = countStates(window.blocks);
  if (atRisk > 0 || (drawn.get('at-risk') ?? 0) > 0) {
    const many = Math.max(atRisk, drawn.get('at-risk') ?? 0);
    return verdict('bad', `${counted(many, 'blob is', 'blobs are')} at risk`, urgency(window));
  }
  if (!status.node.reachable) {
    return verdict('unknown', 'Cannot tell: the node does not answer', 'Holdfast does not see new blocks.');
  }
  if (window.tip === null || lagBlocks === null || lagBlocks > LAG_BLOCKS) {
    const behind =
      lagBlocks === null
        ? 'Holdfast has not followed the chain yet.'
        : `Holdfast is ${lagBlocks} blocks behind the node.`;
    return verdict('unknown', 'Cannot tell yet: Holdfast has not caught up with the chain', behind);
  }
  // A loss condition stays active for ever, and no action can save the blob. It alone does not make the verdict bad.
  const [worst] = status.conditions.filter(({ severity, code }) => severity === 'critical' && code !== 'chain/lost');
  if (worst !== undefined) return verdict('bad', worst.message, worst.hint);
  const blocking = status.conditions.filter(({ blocksReadiness }) => blocksReadiness);
  if (blocking.length > 0) {
    return verdict('bad', 'The archive is not ready', blocking.map(({ message }) => message).join(' '));
  }
  if (drawn.has('unknown')) {
    return verdict('unknown', 'Cannot tell: this page is older than the archive', 'Reload the page to see all states.');
  }
  const losses = lost > 0 ? `${counted(lost, 'blob was', 'blobs were')} lost in the past. ` : '';
  const waiting = drawn.get('seen') ?? 0;
  const detail = `${losses}${held(window)}`;
  if (status.conditions.length > 0) {
    return verdict('notice', `Nothing is at risk; ${counted(status.conditions.length, 'thing')} to look at`, detail);
  }
  if (waiting > 0)
    return verdict('good', `Nothing is at risk; ${counted(waiting, 'blob')} on the way`, urgency(window));
  return verdict(lost > 0 ? 'notice' : 'good', 'Nothing is at risk', detail);
}

function held(window: PageWindow): string {
  const states = countStates(window.blocks);
  const stored = (states.get('final') ?? 0) + (states.get('stored') ?? 0);
  const spooled = states.get('spooled') ?? 0;
  if (stored + spooled === 0) return 'The window has no blob.';
  const alone = spooled === 0 ? '' : `, ${spooled} durable here and not on enough backends yet`;
  return `Of the window, ${counted(stored, 'blob is', 'blobs are')} stored${alone}.`;
}

function urgency({ status }: PageWindow): string {
  const { smallestSlackSeconds } = status;
  if (smallestSlackSeconds === null) return '';
  if (smallestSlackSeconds <= 0) return 'The node may have pruned the most urgent missing blob already.';
  return `The node may prune the most urgent missing blob in ${duration(smallestSlackSeconds)}, by the chain’s clock.`;
}

function verdict(tone: Tone, title: string, detail: string): Verdict {
  return { tone, title, detail };
}
