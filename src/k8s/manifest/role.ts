/** Roles with their bindings: a Role in a namespace, or a ClusterRole. */

import type { Rule } from "../rights/permissions.ts"
import { type Manifest, manifest } from "./manifest.ts"

const group = "rbac.authorization.k8s.io"
const apiVersion = `${group}/v1`

/** Name and labels of a role and its binding. */
interface RoleName {
  readonly name: string
  /** `undefined`: a ClusterRole. */
  readonly namespace: string | undefined
  readonly labels: Readonly<Record<string, string>>
}

/** The role and its binding to a ServiceAccount. The reason of each rule is a comment. */
export const boundRole = (
  place: RoleName,
  rules: ReadonlyArray<Rule>,
  account: { readonly namespace: string; readonly name: string },
): ReadonlyArray<Manifest> => {
  const kind = place.namespace === undefined ? "ClusterRole" : "Role"
  return [
    manifest(
      { apiVersion, kind, metadata: metadataOf(place), rules: rules.map(({ reason: _, ...rule }) => ({ ...rule })) },
      ...rules.map(({ reason }, index) => ({ path: ["rules", index], text: reason })),
    ),
    manifest({
      apiVersion,
      kind: `${kind}Binding`,
      metadata: metadataOf(place),
      roleRef: { apiGroup: group, kind, name: place.name },
      subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
    }),
  ]
}

const metadataOf = ({ name, namespace, labels }: RoleName) => ({
  name,
  ...(namespace !== undefined && { namespace }),
  labels,
})
