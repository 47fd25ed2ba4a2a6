import type { Condition, Severity } from '../conditions/condition.ts';

/** The version of the documented form. A member may be added without another version; none changes its meaning. */
export const ALERT_VERSION = 1;

/** `worsened`: it is more severe than what was told, or there is more of it. `cleared`: it stands no more. */
export type AlertEvent = 'raised' | 'worsened' | 'cleared' | 'digest' | 'test';

/** Document that an alert posts: as JSON in the format `holdfast`, as text in the others. */
export interface AlertDocument {
  readonly version: typeof ALERT_VERSION;
  /** The same in every try: who receives two of one id has received one. */
  readonly id: string;
  readonly event: AlertEvent;
  /** When this was found; ISO 8601. */
  readonly at: string;
  /** null: of a test that no archive sent. */
  readonly archiver: string | null;
  /** Subject of the condition. A subject has one condition at a time. null: digest and test. */
  readonly subject: string | null;
  readonly code: string | null;
  /**
   * Severity of the condition; of a cleared one, its former severity; of a digest, the worst current one. null: nothing
   * is wrong.
   */
  readonly severity: Severity | null;
  readonly message: string;
  readonly hint: string | null;
  /** The condition of the same subject that was told before, and that this one takes the place of. */
  readonly replaces: string | null;
  /** Conditions that hold now, the most severe first. */
  readonly standing: readonly Omit<Condition, 'blocksReadiness'>[];
}

/** More conditions than these are not named one by one. */
export const MAX_STANDING = 100;

export interface AlertWords {
  /** One line of ASCII: it goes into headers as well. */
  readonly title: string;
  readonly lines: readonly string[];
}

/** The same for people. */
export function alertWords(document: AlertDocument): AlertWords {
  const { code, message, hint, replaces, at, archiver } = document;
  const lines = [message];
  if (hint !== null) lines.push(hint);
  if (replaces !== null) lines.push(`Told before: ${replaces}.`);
  if (code === null) {
    for (const { severity, message: said, code: which } of document.standing)
      lines.push(`${severity}: ${said} (${which})`);
  }
  lines.push(`${at}${archiver === null ? '' : ` · archiver ${archiver}`}`);
  return { title: asciiLine(titleOf(document)), lines };
}

function titleOf({ event, code, severity }: AlertDocument): string {
  switch (event) {
    case 'raised':
      return `Holdfast ${severity}: ${code}`;
    case 'worsened':
      return `Holdfast ${severity}, worse: ${code}`;
    case 'cleared':
      return `Holdfast cleared: ${code}`;
    case 'digest':
      return severity === null ? 'Holdfast today: everything is healthy' : `Holdfast today: ${severity}`;
    case 'test':
      return 'Holdfast test';
    default:
      return event satisfies never;
  }
}

function asciiLine(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
}
