import { crd, definitions, selector, widgets } from "./manifests.ts"
import { create, update } from "./rules-case.ts"

const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"] }

const rbac = "rbac.authorization.k8s.io/v1"

const roleRef = { kind: "Role", name: "x", apiGroup: "rbac.authorization.k8s.io" }

export const restCases = [
  create("policy/v1/poddisruptionbudgets", "budget", { spec: { minAvailable: 1, selector } }),
  create("policy/v1/poddisruptionbudgets", "empty budget", {}),
  create("policy/v1/poddisruptionbudgets", "budget of both", {
    spec: { minAvailable: 1, maxUnavailable: "x", selector: { matchLabels: { "a b": "c" } } },
  }),
  update(
    "policy/v1/poddisruptionbudgets",
    "budget changed",
    { spec: { minAvailable: 1, selector } },
    { spec: { minAvailable: 2 } },
  ),
  create(`${rbac}/roles`, "role", { rules: [rule] }),
  create(`${rbac}/roles`, "empty role", {}),
  create(`${rbac}/roles`, "bad role", {
    rules: [{ apiGroups: [""], resources: ["pods"] }, { verbs: ["get"] }, { nonResourceURLs: ["/x"], verbs: ["get"] }],
  }),
  create(`${rbac}/clusterroles`, "cluster role", { metadata: { name: "kubereel:rules" }, rules: [rule] }),
  create(`${rbac}/clusterroles`, "cluster role of a bad name", { metadata: { name: "a/b" }, rules: [rule] }),
  create(`${rbac}/rolebindings`, "role binding", {
    roleRef,
    subjects: [
      { kind: "ServiceAccount", name: "x" },
      { kind: "User", name: "y" },
    ],
  }),
  create(`${rbac}/rolebindings`, "role binding of defaults", {
    roleRef: { kind: "Role", name: "x" },
    subjects: [{ kind: "ServiceAccount", name: "x", namespace: "y" }],
  }),
  create(`${rbac}/rolebindings`, "bad role binding", {
    roleRef: { kind: "X", name: "" },
    subjects: [
      { kind: "X", name: "" },
      { kind: "ServiceAccount", name: "A", apiGroup: "x" },
    ],
  }),
  update(
    `${rbac}/rolebindings`,
    "role of a binding changed",
    { roleRef: { kind: "ClusterRole", name: "view", apiGroup: roleRef.apiGroup } },
    { roleRef: { name: "edit" } },
  ),
  create(`${rbac}/clusterrolebindings`, "cluster role binding", {
    metadata: { name: "kubereel-rules" },
    roleRef: { ...roleRef, kind: "ClusterRole" },
    subjects: [{ kind: "Group", name: "y" }],
  }),
  create("coordination.k8s.io/v1/leases", "lease", { spec: { holderIdentity: "a", leaseDurationSeconds: 15 } }),
  create("coordination.k8s.io/v1/leases", "empty lease", {}),
  create("coordination.k8s.io/v1/leases", "bad lease", {
    spec: { leaseDurationSeconds: 0, leaseTransitions: -1, holderIdentity: "" },
  }),
  create("scheduling.k8s.io/v1/priorityclasses", "priority class", { metadata: { name: "kubereel-rules" }, value: 5 }),
  create("scheduling.k8s.io/v1/priorityclasses", "bad priority class", {
    metadata: { name: "kubereel-rules" },
    value: 2_000_000_000,
    preemptionPolicy: "X",
  }),
  update(
    "scheduling.k8s.io/v1/priorityclasses",
    "value of a priority class changed",
    { metadata: { name: "kubereel-rules" }, value: 5 },
    { value: 6 },
  ),
  create("storage.k8s.io/v1/storageclasses", "storage class", {
    metadata: { name: "kubereel-rules" },
    provisioner: "example.com/x",
  }),
  create("storage.k8s.io/v1/storageclasses", "bad storage class", {
    metadata: { name: "kubereel-rules" },
    provisioner: "",
    reclaimPolicy: "X",
    volumeBindingMode: "Y",
  }),
  create("storage.k8s.io/v1/csidrivers", "driver", { metadata: { name: "kubereel-rules" }, spec: {} }),
  create("storage.k8s.io/v1/csinodes", "driver's node", {
    metadata: { name: "kubereel-rules" },
    spec: { drivers: [] },
  }),
  create("storage.k8s.io/v1/volumeattachments", "attachment", {
    metadata: { name: "kubereel-rules" },
    spec: { attacher: "x", nodeName: "y", source: { persistentVolumeName: "z" } },
  }),
  create("autoscaling/v2/horizontalpodautoscalers", "autoscaler", {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
  }),
  create("autoscaling/v2/horizontalpodautoscalers", "autoscaler with behaviour", {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      behavior: { scaleDown: { stabilizationWindowSeconds: 5 } },
    },
  }),
  create("autoscaling/v2/horizontalpodautoscalers", "bad autoscaler", {
    spec: { minReplicas: 5, maxReplicas: 0, scaleTargetRef: { kind: "", name: "" } },
  }),
  create("autoscaling/v1/horizontalpodautoscalers", "old autoscaler", {
    spec: {
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    },
  }),
  create("autoscaling/v1/horizontalpodautoscalers", "old autoscaler of defaults", {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
  }),
]

export const definitionCases = [
  create(definitions, "definition", crd({})),
  create(
    definitions,
    "definition with subresources",
    crd({
      versions: [
        {
          ...widgets.versions[0],
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
          },
          additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a" }],
        },
      ],
    }),
  ),
  create(definitions, "definition of a wrong name", crd({}, "x.rules.kubereel.dev")),
  create(definitions, "definition without a schema", crd({ versions: [{ name: "v1", served: true, storage: true }] })),
  create(definitions, "definition without storage", crd({ versions: [{ ...widgets.versions[0], storage: false }] })),
  create(definitions, "definition of a bad scope", crd({ scope: "Galaxy" })),
  create(definitions, "definition without anything", { metadata: { name: "widgets.rules.kubereel.dev" }, spec: {} }),
]
