import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { commandsOf, PAGES, shellBlocks } from '../docs/markdown.ts';
import { describeWithGo } from '../servers/availability.ts';
import { runCommand } from '../servers/command.ts';
import { goBinary } from '../servers/go-binary.ts';
import { validate } from './kubernetes-schemas.ts';
import { CHART, render } from './rendered-chart.ts';

const page = PAGES.find(({ path }) => path === 'helm/README.md') ?? { path: '', text: '' };
const installs = shellBlocks(page)
  .flatMap(commandsOf)
  .filter(([helm, verb]) => helm === 'helm' && verb === 'install');
const shown = [...page.text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) =>
  z.record(z.string(), z.unknown()).parse(parse(text)),
);

describeWithGo('what the page about the chart shows', () => {
  test.each(installs.map((words) => [words]))('%s renders', async ([, , release = '', , ...words]) => {
    const args = ['template', release, CHART, '--kube-version', '1.31.0', ...words];
    expect(await runCommand(await goBinary('helm'), args)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each(shown.map((values) => [values]))('%j renders, and Kubernetes takes it', async (values) => {
    const made = await render(values);
    for (const manifest of made) validate(manifest);
    expect(made.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Deployment', 'Ingress', 'StatefulSet']));
  });

  test('there is something of both', () => {
    expect([installs.length, shown.length]).toEqual([1, 1]);
  });
});
