/** All manifests of the controller of Simulations, in an order in which they can be applied. */

import { type PolicyRule, RuleSet, type ScopedRules } from "../../host/index.ts"
import { type Manifest, manifest } from "../manifest/manifest.ts"
import {
  boundRole,
  controllersNetworkPolicy,
  deployment,
  namespaceManifest,
  podMonitor,
  serviceAccount,
} from "../manifest/objects.ts"
import { labelsOf, selectorOf } from "../manifest/settings.ts"
import type { Rule } from "../rights/permissions.ts"

// All settings of the manifests of the controller of Simulations. The command line provides them; nothing is read from elsewhere.

interface SimulationSettings {
  /** The namespace that the controller runs in, and of its Leases. */
  readonly namespace: string
  readonly image: string
  /** Version of kubereel, for the label. */
  readonly version: string
  /** The CustomResourceDefinitions of Simulations. */
  readonly definitions: ReadonlyArray<Manifest["object"]>
  /** What the controller watches and writes. */
  readonly rights: ReadonlyArray<ScopedRules>
  /** The ClusterRole of drivers, to which the controller binds their accounts. */
  readonly driverRole: string
  /** Pods of the controller. One of them works, the others stand by. */
  readonly replicas: number
  /** Address to listen on within the pod: `0.0.0.0`, or `::` where pods have no IPv4 address. */
  readonly bind: string
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** Further TCP ports that hooks may reach, anywhere; with any, DNS too. */
  readonly egressPorts: ReadonlyArray<number>
  /** Whether to add a PodMonitor of the Prometheus operator. */
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes the controller. */
  readonly monitoringNamespace: string
}

/** Name of the Deployment, its ServiceAccount and its roles. It is fixed: a cluster has one queue of Simulations. */
const controllerName = "kubereel-simulation-controller"

/** Port of `/healthz`, `/readyz` and `/metrics`, as for `reel controller`. */
const controllerPort = 7791

/** Labels of all objects. */
const simulationLabels = ({ version }: Pick<SimulationSettings, "version">) =>
  labelsOf({ name: controllerName, version, component: "simulation-controller" })

// The role of drivers: a ClusterRole that is aggregated from others by a label, so that administrators add the kinds of their traces with a ClusterRole of
// their own, and the first of those, with what every driver needs and the kinds of common workloads.

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

const driverRoles = (settings: SimulationSettings): ReadonlyArray<Manifest> => {
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

// The Deployment of the controller of Simulations.

/** For hooks, which have nothing else to write to. */
const workDirectory = "/tmp"

/** s from SIGTERM to SIGKILL: hooks may take 20 s to end, and what they did is written then. */
const gracePeriodSeconds = 30

const controllerDeployment = (settings: SimulationSettings): Manifest => {
  const { image, replicas, bind } = settings
  return deployment({
    ...{ ...metadataOf(settings), container: "controller", image, replicas, graceSeconds: gracePeriodSeconds },
    args: ["controller", `--listen=${bind.includes(":") ? `[${bind}]` : bind}:${controllerPort}`],
    env: [
      { name: "CTRL_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "TMPDIR", value: workDirectory },
    ],
    port: controllerPort,
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    ...(replicas > 1 && {
      placement: { topologySpreadConstraints: [spreadOver(selectorOf({ name: controllerName }))] },
    }),
    volumeMounts: [{ name: "work", mountPath: workDirectory }],
    volumes: [{ name: "work", emptyDir: { sizeLimit: "64Mi" } }],
    texts: {
      resources:
        "The rest up to the limit is for hooks. No CPU limit: the API server closes watches whose reader is throttled.",
      liveness: "Succeeds while the process is alive, regardless of the API server and of who is the leader.",
      readiness: "Succeeds once it has read the Simulations, or stands by for a controller that has.",
    },
  })
}

/** One node that fails does not take all of them. */
const spreadOver = (matchLabels: Readonly<Record<string, string>>) => ({
  maxSkew: 1,
  topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "ScheduleAnyway",
  labelSelector: { matchLabels },
})

// The ServiceAccount of the controller of Simulations and the fewest rights with which it works: what its definition watches and writes, and the right to
// bind one role. It can give the accounts of drivers that role and no other, and has the rights of that role itself nowhere.

/** Why it needs the rights to a resource; resources that are not here are of Simulations themselves. */
const reasons: Readonly<Record<string, string>> = {
  "/events": "what users see of a Simulation's life",
  "/namespaces": "namespaces of drivers; that of spec.metrics is looked up",
  "/pods": "pods of drivers: how far they are, and why they failed",
  "/secrets": "certificates of drivers' webhooks; it reads none",
  "/serviceaccounts": "accounts of drivers",
  "/services": "Services of drivers' webhooks",
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": "registrations of drivers' webhooks",
  "batch/jobs": "drivers",
  "coordination.k8s.io/leases": "whose turn it is, and which controller works",
  "monitoring.coreos.com/prometheuses": "Simulations with spec.metrics",
  "rbac.authorization.k8s.io/clusterrolebindings": "bindings of drivers' accounts to the role of drivers",
}

/** The account, then its roles and their bindings. */
const controllerRights = (settings: SimulationSettings): ReadonlyArray<Manifest> => {
  const { namespace, rights, driverRole } = settings
  const labels = simulationLabels(settings)
  const rules = new RuleSet()
  for (const { namespace: scope, rules: needed } of rights)
    for (const rule of needed) for (const single of apart(rule)) rules.allow(scope, single, reasonOf(single))
  rules.allow(
    undefined,
    {
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["clusterroles"],
      resourceNames: [driverRole],
      verbs: ["bind"],
    },
    "the one role that it may give to accounts, without having those rights itself",
  )
  return [
    serviceAccount(metadataOf(settings)),
    ...rules.scopes().flatMap((scope) =>
      boundRole(
        { name: controllerName, namespace: scope.namespace, labels },
        scope.rules.map(({ reasons: why, ...rule }) => ({ ...rule, reason: why.join("; ") })),
        { namespace, name: controllerName },
      ),
    ),
  ]
}

/** A rule for each resource, since each has its reason. */
const apart = (rule: PolicyRule): ReadonlyArray<PolicyRule> =>
  rule.apiGroups.flatMap((group) =>
    rule.resources.map((resource) => ({ ...rule, apiGroups: [group], resources: [resource] })),
  )

const reasonOf = ({ apiGroups: [group], resources: [resource = ""] }: PolicyRule): string =>
  reasons[`${group}/${resource}`] ?? "Simulations, and what owns their objects"

/** Pure. Namespaces of drivers are not among them: the controller creates those that are missing. */
export const simulationManifestsFor = (settings: SimulationSettings): ReadonlyArray<Manifest> => [
  ...settings.definitions.map((object) => manifest(object)),
  namespaceManifest(settings.namespace, simulationLabels(settings)),
  ...driverRoles(settings),
  ...controllerRights(settings),
  controllerDeployment(settings),
  controllersNetworkPolicy(metadataOf(settings), { ...settings, port: controllerPort, programs: "hooks" }),
  ...(settings.monitoring ? [podMonitor(metadataOf(settings))] : []),
]

const metadataOf = (settings: SimulationSettings) => ({
  name: controllerName,
  namespace: settings.namespace,
  labels: simulationLabels(settings),
})
