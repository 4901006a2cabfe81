/** Roles, budgets, autoscalers, quotas, priorities. What controllers write to some of them is left out. */

import { get, inCluster, inNamespace, mergePatch, post, put, remove, type Script } from "../script.ts"
import { named, once } from "./cluster-kinds.ts"
import { unscheduledPod } from "./objects.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }
const rbac = "rbac.authorization.k8s.io/v1"
const roleGroup = "rbac.authorization.k8s.io"
const roles = inNamespace(rbac, "roles")
const roleBindings = inNamespace(rbac, "rolebindings")

const access: Script = {
  name: "access",
  area: "rules",
  steps: [
    post(
      "role",
      roles,
      named(rbac, "Role", "r", {
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      }),
    ),
    post(
      "rule without verbs",
      roles,
      named(rbac, "Role", "bad", { rules: [{ apiGroups: [""], resources: ["pods"] }] }),
    ),
    post(
      "binding",
      roleBindings,
      named(rbac, "RoleBinding", "rb", {
        roleRef: { apiGroup: roleGroup, kind: "Role", name: "r" },
        subjects: [
          { kind: "ServiceAccount", name: "default" },
          { kind: "User", name: "u" },
        ],
      }),
    ),
    mergePatch("role of a binding must not change", `${roleBindings}/rb`, { roleRef: { name: "s" } }),
    post(
      "binding of nothing",
      roleBindings,
      named(rbac, "RoleBinding", "bad", {
        roleRef: { apiGroup: roleGroup, kind: "Nope", name: "r" },
        subjects: [{ kind: "Nope", name: "x" }],
      }),
    ),
    get("table of roles", roles, table),
    get("table of bindings", roleBindings, table),
    put("created by an update", `${roles}/u`, named(rbac, "Role", "u", { rules: [] })),
    ...once(
      rbac,
      "clusterroles",
      "ClusterRole",
      { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] },
      { rules: [] },
    ),
    ...once(
      rbac,
      "clusterrolebindings",
      "ClusterRoleBinding",
      {
        roleRef: { apiGroup: roleGroup, kind: "ClusterRole", name: "view" },
        subjects: [{ kind: "Group", name: "g" }],
      },
      { subjects: [] },
    ),
    post("service account", inNamespace("v1", "serviceaccounts"), named("v1", "ServiceAccount", "sa", {})),
    get("table of service accounts", inNamespace("v1", "serviceaccounts"), table),
  ],
}

const budgets = inNamespace("policy/v1", "poddisruptionbudgets")
const budget = (name: string, spec: Parameters<typeof named>[3]) =>
  named("policy/v1", "PodDisruptionBudget", name, { spec })
const scalers = (version: string, ...name: readonly string[]): string =>
  inNamespace(`autoscaling/${version}`, "horizontalpodautoscalers", ...name)
const scaler = (version: string, name: string, spec: Parameters<typeof named>[3]) =>
  named(`autoscaling/${version}`, "HorizontalPodAutoscaler", name, { spec })
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "nope" }
const quotas = inNamespace("v1", "resourcequotas")
const quota = (name: string, hard: Parameters<typeof named>[3]) =>
  named("v1", "ResourceQuota", name, { spec: { hard } })
const scheduling = "scheduling.k8s.io/v1"
const classes = inCluster(scheduling, "priorityclasses")

const policies: Script = {
  name: "policies",
  area: "rules",
  controlled: true,
  leftovers: [`${classes}/<ns>-p`],
  steps: [
    post("budget", budgets, budget("b", { minAvailable: 1, selector: { matchLabels: { a: "b" } } })),
    post("both limits", budgets, budget("c", { minAvailable: 1, maxUnavailable: "50%" })),
    put("without a version", `${budgets}/b`, budget("b", { minAvailable: 2 })),
    mergePatch("percent", `${budgets}/b`, { spec: { minAvailable: "30%" } }),
    mergePatch("no percent", `${budgets}/b`, { spec: { minAvailable: "thirty" } }),
    post(
      "autoscaler",
      scalers("v2"),
      scaler("v2", "h", {
        scaleTargetRef: target,
        minReplicas: 2,
        maxReplicas: 4,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
        ],
      }),
    ),
    get("in the first version", scalers("v1", "h")),
    post(
      "of the first version",
      scalers("v1"),
      scaler("v1", "o", {
        scaleTargetRef: target,
        maxReplicas: 4,
        targetCPUUtilizationPercentage: 70,
      }),
    ),
    get("in the second version", scalers("v2", "o")),
    post(
      "the wrong way round",
      scalers("v2"),
      scaler("v2", "x", {
        scaleTargetRef: { kind: "Deployment", name: "nope" },
        minReplicas: 5,
        maxReplicas: 4,
      }),
    ),
    post(
      "limits",
      inNamespace("v1", "limitranges"),
      named("v1", "LimitRange", "l", {
        spec: { limits: [{ type: "PersistentVolumeClaim", max: { storage: "5Gi" } }] },
      }),
    ),
    post("quota", quotas, quota("q", { "count/nothing.example.com": "1" })),
    mergePatch("more quota", `${quotas}/q`, { spec: { hard: { "count/nothing.example.com": "2" } } }),
    post("bad quota", quotas, quota("x", { pods: "many" })),
    ...once(scheduling, "priorityclasses", "PriorityClass", { value: 7, description: "d" }, { description: "e" }),
    post("a class", classes, named(scheduling, "PriorityClass", "<ns>-p", { value: 9 })),
    mergePatch("its value must not change", `${classes}/<ns>-p`, { value: 8 }),
    post("a pod of that class", inNamespace("v1", "pods"), unscheduledPod("p", { priorityClassName: "<ns>-p" }), {
      // The real server learns of a class a moment after it has stored it.
      until: (status) => status === 201,
    }),
    remove("no class", `${classes}/<ns>-p`),
    get("system classes", `${classes}/system-node-critical`),
  ],
}

export const accessAndPolicies: readonly Script[] = [access, policies]
