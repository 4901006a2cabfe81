/** All manifests of a controller host, in an order in which they can be applied. */

import {
  type PolicyRule,
  type ReasonedRule,
  RuleSet,
  type ScopedRules,
  type ServiceAccountName,
  secretName,
} from "../../host/index.ts"
import { type Manifest, manifest } from "../manifest/manifest.ts"
import {
  boundRole,
  controllersNetworkPolicy,
  grafanaDashboard,
  namespaceManifest,
  podMonitor,
  prometheusRule,
  serviceAccount,
} from "../manifest/objects.ts"
import { selectorOf } from "../manifest/settings.ts"
import alerts from "../monitoring/host-alerts.json" with { type: "json" }
import { hostDashboard } from "../monitoring/host-dashboard.ts"
import { clusterIdentity } from "../rights/permissions.ts"
import { hostDeployment, moduleConfigMaps } from "./host-deployment.ts"
import { accountsOf, type HostSettings, hostLabels, hostPort, servesWebhooks, webhookPort } from "./host-settings.ts"
import { stateClaim } from "./host-state.ts"

// The ServiceAccounts of a host and its modules, and the fewest rights with which they work.
//
// A module's account has what the module needs. The host's own account has what is done with it: the watches, which all
// modules share; tokens for the modules' accounts and no others; the question of what those may watch; and what modules
// without an account need. It has no right to impersonate: tokens make that unnecessary.

/** The accounts, then the roles and their bindings: the host's first. */
const rightsManifests = (settings: HostSettings): ReadonlyArray<Manifest> => {
  const { name, namespace, modules } = settings
  const host: ServiceAccountName = { namespace, name }
  const accounts = accountsOf(modules)
  // Every namespace has an account "default" already, and its pods use it.
  const made = accounts.filter((each) => each.name !== "default" && !isSame(each, host))
  return [
    ...[host, ...made].map((each) => serviceAccount({ ...each, labels: hostLabels(settings) })),
    ...rolesFor(settings, name, host, hostRules(settings)),
    ...accounts.flatMap((account) =>
      // A namespace has no dot in its name, so no two accounts have roles of one name.
      rolesFor(settings, [name, account.namespace, account.name].join("."), account, moduleRules(settings, account)),
    ),
  ]
}

const rolesFor = (
  settings: HostSettings,
  name: string,
  account: ServiceAccountName,
  scopes: ReadonlyArray<ScopedRules<ReasonedRule>>,
): ReadonlyArray<Manifest> =>
  scopes.flatMap(({ namespace, rules }) =>
    boundRole(
      { name, namespace, labels: hostLabels(settings) },
      rules.map(({ reasons, ...rule }) => ({ ...rule, reason: reasons.join("; ") })),
      account,
    ),
  )

const moduleRules = ({ modules }: HostSettings, account: ServiceAccountName) => {
  const rules = new RuleSet()
  for (const module of modules)
    if (module.account !== undefined && isSame(module.account, account))
      for (const each of module.rights)
        for (const rule of each.rules) rules.allow(each.namespace, rule, `module ${module.name}`)
  return rules.scopes()
}

const hostRules = ({ modules }: HostSettings) => {
  const rules = new RuleSet()
  for (const { name, webhooks } of modules)
    for (const { namespace, rules: needed } of webhooks)
      for (const rule of needed) rules.allow(namespace, rule, `webhooks of module ${name}`)
  for (const { name, account, rights } of modules)
    for (const { namespace, rules: needed } of rights)
      for (const rule of needed) {
        const watch = watchOf(rule)
        if (account === undefined) rules.allow(namespace, rule, `module ${name}, which has no account of its own`)
        else if (watch !== undefined) rules.allow(namespace, watch, `watches of module ${name}`)
      }
  const accounts = accountsOf(modules)
  for (const { namespace, name } of accounts)
    rules.allow(
      namespace,
      { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [name], verbs: ["create"] },
      "a token of a module's account; without it, the module cannot act",
    )
  if (accounts.length > 0)
    rules.allow(
      undefined,
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
      "what the modules' accounts may watch; without it, their watches are refused",
    )
  // A user who installs a host for some namespaces may not be able to grant cluster-wide permissions.
  if (rules.scopes().some(({ namespace }) => namespace === undefined))
    rules.allow(
      undefined,
      { apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] },
      clusterIdentity,
    )
  return rules.scopes()
}

/** The part of a rule that the host's shared watches need. */
const watchOf = (rule: PolicyRule): PolicyRule | undefined => {
  const resources = rule.resources.filter((resource) => !resource.includes("/"))
  const isWatched = rule.verbs.includes("*") || ["list", "watch"].every((verb) => rule.verbs.includes(verb))
  return isWatched && resources.length > 0 ? { ...rule, resources, verbs: ["list", "watch"] } : undefined
}

const isSame = (left: ServiceAccountName, right: ServiceAccountName): boolean =>
  left.namespace === right.namespace && left.name === right.name

/** The Service by which the API server finds the webhooks, and the Secret with their certificate, which the host fills. */
const webhookManifests = (settings: HostSettings): ReadonlyArray<Manifest> => {
  if (!servesWebhooks(settings)) return []
  const metadata = metadataOf(settings)
  const ports = [{ name: "webhooks", port: webhookPort, targetPort: webhookPort, protocol: "TCP" }]
  const spec = { selector: selectorOf(settings), publishNotReadyAddresses: true, ports }
  const readiness =
    "One pod serves all webhooks. If one of them cannot be registered, the pod is not ready, and the others are needed all the same."
  const text = "The host makes the certificate, and may not create Secrets: that right cannot be limited to a name."
  const secret = { apiVersion: "v1", kind: "Secret", type: "Opaque" }
  return [
    manifest(
      { apiVersion: "v1", kind: "Service", metadata, spec },
      { path: ["spec", "publishNotReadyAddresses"], text: readiness },
    ),
    manifest({ ...secret, metadata: { ...metadata, name: secretName(settings.name) } }, { path: ["type"], text }),
  ]
}

/** Pure. Namespaces of modules' ServiceAccounts are not among them: they are there for other reasons. */
export const hostManifestsFor = (settings: HostSettings): ReadonlyArray<Manifest> => [
  namespaceManifest(settings.namespace, hostLabels(settings)),
  ...rightsManifests(settings),
  ...moduleConfigMaps(settings),
  ...stateClaim(settings),
  ...webhookManifests(settings),
  hostDeployment(settings),
  controllersNetworkPolicy(metadataOf(settings), {
    ...{ ...settings, port: hostPort, programs: "scripts" },
    webhookPort: servesWebhooks(settings) ? webhookPort : undefined,
  }),
  ...(settings.monitoring
    ? [
        podMonitor(metadataOf(settings)),
        prometheusRule(metadataOf(settings), "kubereel-host", alerts),
        grafanaDashboard(metadataOf(settings), "kubereel-host.json", hostDashboard),
      ]
    : []),
]

const metadataOf = (settings: HostSettings) => ({
  name: settings.name,
  namespace: settings.namespace,
  labels: hostLabels(settings),
})
