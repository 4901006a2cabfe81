/**
 * Decides which objects get their recorded status at the start of a replay: those of kinds whose status no one in the target writes. The
 * target's controllers would overwrite the status of all others, or be misled by it.
 */
import { isJsonObject, type JsonObject } from "../../trace/json/exact-json.ts"
import { isBuiltInKind, kindWithoutVersion } from "../../trace/sanitising/built-in-kinds.ts"
import type { TargetPlace } from "./target-object.ts"

/** Kinds without version, such as `Node`; `custom` means every kind that Kubernetes does not define. */
export type SeededKinds = ReadonlySet<string>

/** Means every kind that is not built into Kubernetes. */
export const allCustom = "custom"

/** Whether the status of objects of this kind is to be set. */
export const isStatusSeeded = (gvk: string, kinds: SeededKinds): boolean =>
  kinds.has(kindWithoutVersion(gvk)) || (kinds.has(allCustom) && !isBuiltInKind(gvk))

/** A body that sets the status of the object at that place; `undefined` if it is not to be set, or the object has none. */
export const statusBody = (object: JsonObject, place: TargetPlace, kinds: SeededKinds): JsonObject | undefined => {
  const { gvk, namespace, name } = place
  if (!isStatusSeeded(gvk, kinds) || !isJsonObject(object.status)) return undefined
  const metadata = namespace === "" ? { name } : { name, namespace }
  const [apiVersion, kind] = [gvk.slice(0, gvk.lastIndexOf(".")), gvk.slice(gvk.lastIndexOf(".") + 1)]
  return { apiVersion, kind, metadata, status: object.status }
}
