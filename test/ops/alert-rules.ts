import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

export const RULES_FILE = fileURLToPath(new URL('../../config/prometheus/alerts.yaml', import.meta.url));

const rules = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string(),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
          annotations: z.strictObject({ summary: z.string(), runbook_url: z.string() }),
        }),
      ),
    }),
  ),
});

export const ALERTS = rules.parse(parse(readFileSync(RULES_FILE, 'utf8'))).groups.flatMap((group) => group.rules);

/** Names of families that an expression of Prometheus asks for. */
export function familiesIn(expression: string): string[] {
  return [...new Set(expression.match(/\b(?:holdfast|process|nodejs)_\w+/g) ?? [])];
}

/** A histogram is asked for by the names of its parts. */
export function familyName(name: string, known: ReadonlySet<string>): string {
  return known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
}
