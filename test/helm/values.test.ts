import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { CHART, describeWithHelm, refusal } from './rendered-chart.ts';
import { MINIMAL } from './values-of-tests.ts';
import { VALUES_SCHEMA } from './values-schema.ts';

interface Documented {
  readonly path: string;
  readonly says: string | null;
  readonly fallback: string;
}

const document = parseDocument(readFileSync(`${CHART}/values.yaml`, 'utf8'));

/** The sentence before a value that begins with two dashes; a map without one is a group of values. */
function documented(map: YAMLMap, above: readonly string[] = []): Documented[] {
  return map.items.flatMap((pair: Pair) => {
    const key = isScalar(pair.key) ? pair.key : null;
    const path = [...above, String(key?.value)];
    const comment = key?.commentBefore ?? (pair === map.items[0] ? (map.commentBefore ?? '') : '');
    const says = /^ -- (.*)$/m.exec(comment)?.[1] ?? null;
    if (says === null && isMap(pair.value)) return documented(pair.value, path);
    const fallback = JSON.stringify(document.getIn(path, false) ?? null);
    return [
      { path: path.join('.'), says, fallback: isMap(pair.value) ? JSON.stringify(pair.value.toJSON()) : fallback },
    ];
  });
}

const all = isMap(document.contents) ? documented(document.contents) : [];
const cell = (text: string) => text.replaceAll('|', '\\|');

describe('the values of the chart', () => {
  test('each is documented', () => {
    expect(all.length).toBeGreaterThan(50);
    expect(all.filter(({ says }) => says === null).map(({ path }) => path)).toEqual([]);
  });

  test('the table is up to date (vitest -u writes it)', async () => {
    const rows = all.map(({ path, says, fallback }) => `| \`${path}\` | ${cell(says ?? '')} | \`${fallback}\` |`);
    const table = [
      '# Values',
      '',
      'Made from `values.yaml`.',
      '',
      '| value | what it is | default |',
      '|---|---|---|',
      ...rows,
    ];
    await expect(`${table.join('\n')}\n`).toMatchFileSnapshot('../../helm/VALUES.md');
  });

  test('the schema of the values is that of the settings (vitest -u writes it)', async () => {
    await expect(`${JSON.stringify(VALUES_SCHEMA, null, 2)}\n`).toMatchFileSnapshot('../../helm/values.schema.json');
  });
});

const config = (more: object) => ({ config: { ...MINIMAL.config, ...more } });

/** Everywhere where a password could be written that then stands in a ConfigMap or a pod; and where it belongs. */
const EXPOSED: readonly (readonly [name: string, values: object, place: RegExp, belongs: string | null])[] = [
  ['node.url', config({ node: { url: 'http://me:hunter2@node:8370' } }), /node.*url/s, 'HOLDFAST_NODE_URL'],
  ['one of two nodes', config({ node: { url: 'http://a, http://hunter2@b' } }), /node.*url/s, 'HOLDFAST_NODE_URL'],
  ['node.url without its scheme', config({ node: { url: 'me:hunter2@node' } }), /node.*url/s, 'HOLDFAST_NODE_URL'],
  ['a query of node.url', config({ node: { url: 'http://node?key=hunter2' } }), /node.*url/s, 'HOLDFAST_NODE_URL'],
  ['ipfs.apiUrl', config({ ipfs: { apiUrl: 'http://me:hunter2@kubo' } }), /ipfs.*apiUrl/s, 'HOLDFAST_IPFS_API_URL'],
  [
    's3.endpoint',
    config({ s3: { endpoint: 'http://me:hunter2@minio' } }),
    /s3.*endpoint/s,
    'HOLDFAST_S3_SECRET_ACCESS_KEY',
  ],
  [
    'the secret of one more bucket',
    config({ backends: [{ kind: 's3', id: 'a', bucket: 'b', secretAccessKey: 'hunter2' }] }),
    /backends/,
    'secretAccessKeyFile',
  ],
  [
    'the address of one more Kubo',
    config({ backends: [{ kind: 'ipfs', id: 'a', apiUrl: 'http://me:hunter2@kubo' }] }),
    /backends/,
    'apiUrlFile',
  ],
  ['a peer', config({ peers: 'https://a.example https://me:hunter2@b.example' }), /peers/, 'HOLDFAST_PEERS'],
  ['a peer of a list', config({ peers: [{ source: 'https://me:hunter2@b.example' }] }), /peers/, 'tokenFile'],
  ['the token of a peer', config({ peers: [{ source: 'https://b.example', token: 'hunter2' }] }), /peers/, 'tokenFile'],
  [
    'a proxy',
    { ...MINIMAL, environment: [{ name: 'HTTPS_PROXY', value: 'http://me:hunter2@proxy' }] },
    /environment/,
    null,
  ],
  [
    'a source of the backfill',
    { ...config({ s3: { bucket: 'b' } }), backfill: { arguments: ['--source', 'peer=https://me:hunter2@peer'] } },
    /backfill/,
    null,
  ],
];

