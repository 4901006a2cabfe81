/** The recorder's ServiceAccount and its permissions. */
import { type Manifest, manifest } from "./manifest/manifest.ts"
import { boundRole } from "./manifest/role.ts"
import { labelsOf, type ManifestSettings } from "./manifest/settings.ts"
import type { Rule } from "./rights/permissions.ts"

export const serviceAccount = (settings: ManifestSettings): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
    // The Deployment mounts the token explicitly; other pods with this account do not get it.
    automountServiceAccountToken: false,
  })

/** ClusterRole and Roles with their bindings: only what the configuration needs. */
export const roles = (settings: ManifestSettings): ReadonlyArray<Manifest> => {
  const { cluster, namespaces } = settings.permissions
  const account = { namespace: settings.namespace, name: settings.name }
  const bound = (namespace: string | undefined, rules: ReadonlyArray<Rule>) =>
    boundRole({ name: settings.name, namespace, labels: labelsOf(settings) }, rules, account)
  return [
    ...(cluster.length === 0 ? [] : bound(undefined, cluster)),
    ...namespaces.flatMap(({ namespace, rules }) => bound(namespace, rules)),
  ]
}

/**
 * With `--auth kubernetes`: the Role that lets users export and see what is recorded. It is not bound to anyone by default.
 */
export const exporters = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: {
        name: `${settings.name}-export`,
        namespace: settings.namespace,
        labels: labelsOf(settings),
      },
      rules: [
        { apiGroups: ["kubereel.dev"], resources: ["exports"], verbs: ["create", "get"] },
        {
          apiGroups: [""],
          resources: ["services/proxy"],
          resourceNames: [settings.name, settings.lease].flatMap((name) =>
            name === undefined ? [] : [`${name}:http`],
          ),
          verbs: ["create"],
        },
      ],
    },
    {
      path: ["rules", 0],
      text: "create permits exports, get permits reading what is recorded. No such objects exist.",
    },
    {
      path: ["rules", 1],
      text: "for reel export --in-cluster, through the API server; the recorder still requires the rule above",
    },
  )

/** Permission to create Events for its own pod; it needs nothing else in its namespace. */
export const ownEvents = ({ name, namespace, version }: ManifestSettings): ReadonlyArray<Manifest> =>
  boundRole(
    { name: `${name}-events`, namespace, labels: labelsOf({ name, version }) },
    [
      {
        apiGroups: ["events.k8s.io"],
        resources: ["events"],
        verbs: ["create"],
        reason:
          "Events about an invalid configuration, on the recorder's own pod; without it, only the log and the metrics report it",
      },
    ],
    { namespace, name },
  )

/** Permission to hold the Lease. RBAC cannot restrict `create` to a name. */
export const leaseHolding = (
  { name, namespace, version }: ManifestSettings,
  lease: string,
): ReadonlyArray<Manifest> => {
  const group = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] } as const
  const reason = "The Lease that chooses the recorder that records; without it, none records"
  return boundRole(
    { name: `${name}-lease`, namespace, labels: labelsOf({ name, version }) },
    [
      { ...group, resourceNames: [lease], verbs: ["get", "update"], reason },
      { ...group, verbs: ["create"], reason: "The Lease itself, once" },
    ],
    { namespace, name },
  )
}
