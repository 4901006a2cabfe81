import { create, modify, update } from "./rules-case.ts"

export const coreCases = [
  create("v1/configmaps", "config map", { data: { a: "", b: "c" }, binaryData: { d: "AA==" } }),
  create("v1/configmaps", "empty config map", {}),
  create("v1/configmaps", "config map of bad keys", {
    data: { "a b": "c" },
    binaryData: { "..": "AA==" },
  }),
  create("v1/configmaps", "too large config map", { data: { a: "x".repeat(1_048_577) } }),
  update(
    "v1/configmaps",
    "immutable config map changed",
    { data: { a: "b" }, immutable: true },
    { data: { a: "c" }, immutable: false },
  ),
  update("v1/configmaps", "config map changed", { data: { a: "b" } }, { data: { a: "c" } }),
  create("v1/secrets", "secret of strings", { stringData: { a: "b" }, data: { a: "AA==", c: "AA==" } }),
  create("v1/secrets", "empty secret", {}),
  create("v1/secrets", "secret of bad keys", { data: { "a b": "AA==" } }),
  create("v1/secrets", "basic auth secret without anything", { type: "kubernetes.io/basic-auth" }),
  create("v1/secrets", "TLS secret without anything", { type: "kubernetes.io/tls" }),
  create("v1/secrets", "token secret without an account", { type: "kubernetes.io/service-account-token" }),
  update("v1/secrets", "type of a secret changed", { data: { a: "AA==" } }, { type: "example.com/x" }),
  update("v1/secrets", "immutable secret changed", { data: { a: "AA==" }, immutable: true }, { data: { a: "AQ==" } }),
  create("v1/serviceaccounts", "service account", {
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: "x" }],
  }),
  create("v1/serviceaccounts", "service account of a bad name", { metadata: { name: "A" } }),
  create("v1/namespaces", "namespace", { metadata: { name: "kubereel-rules-other" } }),
  create("v1/namespaces", "namespace with labels and finalizers", {
    metadata: { name: "kubereel-rules-other", labels: { a: "b", "kubernetes.io/metadata.name": "x" } },
    spec: { finalizers: ["example.com/x"] },
    status: { phase: "Terminating" },
  }),
  create("v1/namespaces", "namespace of a dotted name", { metadata: { name: "a.b" } }),
  create("v1/nodes", "node", { metadata: { name: "kubereel-rules" } }),
  create("v1/nodes", "node with capacity", {
    metadata: { name: "kubereel-rules" },
    spec: { podCIDR: "10.1.0.0/24", unschedulable: false },
    status: { capacity: { cpu: "4", pods: "110" } },
  }),
  create("v1/persistentvolumes", "persistent volume", {
    metadata: { name: "kubereel-rules" },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } },
  }),
  create("v1/persistentvolumes", "persistent volume without anything", {
    metadata: { name: "kubereel-rules" },
    spec: {},
  }),
  create("v1/persistentvolumeclaims", "claim", {
    spec: { storageClassName: "none", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }),
  create("v1/persistentvolumeclaims", "claim without anything", { spec: {} }),
  create("v1/persistentvolumeclaims", "claim of bad modes", {
    spec: { accessModes: ["X"], resources: { requests: { storage: "-1" } }, storageClassName: "A" },
  }),
  modify(
    "v1/persistentvolumeclaims",
    "claim's mode changed",
    { spec: { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } } } },
    { spec: { accessModes: ["ReadOnlyMany"] } },
  ),
  create("v1/events", "event", {
    metadata: { name: "web.1" },
    involvedObject: { kind: "Pod", namespace: "kubereel-rules", name: "web" },
    reason: "Test",
    message: "x",
    type: "Normal",
  }),
  create("v1/events", "event of another namespace", {
    involvedObject: { kind: "Pod", namespace: "default", name: "web" },
  }),
  create("events.k8s.io/v1/events", "event of the new group", {
    eventTime: "2026-01-01T00:00:00.000000Z",
    regarding: { kind: "Pod", namespace: "kubereel-rules", name: "web" },
    reason: "Test",
    action: "Testing",
    type: "Normal",
    reportingController: "example.com/x",
    reportingInstance: "x-1",
  }),
  create("events.k8s.io/v1/events", "event of the new group without anything", {}),
  create("v1/resourcequotas", "quota", { spec: { hard: { pods: "10", "requests.cpu": "4" } } }),
  create("v1/resourcequotas", "quota of odd amounts", {
    spec: { hard: { pods: "1k", cpu: "2000m", memory: "0.5Gi", secrets: 3 } },
  }),
  create("v1/persistentvolumeclaims", "claim of odd amounts", {
    spec: { storageClassName: "none", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2048Mi" } } },
  }),
  create("v1/nodes", "node of odd amounts", {
    metadata: { name: "kubereel-rules" },
    status: { capacity: { cpu: "4000m", memory: "16384Ki", pods: 110 } },
  }),
  create("v1/resourcequotas", "quota of a negative amount", { spec: { hard: { pods: "-1" } } }),
  create("v1/limitranges", "limit range", {
    spec: { limits: [{ type: "Container", max: { cpu: "2" }, min: { cpu: "1" } }] },
  }),
  create("v1/limitranges", "limit range of twice the same", {
    spec: {
      limits: [
        { type: "Pod", max: { cpu: "2" } },
        { type: "Pod", max: { cpu: "1" } },
      ],
    },
  }),
  create("v1/endpoints", "endpoints", { subsets: [{ addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 80 }] }] }),
  create("v1/endpoints", "bad endpoints", {
    subsets: [{ addresses: [{ ip: "x" }], ports: [{ port: 0, protocol: "X" }] }, {}],
  }),
]
