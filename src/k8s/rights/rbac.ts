/** The recorder's ServiceAccount and its permissions. */
import { type Manifest, manifest } from "../manifest.ts"
import { labelsOf, type ManifestSettings } from "../settings.ts"
import type { Rule } from "./permissions.ts"

const group = "rbac.authorization.k8s.io"
const apiVersion = `${group}/v1`

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
  const ofCluster =
    cluster.length === 0 ? [] : [role("ClusterRole", settings, undefined, cluster), binding(settings, undefined)]
  return [
    ...ofCluster,
    ...namespaces.flatMap(({ namespace, rules }) => [
      role("Role", settings, namespace, rules),
      binding(settings, namespace),
    ]),
  ]
}

/**
 * With `--auth kubernetes`: the Role that lets users export and see what is recorded. It is not bound to anyone by default.
 */
export const exporters = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion,
      kind: "Role",
      metadata: { ...metadata(settings, settings.namespace), name: `${settings.name}-export` },
      rules: [
        { apiGroups: ["kubereel.dev"], resources: ["exports"], verbs: ["create", "get"] },
        {
          apiGroups: [""],
          resources: ["services/proxy"],
          resourceNames: [`${settings.name}:http`],
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
export const ownEvents = (settings: ManifestSettings): ReadonlyArray<Manifest> => {
  const named = { ...metadata(settings, settings.namespace), name: `${settings.name}-events` }
  return [
    manifest(
      {
        apiVersion,
        kind: "Role",
        metadata: named,
        rules: [{ apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create"] }],
      },
      {
        path: ["rules", 0],
        text: "Events about an invalid configuration, on the recorder's own pod; without it, only the log and the metrics report it",
      },
    ),
    manifest({
      apiVersion,
      kind: "RoleBinding",
      metadata: named,
      roleRef: { apiGroup: group, kind: "Role", name: named.name },
      subjects: [{ kind: "ServiceAccount", name: settings.name, namespace: settings.namespace }],
    }),
  ]
}

const metadata = (settings: ManifestSettings, namespace: string | undefined) => ({
  name: settings.name,
  ...(namespace !== undefined && { namespace }),
  labels: labelsOf(settings),
})

const role = (
  kind: "ClusterRole" | "Role",
  settings: ManifestSettings,
  namespace: string | undefined,
  rules: ReadonlyArray<Rule>,
): Manifest =>
  manifest(
    {
      apiVersion,
      kind,
      metadata: metadata(settings, namespace),
      rules: rules.map(({ reason: _, ...rule }) => ({ ...rule })),
    },
    ...rules.map(({ reason }, index) => ({ path: ["rules", index], text: reason })),
  )

const binding = (settings: ManifestSettings, namespace: string | undefined): Manifest =>
  manifest({
    apiVersion,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: metadata(settings, namespace),
    roleRef: { apiGroup: group, kind: namespace === undefined ? "ClusterRole" : "Role", name: settings.name },
    subjects: [{ kind: "ServiceAccount", name: settings.name, namespace: settings.namespace }],
  })
