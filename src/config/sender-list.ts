import { messageOf } from '../core/blob/errors.ts';
import { parseSenderScript, type SenderScript } from '../core/blob/sender.ts';
import { text } from './setting.ts';

/** Scripts of a setting: separated by spaces or commas. Throws what is wrong with one. */
export function sendersIn(value: string): readonly SenderScript[] {
  return value
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .map(parseSenderScript);
}

export const senderScripts = text
  .superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ examples: [`5120${'ab'.repeat(32)}`] });

function problemOf(value: string): string | null {
  try {
    return sendersIn(value).length === 0 ? 'must name at least one script' : null;
  } catch (error) {
    return messageOf(error);
  }
}
