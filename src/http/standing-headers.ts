/** On every answer. Whatever a browser is handed, it neither guesses its type nor runs it; anyone may read it. */
export const STANDING_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Content-Range, ETag, Retry-After, X-Request-Id',
} as const;

const PREFLIGHT_SECONDS = 86_400;

/** The question of a browser before it sends anything but the simplest request. */
export function preflightHeaders(methods: string): Record<string, string> {
  return {
    allow: methods,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': 'Accept, Authorization, Content-Type, If-None-Match, If-Range, Range, X-Request-Id',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
}
