/** The kinds that CustomResourceDefinitions define, where a cluster that has them is not at hand. */
import { isRecord } from "../../is-record.ts"
import type { ApiResource } from "../../kube/discovery.ts"
import { documentsOf, UnusableDefinition } from "./definition-types.ts"

const verbs: ReadonlyArray<string> = ["get", "list", "watch", "create", "update", "patch", "delete"]

/** One for each served version. Other objects in the text are passed over. Throws {@link UnusableDefinition}. */
export const definedKinds = (text: string): ReadonlyArray<ApiResource> => {
  const found = documentsOf(text)
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .flatMap(({ spec }) => (isRecord(spec) ? kindsOf(spec) : []))
  if (found.length === 0)
    throw new UnusableDefinition({ problem: "has no CustomResourceDefinition with a served version" })
  return found
}

const kindsOf = ({ group, names, scope, versions }: Readonly<Record<string, unknown>>): ReadonlyArray<ApiResource> => {
  const { kind, plural } = isRecord(names) ? names : {}
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string")
    throw new UnusableDefinition({
      problem: "has a CustomResourceDefinition without spec.group, spec.names.kind or spec.names.plural",
    })
  return (Array.isArray(versions) ? versions.filter(isRecord) : []).flatMap(({ name, served }) =>
    served === true && typeof name === "string"
      ? [{ gvk: { group, version: name, kind }, plural, namespaced: scope !== "Cluster", verbs }]
      : [],
  )
}
