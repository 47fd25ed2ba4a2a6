import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ALERTS, familiesIn, familyName } from './alert-rules.ts';
import { declaredFamilies } from './metrics-table.ts';

const FILE = fileURLToPath(new URL('../../config/grafana/holdfast.json', import.meta.url));
const dashboard = z.looseObject({
  panels: z.array(
    z.looseObject({
      id: z.int(),
      title: z.string().min(1),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.looseObject({ expr: z.string().min(1), legendFormat: z.string() })).min(1),
    }),
  ),
});
const { panels } = dashboard.parse(JSON.parse(readFileSync(FILE, 'utf8')));
const families = new Map(declaredFamilies().map((family) => [family.name, family]));
const known = new Set(families.keys());

test('the dashboard asks for nothing that is not in the table of metrics', () => {
  const asked = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => familiesIn(expr)));
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((name) => !known.has(familyName(name, known)))).toEqual([]);
});

test('legends name labels that the families have', () => {
  const wrong = panels.flatMap(({ title, targets }) =>
    targets.flatMap(({ expr, legendFormat }) => {
      const labels = familiesIn(expr).flatMap((name) => families.get(familyName(name, known))?.labels ?? []);
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      return named.filter((label) => !labels.includes(label)).map((label) => `${title}: ${label}`);
    }),
  );
  expect(wrong).toEqual([]);
});

test('every family that an alert is about is on it', () => {
  const shown = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => familiesIn(expr)));
  // Families that say that there is a scrape at all, or are the other half of a share, stand aside.
  const aside = ['holdfast_build_info', 'holdfast_disk_size_bytes', 'holdfast_scrape_faults_total'];
  const about = ALERTS.flatMap(({ expr }) => familiesIn(expr)).filter((name) => !aside.includes(name));
  expect(about.filter((name) => !shown.includes(name))).toEqual([]);
});

test('no two panels lie on each other', () => {
  const places = panels.map(({ gridPos: { x, y } }) => `${x}/${y}`);
  expect(new Set(places).size).toBe(panels.length);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});
