/** All manifests of the controller of Simulations, in an order in which they can be applied. */

import { type PolicyRule, RuleSet } from "../../host/controller/rule-set.ts"
import { controllersNetworkPolicy } from "../manifest/controllers-network.ts"
import { type Manifest, manifest } from "../manifest/manifest.ts"
import { namespaceManifest } from "../manifest/namespace.ts"
import { boundRole } from "../manifest/role.ts"
import { selectorOf } from "../manifest/settings.ts"
import { controllerDeployment } from "./controller-deployment.ts"
import { driverRoles } from "./driver-role.ts"
import { controllerName, controllerPort, type SimulationSettings, simulationLabels } from "./simulation-settings.ts"

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
    manifest({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: controllerName, namespace, labels },
      // The Deployment mounts the token explicitly; other pods with this account do not get it.
      automountServiceAccountToken: false,
    }),
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
  controllersNetworkPolicy({
    ...settings,
    name: controllerName,
    labels: simulationLabels(settings),
    port: controllerPort,
    programs: "hooks",
  }),
  ...(settings.monitoring ? [podMonitor(settings)] : []),
]

/** Nothing but Prometheus calls the controller, so there is no Service. */
const podMonitor = (settings: SimulationSettings): Manifest =>
  manifest({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: { name: controllerName, namespace: settings.namespace, labels: simulationLabels(settings) },
    spec: {
      selector: { matchLabels: selectorOf({ name: controllerName }) },
      podMetricsEndpoints: [{ port: "http", path: "/metrics", interval: "15s" }],
    },
  })
