/**
 * The role of drivers: a ClusterRole that is aggregated from others by a label, so that administrators add the kinds of their traces with a ClusterRole of
 * their own, and the first of those, with what every driver needs and the kinds of common workloads.
 */
import { type Manifest, manifest } from "../manifest/manifest.ts"
import type { Rule } from "../rights/permissions.ts"
import { type SimulationSettings, simulationLabels } from "./simulation-settings.ts"

/** On ClusterRoles whose rules drivers get. */
const aggregationLabel = "kubereel.dev/aggregate-to-simulation-driver"

const apiVersion = "rbac.authorization.k8s.io/v1"

const rule = (group: string, resources: ReadonlyArray<string>, verbs: ReadonlyArray<string>, reason: string): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
  reason,
})

const reading = ["get", "list", "watch"]
const replaying = [...reading, "create", "patch", "delete"]
const replayed = "kinds of common workloads: replayed, and compared with the trace"

const rules: ReadonlyArray<Rule> = [
  rule("simkube.io", ["simulations"], reading, "the Simulation, whose pauses and speed take effect at once"),
  rule("simkube.io", ["simulations/status"], ["get", "patch"], "progress and reports"),
  rule(
    "simkube.io",
    ["simulationroots"],
    [...reading, "create", "delete"],
    "the owner of everything that a driver creates",
  ),
  rule(
    "simkube.io",
    ["simulationroots/finalizers", "simulations/finalizers"],
    ["update"],
    "removal of a root waits for what it owns",
  ),
  rule("", ["namespaces"], replaying, "namespaces of the replay"),
  rule("", ["nodes"], reading, "whether there are nodes for the pods"),
  rule("", ["events"], ["create", "patch"], "what users see of a replay"),
  rule("", ["configmaps", "persistentvolumeclaims", "pods", "serviceaccounts", "services"], replaying, replayed),
  rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], replaying, replayed),
  rule("autoscaling", ["horizontalpodautoscalers"], replaying, replayed),
  rule("batch", ["cronjobs", "jobs"], replaying, replayed),
  rule("networking.k8s.io", ["ingresses"], replaying, replayed),
  rule("policy", ["poddisruptionbudgets"], replaying, replayed),
  {
    ...rule("coordination.k8s.io", ["leases"], ["get", "update", "patch"], "SimKube's driver, which renews it itself"),
    resourceNames: ["sk-lease"],
  },
]

export const driverRoles = (settings: SimulationSettings): ReadonlyArray<Manifest> => {
  const { driverRole } = settings
  const labels = simulationLabels(settings)
  return [
    manifest(
      {
        apiVersion,
        kind: "ClusterRole",
        metadata: { name: driverRole, labels },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregationLabel]: "true" } }] },
      },
      {
        path: ["aggregationRule"],
        text: `For other kinds in your traces: a ClusterRole with the label ${aggregationLabel}: "true".`,
      },
    ),
    manifest(
      {
        apiVersion,
        kind: "ClusterRole",
        metadata: { name: `${driverRole}-workloads`, labels: { ...labels, [aggregationLabel]: "true" } },
        rules: rules.map(({ reason: _, ...each }) => ({ ...each })),
      },
      ...rules.map(({ reason }, index) => ({ path: ["rules", index], text: reason })),
    ),
  ]
}
