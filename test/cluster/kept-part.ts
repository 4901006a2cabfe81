/**
 * The kept part of an object: the part whose change counts for `detect`. Written from the rules, without looking at
 * the recorder's code, which works on bytes and hashes; this one removes members from parsed JSON.
 */

import { at, isObject, type Json, type JsonObject } from "./exact-json.ts"

/** How a kind is recorded, as in the recorder's configuration. */
export interface Rule {
  /**
   * `all`: every new resourceVersion; with ignored values, anything but those and `metadata.{resourceVersion,generation,managedFields}`. `content`: anything but `status` and
   * `metadata.{resourceVersion,generation,managedFields}`. `spec`: only `spec`, without a Pod's `nodeName`.
   */
  readonly detect: "all" | "content" | "spec"
  /** JSON pointers (RFC 6901) whose values never count. Default none. */
  readonly ignore?: readonly string[]
  /** Whether recorded objects contain `metadata.managedFields`. Default true. */
  readonly keepManagedFields?: boolean
}

const versions = ["/metadata/resourceVersion", "/metadata/generation", "/metadata/managedFields"]

/**
 * The part that counts; two versions of one object are the same to the recorder when these are deeply equal.
 *
 * A watch's objects carry their type and a list's items do not, so the type is an argument and never part of the result.
 */
export const keptPart = (gvk: string, object: JsonObject, rule: Rule): Json => {
  const { apiVersion: _apiVersion, kind: _kind, ...untyped } = object
  const ignored = rule.ignore ?? []
  switch (rule.detect) {
    case "all":
      if (ignored.length > 0) return removeAll(untyped, [...versions, ...ignored]) ?? null
      return removeAll(untyped, rule.keepManagedFields === false ? ["/metadata/managedFields"] : []) ?? null
    case "content":
      return removeAll(untyped, ["/status", ...versions, ...ignored]) ?? null
    case "spec":
      return at(removeAll(untyped, gvk === "v1.Pod" ? ["/spec/nodeName", ...ignored] : ignored), "spec") ?? null
  }
}

/** The object without the values at the pointers; `undefined` if nothing is left. */
export const removeAll = (value: Json, pointers: readonly string[]): Json | undefined =>
  pointers.reduce<Json | undefined>((rest, pointer) => {
    if (!pointer.startsWith("/")) throw new Error(`"${pointer}" is not a JSON pointer below the object`)
    const path = pointer.slice(1).split("/")
    return remove(
      rest,
      path.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")),
    )
  }, value)

/**
 * An object all of whose members are ignored counts as absent, so ignored annotations that are added and removed make
 * no difference.
 */
const remove = (value: Json | undefined, path: readonly string[]): Json | undefined => {
  const [name, ...below] = path
  if (name === undefined || value === undefined) return undefined
  if (Array.isArray(value)) {
    // Elements of a list keep their places: removing one would make the others look changed.
    return value.map((item: Json, index) => (String(index) === name ? (remove(item, below) ?? null) : item))
  }
  if (!isObject(value)) return value
  const { [name]: member, ...others } = value
  const rest = remove(member, below)
  if (rest !== undefined) return { ...others, [name]: rest }
  return Object.keys(others).length === 0 ? undefined : others
}
