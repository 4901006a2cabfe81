/** The pod specs inside an object, and reading and changing what is at a path of an object. */
import { DEFAULT_TEMPLATE_PATHS } from "../trace/formats/simkube/simkube-config.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../trace/json/exact-json.ts"
import { changedAt, pathOf } from "../trace/json/extended-pointer.ts"
import type { TracedObject } from "./rule.ts"

/** Where Kubernetes itself has pod templates. SimKube's place in ReplicaSets is a wrong one (W-20). */
const builtIn: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ...DEFAULT_TEMPLATE_PATHS,
  ["apps/v1.ReplicaSet", ["/spec/template"]],
  ["v1.ReplicationController", ["/spec/template"]],
  ["v1.PodTemplate", ["/template"]],
])

/** The template paths of a kind that Kubernetes defines; `undefined` for all others. */
export const builtInTemplatePaths = (gvk: string): ReadonlyArray<string> | undefined => builtIn.get(gvk)

/** A pod spec, and its field path. */
interface PlacedSpec {
  readonly spec: JsonObject
  /** `spec.template.spec`; empty if it cannot be written. */
  readonly path: string
}

interface SpecPath {
  readonly tokens: ReadonlyArray<string>
  readonly path: string
}

/** By the list of a kind's template paths, which all its states share: parsing them for each state and rule took a sixth of the time. */
const parsed = new WeakMap<ReadonlyArray<string>, ReadonlyArray<SpecPath>>()

const specPathsOf = (templatePaths: ReadonlyArray<string>): ReadonlyArray<SpecPath> => {
  const known = parsed.get(templatePaths)
  if (known !== undefined) return known
  const paths = templatePaths.map((pointer) => {
    const tokens = [...pathOf(pointer), "spec"]
    return { tokens, path: fieldPathOf(tokens) }
  })
  parsed.set(templatePaths, paths)
  return paths
}

/** Every pod spec of an object; none where a template path leads nowhere. */
export const podSpecsOf = ({ object, templatePaths }: TracedObject): ReadonlyArray<PlacedSpec> =>
  specPathsOf(templatePaths).flatMap(({ tokens, path }) => objectsAt(object, tokens).map((spec) => ({ spec, path })))

/** The object with each of its pod specs changed; itself if none was. */
export const withPodSpecs = (
  { object, templatePaths }: TracedObject,
  change: (spec: JsonObject) => JsonObject,
): JsonObject =>
  withChangedAt(
    object,
    specPathsOf(templatePaths).map(({ tokens }) => tokens),
    change,
  )

/** The objects at a path; `*` is every element of a list. */
export const objectsAt = (
  value: JsonValue | undefined,
  path: ReadonlyArray<string>,
  depth = 0,
): ReadonlyArray<JsonObject> => {
  const key = path[depth]
  if (key === undefined) return isJsonObject(value) ? [value] : []
  if (Array.isArray(value)) {
    const list = value as ReadonlyArray<JsonValue>
    const chosen = key === "*" ? list : list.filter((_, index) => String(index) === key)
    return chosen.flatMap((element) => objectsAt(element, path, depth + 1))
  }
  return isJsonObject(value) && Object.hasOwn(value, key) ? objectsAt(value[key], path, depth + 1) : []
}

/** Tokens of a pointer as a field path. */
const fieldPathOf = (tokens: ReadonlyArray<string>): string =>
  tokens
    .map((token, index) => {
      if (token === "*" || /^\d+$/.test(token)) return `[${token}]`
      const part = /^[\w-]+$/.test(token) ? token : JSON.stringify(token)
      return index === 0 ? part : `.${part}`
    })
    .join("")

/** The objects in a member that should be a list of objects; what is something else is left out. */
export const listIn = (holder: JsonObject, member: string): ReadonlyArray<JsonObject> => {
  const list = Object.hasOwn(holder, member) ? holder[member] : undefined
  return Array.isArray(list) ? (list as ReadonlyArray<JsonValue>).filter(isJsonObject) : []
}

/** An object in a member; `undefined` if there is none. */
export const objectIn = (holder: JsonObject | undefined, member: string): JsonObject | undefined => {
  const value = holder !== undefined && Object.hasOwn(holder, member) ? holder[member] : undefined
  return isJsonObject(value) ? value : undefined
}

/** A text in a member; empty if there is none. */
export const textIn = (holder: JsonObject | undefined, member: string): string => {
  const value = holder !== undefined && Object.hasOwn(holder, member) ? holder[member] : undefined
  return typeof value === "string" ? value : ""
}

/** The members of a pod spec that list containers. */
export const containerLists = ["initContainers", "containers", "ephemeralContainers"] as const

/** The object with the objects at some paths changed; itself if no change was one. `*` is every element of a list. */
export const withChangedAt = (
  object: JsonObject,
  paths: ReadonlyArray<ReadonlyArray<string>>,
  change: (holder: JsonObject) => JsonObject,
): JsonObject => {
  let isChanged = false
  const watched = (holder: JsonObject): JsonObject => {
    const changed = change(holder)
    if (changed !== holder) isChanged = true
    return changed
  }
  let left: JsonValue = object
  for (const path of paths) left = changedAt(left, path, watched)
  // The way to what did not change was copied all the same.
  return isChanged && isJsonObject(left) ? left : object
}
