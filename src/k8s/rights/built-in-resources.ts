/** Permissions can be computed without a cluster for built-in kinds. Others need one. */
import type { Discovery } from "../../kube/index.ts"
import { builtInResources, formatGvk, type GroupVersionKind } from "../../kube/offline.ts"

/** All kinds of the table, for the comparison with a real cluster. */
export const builtInKinds: ReadonlyArray<string> = [...builtInResources.keys()]

const verbs: ReadonlyArray<string> = ["get", "list", "watch"]

/** Returns the result of discovery, from the table. */
export const discoverBuiltIn = (gvk: GroupVersionKind): Discovery => {
  const name = formatGvk(gvk)
  const found = builtInResources.get(name)
  if (found === undefined)
    return { tag: "absent", missing: "kind", detail: `${name} is not built into Kubernetes 1.34` }
  return { tag: "found", resource: { gvk, ...found, verbs } }
}
