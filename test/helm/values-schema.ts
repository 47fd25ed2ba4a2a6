import { z } from 'zod';
import { hasSecretFile, SETTING_NAMES, SETTINGS, type SettingName } from '../../src/config/index.ts';

/** The schema of the chart's values: its own by hand, `config` and `secret` by the one list of settings. */

const strings = z.record(z.string(), z.string());
/** Handed through to Kubernetes, which knows their form. */
const ofKubernetes = z.looseObject({});
const listOfKubernetes = z.array(z.looseObject({}));
const name = z.string();
const count = z.int().min(1);
const seconds = z.int().min(1);
const quantity = z.string().regex(/^\d+(\.\d+)?([EPTGMk]i?)?$/);
const resources = z.strictObject({ requests: ofKubernetes.optional(), limits: ofKubernetes.optional() });
const path = z.strictObject({
  path: z.string().regex(/^\//),
  pathType: z.enum(['Exact', 'Prefix', 'ImplementationSpecific']),
});
/** Values that any pod takes. */
const pod = {
  podLabels: strings,
  podAnnotations: strings,
  nodeSelector: strings,
  tolerations: listOfKubernetes,
  affinity: ofKubernetes,
  topologySpreadConstraints: listOfKubernetes,
  priorityClassName: name,
  initContainers: listOfKubernetes,
};
const volumes = { extraVolumes: listOfKubernetes, extraVolumeMounts: listOfKubernetes };
/** Values that a pod that goes on running takes besides. */
const service = {
  sidecars: listOfKubernetes,
  probes: z.strictObject({
    startupProbe: ofKubernetes.optional(),
    livenessProbe: ofKubernetes.optional(),
    readinessProbe: ofKubernetes.optional(),
  }),
  updateStrategy: ofKubernetes,
};
const accessModes = z.array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany']));

/** Settings that the chart itself puts into a pod's environment; said twice, the file would lose without a word. */
export const OF_THE_CHART: readonly SettingName[] = [
  'dataDir',
  'httpHost',
  'httpPort',
  'httpReadTokensFile',
  'httpAdminTokensFile',
  'archiverUrl',
  'withheldFile',
  // For commands that ask a daemon.
  'token',
];
const isSecret = (setting: SettingName) => SETTINGS[setting].secret === true;
/** Secrets, and addresses that may carry one. */
export const SECRET_NAMES = SETTING_NAMES.filter((setting) => hasSecretFile(SETTINGS[setting]))
  .filter((setting) => !OF_THE_CHART.includes(setting))
  .map((setting) => SETTINGS[setting].env ?? '');
export const IN_CONFIG = SETTING_NAMES.filter((setting) => !isSecret(setting) && !OF_THE_CHART.includes(setting));

/** Helm's regular expressions cannot look ahead. */
const NO_SETTING = { not: { pattern: '^HOLDFAST_' } };
/** Files of the configuration's own; and environment variables: proxies, the chain of AWS, addresses for a backfill. */
const OTHER_SECRETS = '^([a-z][-._a-z0-9]*|([A-Z]+_PROXY|AWS|SOURCE)(_[A-Z0-9_]+)?)$';
const secretKey = z.union([z.enum(SECRET_NAMES), z.string().regex(new RegExp(OTHER_SECRETS))]);
const secretValue = z.string().min(1);
const NO_PASSWORD = { not: { pattern: '://.*@' } };
const plainText = z.string().meta(NO_PASSWORD);
// Settings belong under config, where the schema knows them.
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .meta(NO_SETTING);
const environment = z.strictObject({
  name: variableName,
  value: plainText.optional(),
  valueFrom: ofKubernetes.optional(),
});

/** `s3.bucket` → `{s3: {bucket}}`, as the configuration file has it. */
function configSchema(): z.ZodType {
  const groups: Record<string, Record<string, z.ZodType>> = {};
  for (const setting of IN_CONFIG) {
    const { key, schema, says } = SETTINGS[setting];
    const [group = '', own] = key.split('.');
    const described = schema.optional().describe(says);
    groups[own === undefined ? '' : group] = { ...groups[own === undefined ? '' : group], [own ?? group]: described };
  }
  const { '': plain = {}, ...nested } = groups;
  return z.strictObject({
    ...plain,
    ...Object.fromEntries(Object.entries(nested).map(([group, fields]) => [group, z.strictObject(fields).optional()])),
  });
}

const values = z.strictObject({
  global: ofKubernetes.optional(),
  nameOverride: name,
  fullnameOverride: name,
  commonLabels: strings,
  podSecurityContext: ofKubernetes,
  containerSecurityContext: ofKubernetes,
  image: z.strictObject({
    repository: z.string().min(1),
    tag: name,
    digest: z.string().regex(/^(sha256:[0-9a-f]{64})?$/),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
    pullSecrets: z.array(name),
  }),
  config: configSchema(),
  secret: z.strictObject({
    // A record by names is not used: Helm tells the place of a wrong name wrongly.
    values: z
      .strictObject(Object.fromEntries(SECRET_NAMES.map((secret) => [secret, secretValue.optional()])))
      .meta({ patternProperties: { [OTHER_SECRETS]: z.toJSONSchema(secretValue, { target: 'draft-7' }) } }),
    existing: name,
    keys: z.array(secretKey),
  }),
  privateAuthorities: name,
  environment: z.array(environment),
  archiver: z.strictObject({
    enabled: z.boolean(),
    resources,
    persistence: z.strictObject({
      size: quantity,
      storageClass: name,
      accessModes,
      annotations: strings,
      existingClaim: name,
    }),
    terminationGracePeriodSeconds: z.int().min(10),
    ...pod,
    ...volumes,
    ...service,
  }),
  readers: z.strictObject({
    enabled: z.boolean(),
    replicas: count,
    autoscaling: z.strictObject({
      enabled: z.boolean(),
      minReplicas: count,
      maxReplicas: count,
      targetCPUPercent: z.int().min(1).max(100),
    }),
    resources,
    withheld: z.string(),
    terminationGracePeriodSeconds: z.int().min(5),
    ...pod,
    ...volumes,
    ...service,
  }),
  backfill: z.strictObject({
    enabled: z.boolean(),
    arguments: z.array(plainText),
    folderSize: quantity,
    resources,
    backoffLimit: z.int().min(0),
    ttlSecondsAfterFinished: seconds.nullable(),
    ...pod,
    ...volumes,
  }),
  service: z.strictObject({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']),
    port: z.int().min(1).max(65_535),
    annotations: strings,
    loadBalancerClass: name,
    loadBalancerSourceRanges: z.array(name),
    externalTrafficPolicy: z.enum(['', 'Cluster', 'Local']),
  }),
  ingress: z.strictObject({
    enabled: z.boolean(),
    className: name,
    annotations: strings,
    hosts: z.array(z.string().min(1)),
    tls: z.array(z.strictObject({ secretName: name.optional(), hosts: z.array(name).optional() })),
    archiverPaths: z.array(path),
  }),
  metrics: z.strictObject({
    serviceMonitor: z.strictObject({
      enabled: z.boolean(),
      interval: z.string().regex(/^\d+(ms|s|m|h)$/),
      tokenSecret: z.strictObject({ name, key: name }),
      labels: strings,
    }),
    rules: z.strictObject({
      enabled: z.boolean(),
      runbookUrl: z.string().regex(/^(https?:\/\/.+)?$/),
      labels: strings,
    }),
    dashboard: z.strictObject({ enabled: z.boolean(), labels: strings }),
  }),
  networkPolicy: z.strictObject({
    enabled: z.boolean(),
    from: listOfKubernetes,
    egressPorts: z.array(z.int().min(1).max(65_535)),
  }),
  podDisruptionBudget: z.strictObject({ enabled: z.boolean() }),
  serviceAccount: z.strictObject({ create: z.boolean(), name, annotations: strings }),
  kubo: z.strictObject({
    enabled: z.boolean(),
    image: z.string().min(1),
    size: quantity,
    storageClass: name,
    accessModes,
    podSecurityContext: ofKubernetes,
    resources,
    ...pod,
  }),
});

/** A sentence in place of the value that must be: what Helm says of a constant does not repeat what was given. */
const IN_A_SECRET = {
  const:
    'no password, which would stand in a ConfigMap: give it in a Secret, as HOLDFAST_NODE_URL, HOLDFAST_IPFS_API_URL, HOLDFAST_PEERS, HOLDFAST_S3_SECRET_ACCESS_KEY, or as a file of your own that apiUrlFile, secretAccessKeyFile or tokenFile names',
};

/** Everything under `config` lands in a ConfigMap: an address there carries no user, password or query, a backend no secret. */
function refuseSecrets(schema: z.core.JSONSchema.BaseSchema, path: readonly (string | number)[]): void {
  if (path.includes('backends') && path.at(-1) === 'secretAccessKey') {
    Object.assign(schema, { if: { not: { type: 'string' } }, else: IN_A_SECRET });
  }
  if (path.includes('peers') && path.at(-1) === 'token') {
    Object.assign(schema, { if: { not: { type: 'string' } }, else: IN_A_SECRET });
  } else if (
    path.includes('peers') &&
    schema.type === 'string' &&
    (path.at(-1) === 'source' || !path.includes('items'))
  ) {
    Object.assign(schema, { if: { not: NO_PASSWORD.not }, else: IN_A_SECRET });
  }
  const { pattern } = schema;
  if (pattern === undefined || !pattern.includes('https?://')) return;
  delete schema.pattern;
  // One after the other: what Helm says of a pattern repeats the value.
  const refused = { pattern: '[@?#]' };
  Object.assign(schema, {
    allOf: [
      { if: { not: refused }, else: IN_A_SECRET },
      { if: refused, else: { pattern } },
    ],
  });
}

export const VALUES_SCHEMA = z.toJSONSchema(values, {
  target: 'draft-7',
  io: 'input',
  override: ({ jsonSchema, path }) => refuseSecrets(jsonSchema, path),
});
