import { PrometheusRule, ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Pod, Secret, Service, ServiceAccount } from 'kubernetes-models/v1';
import type { Manifest } from './rendered-chart.ts';

const MODELS: Readonly<Record<string, () => { validate(): void }>> = {
  ConfigMap: () => new ConfigMap(),
  Deployment: () => new Deployment(),
  HorizontalPodAutoscaler: () => new HorizontalPodAutoscaler(),
  Ingress: () => new Ingress(),
  Job: () => new Job(),
  NetworkPolicy: () => new NetworkPolicy(),
  Pod: () => new Pod(),
  PodDisruptionBudget: () => new PodDisruptionBudget(),
  PrometheusRule: () => new PrometheusRule(),
  Secret: () => new Secret(),
  Service: () => new Service(),
  ServiceAccount: () => new ServiceAccount(),
  ServiceMonitor: () => new ServiceMonitor(),
  StatefulSet: () => new StatefulSet(),
};

/** @throws an error when Kubernetes (or the Prometheus operator) does not take the object for its kind and version. */
export function validate(manifest: Manifest): void {
  const model = MODELS[manifest.kind];
  if (model === undefined) throw new Error(`No schema is at hand for ${manifest.kind}.`);
  Object.assign(model(), manifest).validate();
}
