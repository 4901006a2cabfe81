/** The recorder's account and its rights. */
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
    // The Deployment asks for the token; no other pod gets it by naming the account.
    automountServiceAccountToken: false,
  })

/** ClusterRole and Roles with their bindings: those that the configuration needs, and nothing else. */
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
 * With `--auth kubernetes`: what somebody has to be bound to in order to export, and to see what there is to export. Nobody
 * is until somebody does so.
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
    { path: ["rules", 0], text: "create: to export. get: to see what is recorded. There are no such objects." },
    {
      path: ["rules", 1],
      text: "reel export --in-cluster, through the API server; the recorder still asks for the right above",
    },
  )

/** Its own Events, on its own pod: nothing else in its namespace is its business. */
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
        text: "a changed configuration that cannot be used, on the recorder's own pod; without it only log and metrics say so",
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
