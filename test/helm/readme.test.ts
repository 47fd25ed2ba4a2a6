import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { commandsOf, PAGES, shellBlocks } from '../docs/markdown.ts';
import { runCommand } from '../servers/command.ts';
import { goBinary } from '../servers/go-binary.ts';
import { validate } from './kubernetes-schemas.ts';
import { CHART, describeWithHelm, render } from './rendered-chart.ts';

const page = PAGES.find(({ path }) => path === 'helm/README.md') ?? { path: '', text: '' };
/** Commands on every page: the runbook has some as well. */
const ofHelm = PAGES.flatMap(shellBlocks)
  .flatMap(commandsOf)
  .filter(([helm]) => helm === 'helm');
const installs = ofHelm.filter(([, verb]) => verb === 'install');
/** Values that the release has already when the page upgrades it with --reuse-values. */
const INSTALLED = (installs[0] ?? []).slice(4);
const upgrades = ofHelm.filter(([, verb]) => verb === 'upgrade');
const shown = [...page.text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) =>
  z.record(z.string(), z.unknown()).parse(parse(text)),
);

describeWithHelm('a command about the chart', () => {
  test.each(installs.map((words) => [words]))('%s renders', async ([, , release = '', , ...words]) => {
    const args = ['template', release, CHART, '--kube-version', '1.31.0', ...words];
    expect(await runCommand(await goBinary('helm'), args)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each(upgrades.map((words) => [words]))(
    '%s renders over what was installed',
    async ([, , release = '', , ...words]) => {
      const more = words.filter((word) => word !== '--reuse-values');
      const args = ['template', release, CHART, '--kube-version', '1.31.0', ...INSTALLED, ...more];
      expect(await runCommand(await goBinary('helm'), args)).toMatchObject({ code: 0, stderr: '' });
    },
  );

  test.each(shown.map((values) => [values]))('%j renders, and Kubernetes takes it', async (values) => {
    const made = await render(values);
    for (const manifest of made) validate(manifest);
    expect(made.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Deployment', 'Ingress', 'StatefulSet']));
  });

  test('there is something of both', () => {
    expect([installs.length, upgrades.length, shown.length]).toEqual([1, 3, 1]);
    const verbs = new Set(ofHelm.map(([, verb]) => verb));
    expect([...verbs].toSorted()).toEqual(['install', 'uninstall', 'upgrade']);
  });
});
