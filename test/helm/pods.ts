import { z } from 'zod';
import type { Manifest } from './rendered-chart.ts';

const securityContext = z.looseObject({
  allowPrivilegeEscalation: z.boolean().optional(),
  readOnlyRootFilesystem: z.boolean().optional(),
  privileged: z.boolean().optional(),
  runAsNonRoot: z.boolean().optional(),
  runAsUser: z.number().optional(),
  capabilities: z.object({ drop: z.array(z.string()).default([]), add: z.array(z.string()).default([]) }).optional(),
});
const plainVariable = z.strictObject({ name: z.string(), value: z.string() });
const otherVariable = z.strictObject({ name: z.string(), valueFrom: z.looseObject({}) });
const variableOfSecret = z.strictObject({
  name: z.string(),
  valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
});
const container = z.looseObject({
  name: z.string(),
  args: z.array(z.string()).default([]),
  env: z.array(z.union([plainVariable, variableOfSecret, otherVariable])).default([]),
  ports: z.array(z.looseObject({ hostPort: z.number().optional() })).default([]),
  securityContext,
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
const podSpec = z.looseObject({
  containers: z.array(container).min(1),
  initContainers: z.array(container).default([]),
  hostNetwork: z.boolean().default(false),
  hostPID: z.boolean().default(false),
  hostIPC: z.boolean().default(false),
  enableServiceLinks: z.boolean(),
  securityContext: securityContext.extend({ seccompProfile: z.object({ type: z.string() }) }),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
});
export type PodSpec = z.output<typeof podSpec>;

export interface Pod {
  readonly of: string;
  readonly component: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

const strings = z.record(z.string(), z.string());
const podTemplate = z.looseObject({
  metadata: z.looseObject({ labels: strings, annotations: strings.default({}) }),
  spec: z.unknown(),
});
const withTemplate = z.looseObject({ spec: z.looseObject({ template: podTemplate }) });

/** The pods that workloads would start, and those of `helm test`. */
export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests
    .filter(({ kind }) => ['StatefulSet', 'Deployment', 'Job', 'Pod'].includes(kind))
    .map((manifest) => ({
      of: `${manifest.kind}/${manifest.metadata.name}`,
      component: manifest.metadata.labels['app.kubernetes.io/component'] ?? '',
      ...templateOf(manifest),
    }));
}

function templateOf(manifest: Manifest): Pick<Pod, 'labels' | 'annotations' | 'spec'> {
  const { metadata, spec } =
    manifest.kind === 'Pod' ? podTemplate.parse(manifest) : withTemplate.parse(manifest).spec.template;
  return { labels: metadata.labels, annotations: metadata.annotations, spec: podSpec.parse(spec) };
}

/** Kinds of volume that the restricted standard allows. */
const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** Lists what the restricted pod security standard refuses in a pod: https://kubernetes.io/docs/concepts/security/pod-security-standards/ */
export function againstRestricted({
  hostNetwork,
  hostPID,
  hostIPC,
  securityContext,
  volumes,
  ...spec
}: PodSpec): string[] {
  const wrong: string[] = [];
  if (hostNetwork || hostPID || hostIPC) wrong.push('shares a namespace of the host');
  if (securityContext.runAsNonRoot !== true) wrong.push('may run as root');
  if (securityContext.runAsUser === 0) wrong.push('runs as root');
  if (!['RuntimeDefault', 'Localhost'].includes(securityContext.seccompProfile.type))
    wrong.push('has no seccomp profile');
  for (const { name, ...kinds } of volumes) {
    const others = Object.keys(kinds).filter((kind) => !VOLUMES.includes(kind));
    if (others.length > 0) wrong.push(`volume ${name} is a ${others.join(', ')}`);
  }
  for (const { name, ports, securityContext: own } of [...spec.initContainers, ...spec.containers]) {
    if (own.allowPrivilegeEscalation !== false) wrong.push(`${name} may escalate`);
    if (own.privileged === true) wrong.push(`${name} is privileged`);
    if (own.runAsUser === 0) wrong.push(`${name} runs as root`);
    if (own.capabilities?.drop.includes('ALL') !== true) wrong.push(`${name} keeps capabilities`);
    if (own.capabilities?.add.some((added) => added !== 'NET_BIND_SERVICE')) wrong.push(`${name} adds capabilities`);
    if (own.readOnlyRootFilesystem !== true) wrong.push(`${name} may write its root file system`);
    if (ports.some(({ hostPort }) => hostPort !== undefined)) wrong.push(`${name} takes a port of the host`);
  }
  return wrong;
}
