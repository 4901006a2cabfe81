import {
  crd,
  cronJob,
  cronJobs,
  definitions,
  deployments,
  job,
  jobs,
  pod,
  pods,
  selector,
  service,
  services,
  template,
  workload,
} from "./manifests.ts"
import { create, customGroup, modify } from "./rules-case.ts"

/** Kinds defined by CustomResourceDefinitions: one with the status endpoint, one without. */
const custom: ReadonlyArray<readonly [string, string]> = [
  [`${customGroup}/v1/doors`, "custom object with a status endpoint"],
  [`${customGroup}/v1/windows`, "custom object"],
]

const customCases = custom.flatMap(([path, kind]) => [
  create(path, `${kind}, created`, { metadata: { name: "web", generation: 7 }, spec: { a: 1 }, status: { b: 1 } }),
  create(path, `${kind} of a bad name`, { metadata: { name: "A" } }),
  create(path, `${kind} of bad labels`, { metadata: { name: "web", labels: { a: "b c" }, finalizers: ["short"] } }),
  create(path, `${kind} of a bad finalizer`, { metadata: { name: "web", finalizers: ["a b"] } }),
  modify(path, `${kind}, spec changed`, { spec: { a: 1 } }, { spec: { a: 2 }, status: { b: 2 } }),
  modify(path, `${kind}, status changed`, { spec: { a: 1 } }, { status: { b: 2 } }),
  modify(path, `${kind}, labels changed`, { spec: { a: 1 } }, { metadata: { labels: { a: "b" }, generation: 9 } }),
  modify(path, `${kind}, another member changed`, { spec: { a: 1 } }, { other: 1 }),
])

const statusWrite = {
  metadata: { labels: { a: "b" }, annotations: { a: "b" }, finalizers: ["example.com/x"] },
  spec: { a: 2 },
  other: 1,
  status: { b: 2 },
}

const old = { metadata: { labels: { a: "b" }, annotations: { a: "b" } } }

export const changeCases = [
  ...customCases,
  modify(custom[0]?.[0] ?? "", "custom object's status written", { spec: { a: 1 } }, statusWrite, "status"),
  modify(
    "v1/namespaces",
    "namespace relabelled",
    { metadata: { name: "kubereel-rules-other" } },
    { ...old, spec: { finalizers: [] } },
  ),
  modify(
    "v1/nodes",
    "node made unschedulable",
    { metadata: { name: "kubereel-rules" } },
    { ...old, spec: { unschedulable: true }, status: { phase: "Running" } },
  ),
  modify(
    "v1/nodes",
    "node's status written",
    { metadata: { name: "kubereel-rules" } },
    { ...old, spec: { unschedulable: true }, status: { capacity: { cpu: "4" } } },
    "status",
  ),
  modify(
    services,
    "service's status written",
    service({ type: "LoadBalancer" }),
    { ...old, spec: { type: "ClusterIP" }, status: { loadBalancer: { ingress: [{ ip: "1.2.3.4", ipMode: "VIP" }] } } },
    "status",
  ),
  modify(services, "load balancer made a cluster IP", service({ type: "LoadBalancer" }), {
    spec: { type: "ClusterIP" },
  }),
  modify(services, "service's ports added", service({ type: "NodePort" }), {
    spec: {
      ports: [
        { name: "a", port: 80 },
        { name: "b", port: 81 },
      ],
    },
  }),
  modify(
    "v1/persistentvolumeclaims",
    "claim's status written",
    { spec: { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } } } },
    { ...old, spec: { volumeName: "x" }, status: { phase: "Lost" } },
    "status",
  ),
  modify(
    "v1/persistentvolumes",
    "volume's policy changed",
    {
      metadata: { name: "kubereel-rules" },
      spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } },
    },
    { spec: { persistentVolumeReclaimPolicy: "Delete" } },
  ),
  modify(
    cronJobs,
    "cron job's status written",
    cronJob({ suspend: true }),
    { ...old, spec: { suspend: false }, status: { lastScheduleTime: "2026-01-01T00:00:00Z" } },
    "status",
  ),
  modify(
    "policy/v1/poddisruptionbudgets",
    "budget's status written",
    { spec: { minAvailable: 1, selector } },
    { ...old, spec: { minAvailable: 3 }, status: { disruptionsAllowed: -1 } },
    "status",
  ),
  modify("policy/v1/poddisruptionbudgets", "budget relabelled", { spec: { minAvailable: 1, selector } }, old),
  modify(
    "autoscaling/v2/horizontalpodautoscalers",
    "autoscaler changed",
    { spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } } },
    { ...old, spec: { maxReplicas: 4 }, status: { desiredReplicas: 3 } },
  ),
  modify(
    "autoscaling/v2/horizontalpodautoscalers",
    "autoscaler's status written",
    { spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } } },
    { ...old, spec: { maxReplicas: 4 }, status: { desiredReplicas: 3, currentReplicas: 1 } },
    "status",
  ),
  modify(
    "coordination.k8s.io/v1/leases",
    "lease renewed",
    { spec: { holderIdentity: "a" } },
    { spec: { holderIdentity: "b", renewTime: "2026-01-01T00:00:00.000000Z" } },
  ),
  modify(
    "storage.k8s.io/v1/storageclasses",
    "storage class changed",
    { metadata: { name: "kubereel-rules" }, provisioner: "example.com/x" },
    { provisioner: "example.com/y", reclaimPolicy: "Retain", volumeBindingMode: "WaitForFirstConsumer" },
  ),
  modify(
    "apps/v1/controllerrevisions",
    "controller revision changed",
    { revision: 1, data: { a: 1 } },
    { revision: 2, data: { a: 2 } },
  ),
  modify(
    "v1/replicationcontrollers",
    "replication controller scaled",
    { spec: { replicas: 0, template } },
    { spec: { replicas: 1 } },
  ),
  modify(
    "v1/resourcequotas",
    "quota's status written",
    { spec: { hard: { pods: "10" } } },
    { ...old, spec: { hard: { pods: "9" } }, status: { hard: { pods: "10" }, used: { pods: "1" } } },
    "status",
  ),
  modify(pods, "pod of bad labels and owners", pod(), {
    metadata: {
      labels: { a: "b c" },
      finalizers: ["x y"],
      ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "a", uid: "b" }],
    },
  }),
  modify(deployments, "deployment of bad labels and a bad template", workload({ replicas: 0 }), {
    metadata: { labels: { a: "b c" } },
    spec: { replicas: -1, template: { spec: { containers: [] } } },
  }),
  modify(jobs, "job of bad labels and a bad number", job({ suspend: true }), {
    metadata: { labels: { a: "b c" } },
    spec: { parallelism: -1 },
  }),
  modify(deployments, "owner and finalizer of a deployment", workload({ replicas: 0 }), {
    metadata: {
      finalizers: ["example.com/x"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a", uid: "b" }],
    },
  }),
  modify(
    definitions,
    "definition changed",
    { ...crd({ names: { plural: "gates", kind: "Gate" } }, "gates.rules.kubereel.dev") },
    { spec: { names: { shortNames: ["g"] } } },
  ),
]
