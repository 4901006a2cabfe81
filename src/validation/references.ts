/** References to other objects as data: where they are, what they name, and what a repair removes. A rule's needs and its fix come from them. */

import {
  changedAt,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectIn,
  objectsIn,
  pathOf,
  textIn,
  withMember,
  withoutMember,
} from "../trace/index.ts"
import type { Fix, Need, Place, Removal, Rule, Target, TracedObject } from "./rule.ts"

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
const withPodSpecs = ({ object, templatePaths }: TracedObject, change: (spec: JsonObject) => JsonObject): JsonObject =>
  withChangedAt(
    object,
    specPathsOf(templatePaths).map(({ tokens }) => tokens),
    change,
  )

/** The objects at a path; `*` is every element of a list. */
const objectsAt = (value: JsonValue | undefined, path: ReadonlyArray<string>, depth = 0): ReadonlyArray<JsonObject> => {
  const key = path[depth]
  if (key === undefined) return isJsonObject(value) ? [value] : []
  if (isJsonList(value)) {
    const chosen = key === "*" ? value : value.filter((_, index) => String(index) === key)
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

/** Fields with names, in objects at a path. Paths are field paths: `env[*]` is every element of the list `env`. */
interface Site {
  /** Absent: the object or pod spec itself. */
  readonly holder?: string
  /** Of each holder, one after the other: the path to what a fix removes, or whose members it removes, and the field below it with the name. */
  readonly fields: ReadonlyArray<readonly [element: string, by: string]>
}

interface ReferencesOptions extends Pick<Target, "orClusterScoped" | "isOlder"> {
  /** Kind without version of what is named. */
  readonly kind: string | ((element: JsonObject) => string)
  /** Whether what is named is in no namespace. Default: it is in that of the object. */
  readonly isClusterScoped?: boolean
  /** By kind of the object; `*` is every kind. */
  readonly inObjects?: Readonly<Record<string, ReadonlyArray<Site>>>
  readonly inPods?: ReadonlyArray<Site>
  /** Whether every cluster or namespace has an object of that name. */
  readonly isExempt?: (name: string) => boolean
  readonly removes: string
  /** What the program of a repair calls the element. */
  readonly variable: string
  /** Members that a repair removes with the one that has the name. */
  readonly also?: ReadonlyArray<string>
  /** What else a repair changes in an object or pod spec from which it removed something. */
  readonly after?: (left: JsonObject, before: JsonObject) => JsonObject
  /** Instead of removing the element, or its members. */
  readonly removals?: Fix["removals"]
}

interface CompiledField extends Place {
  readonly path: ReadonlyArray<string>
  /** Members from the element to the name. */
  readonly names: ReadonlyArray<string>
}

interface CompiledSite {
  readonly holder: string
  readonly path: ReadonlyArray<string>
  readonly fields: ReadonlyArray<CompiledField>
}

const tokensOf = (path: string): ReadonlyArray<string> => (path === "" ? [] : path.replaceAll("[*]", ".*").split("."))

const joined = (...paths: ReadonlyArray<string>): string => paths.filter((path) => path !== "").join(".")

const compiled = (sites: ReadonlyArray<Site> = []): ReadonlyArray<CompiledSite> =>
  sites.map(({ holder = "", fields }) => ({
    holder,
    path: tokensOf(holder),
    fields: fields.map(([element, by]) => ({ element, by, path: tokensOf(element), names: by.split(".") })),
  }))

/** What a rule about references needs, and how to repair it. */
export const references = (options: ReferencesOptions): Required<Pick<Rule, "needs" | "fix">> => {
  const { kind, isClusterScoped = false, orClusterScoped = false, isOlder = false, also = [], isExempt } = options
  const inPods = compiled(options.inPods)
  const inObjects = new Map(Object.entries(options.inObjects ?? {}).map(([gvk, sites]) => [gvk, compiled(sites)]))
  const sitesOf = (gvk: string): ReadonlyArray<CompiledSite> => inObjects.get(gvk) ?? inObjects.get("*") ?? []
  const kindOf = (element: JsonObject): string => (typeof kind === "string" ? kind : kind(element))

  /** The name that must exist; empty if there is none, or it need not. */
  const nameIn = (element: JsonObject, { names }: CompiledField): string => {
    let reference: JsonObject | undefined = element
    for (const member of names.slice(0, -1)) reference = objectIn(reference, member)
    if (names.length > 1 && reference?.optional === true) return ""
    const name = textIn(reference, names.at(-1) ?? "")
    return isExempt?.(name) === true ? "" : name
  }

  function* needsIn(root: JsonObject, at: string, sites: ReadonlyArray<CompiledSite>, own: string): Generator<Need> {
    for (const site of sites)
      for (const holder of objectsAt(root, site.path))
        for (const field of site.fields)
          for (const found of objectsAt(holder, field.path)) {
            const name = nameIn(found, field)
            if (name === "") continue
            const named = { kind: kindOf(found), name }
            const target = { ...named, namespace: isClusterScoped ? "" : own, orClusterScoped, isOlder }
            yield { ...named, target, element: joined(at, site.holder, field.element), by: field.by }
          }
  }

  const members = new Set(
    [...inPods, ...[...inObjects.values()].flat()].flatMap(({ fields }) => fields.map(({ by }) => by)),
  )
  const dropped = [...members, ...also]
  const without = (
    root: JsonObject,
    sites: ReadonlyArray<CompiledSite>,
    isMissing: (kind: string, name: string) => boolean,
  ): JsonObject => {
    let left = root
    for (const site of sites)
      for (const field of site.fields) {
        const isLost = (element: JsonObject): boolean => {
          const name = nameIn(element, field)
          return name !== "" && isMissing(kindOf(element), name)
        }
        const path = [...site.path, ...field.path]
        left =
          path.at(-1) === "*"
            ? withChangedAt(left, [path.slice(0, -2)], (holder) => withoutEntries(holder, path.at(-2) ?? "", isLost))
            : withChangedAt(left, [path], (holder) => (isLost(holder) ? dropped.reduce(withoutMember, holder) : holder))
      }
    return left === root ? root : (options.after?.(left, root) ?? left)
  }

  return {
    *needs(traced) {
      yield* needsIn(traced.object, "", sitesOf(traced.gvk), traced.namespace)
      if (inPods.length > 0)
        for (const { spec, path } of podSpecsOf(traced)) yield* needsIn(spec, path, inPods, traced.namespace)
    },
    fix: {
      removes: options.removes,
      apply: (traced, isMissing) => {
        const object = without(traced.object, sitesOf(traced.gvk), isMissing)
        if (inPods.length === 0) return object
        return withPodSpecs({ ...traced, object }, (spec) => without(spec, inPods, isMissing))
      },
      removals: options.removals ?? ((place, literal) => removalsOf(place, literal, options.variable, also)),
    },
  }
}

/** The element of a list goes; of another element the members, that with the name last, because the others are found by it. */
export const removalsOf = (
  { element, by }: Place,
  literal: string,
  variable: string,
  also: ReadonlyArray<string> = [],
): ReadonlyArray<Removal> => {
  const where = `${variable} := ${element} | ${variable}.${by} == ${literal}`
  if (element.endsWith("[*]")) return [{ where, path: variable }]
  return [...also, by].map((member) => ({ where, path: `${variable}.${member}` }))
}

/** The holder with those objects removed from the list in a member; itself if there is none of them. What is no object stays. */
export const withoutEntries = (
  holder: JsonObject,
  member: string,
  isUnwanted: (entry: JsonObject) => boolean,
): JsonObject => {
  if (!objectsIn(holder, member).some(isUnwanted)) return holder
  const list = holder[member]
  if (!Array.isArray(list)) return holder
  return withMember(
    holder,
    member,
    list.filter((entry) => !(isJsonObject(entry) && isUnwanted(entry))),
  )
}
