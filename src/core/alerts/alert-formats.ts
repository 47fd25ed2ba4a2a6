import { type AlertDocument, alertWords } from './alert-document.ts';

/** `json`: the document itself. The others are what a service of this name reads. */
export const ALERT_FORMATS = ['json', 'slack', 'ntfy', 'email'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

export interface AlertRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Below what ntfy takes as text: of more it makes a file. */
const NTFY_BYTES = 4_096;
/** Slack cuts a text of more. */
const SLACK_CHARS = 12_000;
const NTFY_PRIORITIES = { critical: 'urgent', error: 'high', warning: 'default' } as const;
const JSON_TYPE = { 'content-type': 'application/json' };

export function formatAlert(document: AlertDocument, format: AlertFormat): AlertRequest {
  const { title, lines } = alertWords(document);
  switch (format) {
    case 'json':
      return { headers: JSON_TYPE, body: JSON.stringify(document) };
    case 'slack':
      return { headers: JSON_TYPE, body: JSON.stringify({ text: slackText(title, lines) }) };
    case 'email':
      return { headers: JSON_TYPE, body: JSON.stringify({ subject: title, text: `${lines.join('\n')}\n` }) };
    case 'ntfy':
      return { headers: ntfyHeaders(document, title), body: cutTo(lines.join('\n'), NTFY_BYTES) };
    default:
      return format satisfies never;
  }
}

/** An incoming webhook of Slack, Mattermost or Rocket.Chat. */
function slackText(title: string, lines: readonly string[]): string {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped([`*${title}*`, ...lines].join('\n')).slice(0, SLACK_CHARS);
}

function ntfyHeaders({ event, severity }: AlertDocument, title: string): Record<string, string> {
  const isOver = event === 'cleared' || severity === null;
  return {
    'content-type': 'text/plain; charset=utf-8',
    title,
    priority: isOver ? 'low' : NTFY_PRIORITIES[severity],
    tags: isOver ? 'white_check_mark' : severity === 'critical' ? 'rotating_light' : 'warning',
  };
}

/** Whole characters of it, as UTF-8 no longer than this. */
function cutTo(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  return encoded.length <= bytes
    ? text
    : encoded
        .subarray(0, bytes)
        .toString('utf8')
        .replace(/\uFFFD+$/, '');
}
