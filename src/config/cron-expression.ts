import { text } from './setting.ts';

/** Five cron fields: minute, hour, day of the month, month, day of the week. The scheduler checks their ranges. */
export const cronExpression = text.regex(
  /^\s*(?:[\d*,/-]+\s+){2}(?:[\d*,/-]+\s+)(?:[\dA-Za-z*,/-]+\s+)[\dA-Za-z*,/-]+\s*$/,
  'must be five cron fields, like 17 3 * * *',
);
