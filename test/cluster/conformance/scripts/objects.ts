/** Small valid objects that scripts start from. */

import type { JsonObject } from "../../exact-json.ts"

export const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { key: "value" },
  ...more,
})

/** Labels that only its own template has. */
const labelled = (name: string): JsonObject => ({ app: name })

const podSpec: JsonObject = { containers: [{ name: "main", image: "example.com/main:1" }] }

/** No scheduler has that name, so only the API server ever writes to the pod. */
export const unscheduledPod = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { schedulerName: "nobody", ...podSpec, ...spec },
})

const template = (name: string, more: JsonObject = {}): JsonObject => ({
  metadata: { labels: labelled(name) },
  spec: { ...podSpec, ...more },
})

/** Its controller keeps its status and makes no ReplicaSets. */
export const pausedDeployment = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: { paused: true, replicas: 1, selector: { matchLabels: labelled(name) }, template: template(name), ...spec },
})

export const emptyReplicaSet = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: { name },
  spec: { replicas: 0, selector: { matchLabels: labelled(name) }, template: template(name), ...spec },
})

export const emptyStatefulSet = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name },
  spec: {
    replicas: 0,
    serviceName: name,
    selector: { matchLabels: labelled(name) },
    template: template(name),
    ...spec,
  },
})

/** Wants nodes with a label that none has. */
export const nodelessDaemonSet = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name },
  spec: {
    selector: { matchLabels: labelled(name) },
    template: template(name, { nodeSelector: { nobody: "has-this" } }),
    ...spec,
  },
})

/** The job controller ignores a Job with another manager. */
export const unmanagedJob = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: {
    managedBy: "example.com/nobody",
    template: { spec: { restartPolicy: "Never", ...podSpec } },
    ...spec,
  },
})

export const suspendedCronJob = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name },
  spec: {
    suspend: true,
    schedule: "0 0 1 1 *",
    jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", ...podSpec } } } },
    ...spec,
  },
})

export const service = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
})

/** A CustomResourceDefinition of the script's own group, `<ns>.example.com`. */
export const definition = (plural: string, kind: string, version: JsonObject, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.<ns>.example.com` },
  spec: {
    group: "<ns>.example.com",
    scope: "Namespaced",
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [{ name: "v1", served: true, storage: true, ...version }],
    ...spec,
  },
})

/** A schema that keeps all fields. */
export const openSchema: JsonObject = {
  schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
}
