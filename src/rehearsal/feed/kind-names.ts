/** Kinds of a trace and of a seed, by their names. */
import { parseGvk } from "../../kube/offline.ts"
import type { KindedObject } from "../../sandbox/index.ts"
import { inDependencyOrder } from "../../trace/index.ts"

/** `apps/v1.Deployment`. */
export const kindName = (gvk: KindedObject["gvk"]): string =>
  typeof gvk === "string" ? gvk : `${gvk.group === "" ? "" : `${gvk.group}/`}${gvk.version}.${gvk.kind}`

/** Groups of Kubernetes itself have no dot, or end in `.k8s.io`. */
export const isCustom = (gvk: string): boolean => {
  const { group } = parseGvk(gvk) ?? { group: "" }
  return group.includes(".") && !group.endsWith(".k8s.io")
}

/** Definitions before their objects, owners before what they own. */
export const inOrder = (objects: ReadonlyArray<KindedObject>): ReadonlyArray<KindedObject> => {
  const kinds = inDependencyOrder(new Set(objects.map(({ gvk }) => kindName(gvk))))
  return kinds.flatMap((kind) => objects.filter(({ gvk }) => kindName(gvk) === kind))
}

/** Of SimKube's configuration. */
export const trackedKinds = (config: Uint8Array): ReadonlyArray<string> => {
  const { trackedObjects = {} } = JSON.parse(Buffer.from(config).toString()) as { readonly trackedObjects?: object }
  return Object.keys(trackedObjects)
}
