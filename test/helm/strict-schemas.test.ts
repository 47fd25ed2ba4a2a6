import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { describeWithPip, FETCH_MS, pythonPackage } from '../servers/python-package.ts';
import { describeWithHelm, type Manifest, render } from './rendered-chart.ts';
import { MATRIX, MINIMAL } from './values-of-tests.ts';

/** The schemas of Kubernetes itself, oldest and newest that the chart is for, that know no field besides theirs: one that is misspelt is ignored by a cluster. */
const RELEASES = ['v1.31.0', 'v1.36.0'];
const schema = z.record(z.string(), z.unknown());

const describeWithBoth = (name: string, suite: () => void) =>
  describeWithHelm(name, () => describeWithPip('(strict)', suite));

describeWithBoth('to the letter of Kubernetes', () => {
  let folder: string;
  beforeAll(async () => {
    folder = join(await pythonPackage('kubernetes-schemas'), 'kubernetes_validate/kubernetes-json-schema');
  }, FETCH_MS);

  /** Lists what a release refuses in an object; null for kinds that are not its own. */
  function complaints(release: string) {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    const read = (name: string) =>
      schema.parse(JSON.parse(readFileSync(join(folder, `${release}-local-strict`, name), 'utf8')));
    ajv.addSchema(read('_definitions.json'), '_definitions.json');
    return ({ kind, apiVersion, ...rest }: Manifest): string[] => {
      const parts = apiVersion.split('/').map((part) => part.split('.')[0]);
      const name = `${[kind, ...parts].join('-').toLowerCase()}.json`;
      const check = ajv.getSchema(name) ?? ajv.addSchema(read(name), name).getSchema(name);
      if (check?.({ kind, apiVersion, ...rest }) === true) return [];
      return (check?.errors ?? []).map(
        (error) => `${kind} ${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`,
      );
    };
  }
  const ofKubernetes = ({ apiVersion }: Manifest) => !apiVersion.startsWith('monitoring.coreos.com/');

  test.each(RELEASES)('%s knows every field that the chart makes', async (release) => {
    const against = complaints(release);
    for (const values of Object.values(MATRIX)) {
      const made = (await render(values)).filter(ofKubernetes);
      expect(made.flatMap(against)).toEqual([]);
    }
  });

  test('a field that is misspelt would be found', async () => {
    const [set] = (await render(MINIMAL)).filter(({ kind }) => kind === 'StatefulSet');
    const spec = { ...schema.parse(set?.['spec']), replica: 1 };
    expect(
      complaints('v1.31.0')({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'a', labels: {} }, spec }),
    ).toEqual([expect.stringContaining('"replica"')]);
  });
});
