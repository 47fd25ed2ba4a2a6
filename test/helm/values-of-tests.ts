/** One of each way to run it. */

const node = { url: 'http://node:8370', user: 'holdfast' };
const s3 = { bucket: 'blobs', region: 'eu-central-1' };
const password = { HOLDFAST_NODE_PASSWORD: 'correct horse' };

/** A container that passes the restricted standard. */
const harmless = (containerName: string) => ({
  name: containerName,
  image: 'busybox',
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
  },
});
const EVERY_POD = {
  podLabels: { tier: 'archive' },
  podAnnotations: { note: 'of a test' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'archive', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { tier: 'archive' } },
    },
  ],
  priorityClassName: 'important',
  initContainers: [harmless('before')],
};
const BESIDE = {
  sidecars: [harmless('beside')],
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
};

export const MINIMAL = { config: { node } };

export const MATRIX = {
  minimal: MINIMAL,
  'an existing secret and an existing claim': {
    config: { node },
    secret: { existing: 'mine', keys: ['HOLDFAST_NODE_PASSWORD', 'read-tokens', 'admin-tokens'] },
    archiver: { persistence: { existingClaim: 'blobs' } },
  },
  'S3 and readers': {
    config: { node, s3, local: { mode: 'cache', bytes: 53687091200 } },
    secret: { values: { ...password, HOLDFAST_S3_SECRET_ACCESS_KEY: 'battery staple' } },
    readers: { enabled: true, withheld: 'ab'.repeat(32) },
    ingress: {
      enabled: true,
      className: 'nginx',
      hosts: ['blobs.example', 'archive.example'],
      tls: [{ secretName: 'tls', hosts: ['blobs.example'] }],
      annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' },
    },
    metrics: { serviceMonitor: { enabled: true, labels: { release: 'prometheus' } }, dashboard: { enabled: true } },
  },
  'peers with tokens': {
    config: {
      node,
      peers: [
        { source: 'https://peer.example:8446', name: 'berlin', tokenFile: '/etc/holdfast/secrets/berlin' },
        { source: 's3=bucket', requestsPerSecond: 5 },
      ],
    },
    secret: { values: { ...password, berlin: 'staple' } },
  },
  'readers of a fixed number, elsewhere than the archiver': {
    archiver: { enabled: false },
    config: { s3 },
    readers: { enabled: true, autoscaling: { enabled: false }, replicas: 3 },
    ingress: { enabled: true, hosts: ['blobs.example'] },
  },
  'its own Kubo': {
    config: { node, replicas: { required: 1 } },
    kubo: { enabled: true, storageClass: 'fast' },
    readers: { enabled: true, withheld: '' },
  },
  'everything at once': {
    nameOverride: 'archive',
    image: { repository: 'registry.example/holdfast', digest: `sha256:${'a'.repeat(64)}`, pullSecrets: ['registry'] },
    config: {
      node: { ...node, url: 'https://one:8370 http://two:8371', pollMs: 1000 },
      peers: 'https://peer.example:8444 peer=http://old.example:8445/vh/ s3=bucket dir=/archive',
      s3: { ...s3, endpoint: 'http://minio:9000' },
      backends: [
        { kind: 's3', id: 's3:offsite', bucket: 'copy', secretAccessKeyFile: '/etc/holdfast/secrets/offsite' },
        { kind: 'ipfs', id: 'ipfs:two', apiUrl: 'http://kubo-two:5002' },
      ],
      replicas: { required: 2 },
    },
    secret: {
      values: { ...password, HOLDFAST_S3_SECRET_ACCESS_KEY: 'battery', offsite: 'staple', 'admin-tokens': 'x' },
    },
    privateAuthorities: 'authorities',
    environment: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
    readers: { enabled: true, affinity: { nodeAffinity: {} } },
    backfill: { enabled: true, arguments: ['--from-height', '100', '--to-height', '200'] },
    kubo: { enabled: true },
    ingress: { enabled: true, hosts: ['a.example'], archiverPaths: [{ path: '/more', pathType: 'Prefix' }] },
    metrics: { serviceMonitor: { enabled: true }, rules: { enabled: true, labels: { release: 'prometheus' } } },
    networkPolicy: { from: [{ namespaceSelector: {} }], egressPorts: [8443] },
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/blobs' } },
  },
  'what users of charts expect': {
    commonLabels: { team: 'data' },
    config: { node, s3, local: { mode: 'cache' } },
    // OpenShift requires this: the cluster chooses user and group.
    podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    containerSecurityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    environment: [{ name: 'AWS_REGION', valueFrom: { configMapKeyRef: { name: 'cloud', key: 'region' } } }],
    secret: {
      values: {
        ...password,
        HOLDFAST_HEARTBEAT_URL: 'https://ping.example:8444/abc',
        HOLDFAST_ALERT_URL: 'https://hook.example:8446/x',
        'read-tokens': 'x',
      },
    },
    archiver: {
      ...EVERY_POD,
      ...BESIDE,
      updateStrategy: { type: 'OnDelete' },
      probes: { startupProbe: { failureThreshold: 600 }, livenessProbe: { periodSeconds: 60 } },
      persistence: { storageClass: '-', accessModes: ['ReadWriteOncePod'], annotations: { backup: 'daily' } },
    },
    readers: {
      enabled: true,
      ...EVERY_POD,
      ...BESIDE,
      updateStrategy: { type: 'Recreate' },
      probes: { startupProbe: { httpGet: { path: '/healthz', port: 'http' } } },
    },
    backfill: {
      enabled: true,
      arguments: ['--source', 'peer=https://archive.example:8445/vh/'],
      ...EVERY_POD,
      extraVolumes: BESIDE.extraVolumes,
      extraVolumeMounts: BESIDE.extraVolumeMounts,
    },
    service: {
      type: 'LoadBalancer',
      loadBalancerClass: 'internal',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      externalTrafficPolicy: 'Local',
    },
    kubo: {
      enabled: true,
      ...EVERY_POD,
      storageClass: '-',
      accessModes: ['ReadWriteOncePod'],
      podSecurityContext: { fsGroup: 1000 },
    },
    metrics: {
      serviceMonitor: { enabled: true, tokenSecret: { name: 'scrape' } },
      rules: { enabled: true, runbookUrl: 'https://docs.example/RUNBOOK.md' },
      dashboard: { enabled: true },
    },
  },
  'addresses and a proxy with passwords': {
    config: { s3 },
    secret: {
      values: {
        HOLDFAST_NODE_URL: 'http://me:horse@one:8371, http://me:staple@two:8372',
        HOLDFAST_IPFS_API_URL: 'http://me:battery@kubo:5003',
        HTTPS_PROXY: 'http://me:correct@proxy:3128',
        SOURCE_A: 'https://me:peer@archive.example',
      },
    },
    backfill: { enabled: true, arguments: ['--source', 'peer=$(SOURCE_A)'] },
  },
} as const;