describeWithHelm('a password in a plain value of the chart', () => {
  test.each(EXPOSED)('%s: the schema refuses it without repeating it', async (_name, values, place, belongs) => {
    const said = await refusal({ ...values });
    expect(said).toMatch(place);
    expect(said).toContain('values don');
    if (belongs !== null) expect(said).toContain(belongs);
    expect(said).not.toContain('hunter2');
  });

  test.each(EXPOSED)('%s: the template names the Secret without the schema, too', async (_name, values, place) => {
    const said = await refusal({ ...values }, ['--skip-schema-validation']);
    expect(said).toMatch(place);
    expect(said).toContain('put it into a Secret');
    expect(said).not.toContain('hunter2');
  });
});

describeWithHelm('a wrong value in the chart', () => {
  test.each([
    ['a setting that is not there', config({ http: { prot: 1 } }), /config.*http.*prot/s],
    ['a setting that the chart sets itself', config({ dataDir: '/elsewhere' }), /config.*dataDir/s],
    ['a secret among the settings', config({ node: { url: 'http://a', password: 'hunter2' } }), /node.*password/s],
    ['a word that is none of the choice', config({ local: { mode: 'hold' } }), /local.*mode/s],
    ['a number out of bounds', config({ replicas: { required: 17 } }), /replicas.*required/s],
    ['a number that is a word', config({ scrub: { days: 'many' } }), /scrub.*days/s],
    ['an address that is none', config({ s3: { endpoint: 'minio:9000' } }), /s3.*endpoint/s],
    ['a backend without its bucket', config({ backends: [{ kind: 's3', id: 'a' }] }), /backends/],
    ['a value that is not there', { ...MINIMAL, reader: { enabled: true } }, /reader/],
    [
      'a setting in the environment',
      { ...MINIMAL, environment: [{ name: 'HOLDFAST_S3_BUCKET', value: 'a' }] },
      /environment/,
    ],
    ['a secret that is no setting', { ...MINIMAL, secret: { values: { HOLDFAST_NODE_PASWORD: 'a' } } }, /secret/],
    ['half a digest', { ...MINIMAL, image: { digest: 'sha256:abc' } }, /image.*digest/s],
    ['no size', { ...MINIMAL, archiver: { persistence: { size: 'large' } } }, /persistence.*size/s],
  ])('%s is refused with its place', async (_name, values, says) => {
    const said = await refusal(values);
    expect(said).toMatch(says);
    expect(said).toContain('values don');
    expect(said).not.toContain('hunter2');
  });
});

test.each([
  ['prometheus/alerts.yaml', 'alerts.yaml'],
  ['RUNBOOK.md', 'runbook.txt'],
  ['grafana/holdfast.json', 'dashboard.json'],
])('config/%s in the chart is that of the program (vitest -u writes it)', async (from, to) => {
  await expect(readFileSync(`${CHART}/../config/${from}`, 'utf8')).toMatchFileSnapshot(`../../helm/files/${to}`);
});
