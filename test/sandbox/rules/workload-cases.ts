/** The apps kinds and ReplicationControllers. */

import type { Fields } from "../../../src/sandbox/rules/kind-rules.ts"
import { app, containers, deployments, template, withPod, workload } from "./manifests.ts"
import { create, update } from "./rules-case.ts"

const workloads: ReadonlyArray<readonly [string, string]> = [
  [deployments, "deployment"],
  ["apps/v1/replicasets", "replica set"],
  ["apps/v1/statefulsets", "stateful set"],
  ["apps/v1/daemonsets", "daemon set"],
]

/** A spec that gives controllers nothing to do. */
const idle = (kind: string): Fields => (kind === "daemon set" ? workload() : workload({ replicas: 0 }))

const replicas = { replicas: 2 }

const negatives: Readonly<Record<string, Fields>> = {
  deployment: { replicas: -1, revisionHistoryLimit: -1, progressDeadlineSeconds: -1 },
  "daemon set": { revisionHistoryLimit: -1 },
  "replica set": { replicas: -1 },
  "stateful set": { replicas: -1, revisionHistoryLimit: -1 },
}

const nodes = { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: 0 }

export const workloadCases = workloads.flatMap(([path, kind]) => [
  create(path, `minimal ${kind}`, workload()),
  create(path, `${kind} with status and generation`, {
    metadata: { name: "web", generation: 5 },
    ...workload(),
    status: { replicas: 3 },
  }),
  create(path, `${kind} without a spec`, {}),
  create(path, `${kind} without a selector`, { spec: { template } }),
  create(path, `${kind} with an empty selector`, workload({ selector: {} })),
  create(path, `${kind} whose selector does not match`, workload({ selector: { matchLabels: { app: "other" } } })),
  create(
    path,
    `${kind} with a bad selector`,
    workload({ selector: { matchExpressions: [{ key: "app", operator: "Is", values: ["a"] }] } }),
  ),
  create(
    path,
    `${kind} with bad selector values`,
    workload({
      selector: {
        matchLabels: { app: "-" },
        matchExpressions: [
          { key: "app", operator: "In" },
          { key: "a b", operator: "Exists", values: ["x"] },
        ],
      },
    }),
  ),
  create(path, `${kind} with negative numbers`, workload({ minReadySeconds: -1, ...negatives[kind] })),
  create(path, `${kind} with a bad name`, { metadata: { name: "a/b" }, ...workload() }),
  create(path, `${kind} with a dotted name`, { metadata: { name: "a.b" }, ...workload() }),
  create(path, `${kind} of pods that end`, withPod({ restartPolicy: "Never", activeDeadlineSeconds: 5 })),
  create(
    path,
    `${kind} with bad template labels`,
    workload({ template: { metadata: { labels: { app: "web", "b c": "d" } }, spec: { containers } } }),
  ),
  create(path, `${kind} with a bad container`, withPod({ containers: [{ name: "A", image: "" }] })),
  update(
    path,
    `spec of a ${kind} changed`,
    idle(kind),
    kind === "daemon set" ? { spec: { minReadySeconds: 3 } } : { spec: { replicas: 1 } },
  ),
  update(path, `annotations of a ${kind} changed`, idle(kind), {
    metadata: { annotations: { a: "b" } },
  }),
  update(path, `${kind} unchanged`, idle(kind), {}),
  update(path, `template of a ${kind} changed`, idle(kind), {
    spec: { template: { spec: { containers: [{ name: "app", image: "nginx:2" }] } } },
  }),
  update(path, `selector of a ${kind} changed`, idle(kind), {
    spec: { selector: { matchLabels: { app: "b" } }, template: { metadata: { labels: { app: "b" } } } },
  }),
  update(path, `times and generation of a ${kind} written`, idle(kind), {
    metadata: { creationTimestamp: "2020-01-01T00:00:00Z", generation: 9 },
  }),
  update(
    path,
    `status of a ${kind} written`,
    idle(kind),
    {
      metadata: { labels: { a: "b" }, annotations: { a: "b" } },
      spec: { minReadySeconds: 5 },
      status: kind === "daemon set" ? nodes : replicas,
    },
    "status",
  ),
  update(
    path,
    `negative status of a ${kind} written`,
    idle(kind),
    {
      status: kind === "daemon set" ? { ...nodes, currentNumberScheduled: -1 } : { replicas: -2, readyReplicas: 1 },
    },
    "status",
  ),
])

export const moreWorkloadCases = [
  create(
    deployments,
    "deployment of odd amounts",
    withPod({
      containers: [
        {
          name: "app",
          image: "x",
          resources: { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: 0.5, memory: "1.5M" } },
        },
      ],
    }),
  ),
  create(deployments, "deployment that recreates", workload({ strategy: { type: "Recreate" } })),
  create(
    deployments,
    "deployment that recreates with parameters",
    workload({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
  ),
  create(deployments, "deployment of an unknown strategy", workload({ strategy: { type: "Magic" } })),
  create(
    deployments,
    "deployment that never moves",
    workload({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
  ),
  create(
    deployments,
    "deployment of bad percentages",
    workload({ strategy: { rollingUpdate: { maxSurge: "x", maxUnavailable: "101%" } } }),
  ),
  create(
    deployments,
    "deployment with a partial strategy",
    workload({ strategy: { rollingUpdate: { maxSurge: 1 } }, paused: true, minReadySeconds: 3 }),
  ),
  create(
    deployments,
    "deployment of a rich pod",
    withPod({
      volumes: [{ name: "x" }],
      hostNetwork: true,
      containers: [
        { name: "app", image: "x:latest", ports: [{ containerPort: 1 }], resources: { limits: { cpu: "1" } } },
      ],
    }),
  ),
  create(deployments, "deployment by generated name", { metadata: { generateName: "Web-" }, ...workload() }),
  create(
    "apps/v1/statefulsets",
    "rich stateful set",
    workload({
      serviceName: "web",
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "RollingUpdate" },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
      template: {
        metadata: { labels: app },
        spec: { containers: [{ name: "app", image: "x", volumeMounts: [{ name: "data", mountPath: "/data" }] }] },
      },
    }),
  ),
  create(
    "apps/v1/statefulsets",
    "stateful set on delete",
    workload({ updateStrategy: { type: "OnDelete" }, ordinals: { start: 1 } }),
  ),
  create(
    "apps/v1/statefulsets",
    "stateful set of bad choices",
    workload({
      serviceName: "A",
      podManagementPolicy: "No",
      updateStrategy: { type: "No" },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "x" },
    }),
  ),
  update(
    "apps/v1/statefulsets",
    "service name of a stateful set changed",
    workload({ replicas: 0, serviceName: "a" }),
    { spec: { serviceName: "b" } },
  ),
  create("apps/v1/daemonsets", "daemon set on delete", workload({ updateStrategy: { type: "OnDelete" } })),
  create(
    "apps/v1/daemonsets",
    "daemon set that never moves",
    workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
  ),
  create("apps/v1/controllerrevisions", "controller revision", { revision: 1, data: { a: 1 } }),
  create("apps/v1/controllerrevisions", "negative controller revision", { revision: -1 }),
  create("v1/replicationcontrollers", "replication controller", { spec: { template } }),
  create("v1/replicationcontrollers", "replication controller without anything", {}),
  create("v1/replicationcontrollers", "replication controller that does not match", {
    spec: { replicas: -1, selector: { a: "b" }, template },
  }),
]
