/** References to other objects as data: where they are, what they name, and what a repair removes. A rule's needs and its fix come from them. */
import { isJsonObject, type JsonObject } from "../trace/json/exact-json.ts"
import { withMember, withoutMember } from "../trace/json/members.ts"
import { listIn, objectIn, objectsAt, podSpecsOf, textIn, withChangedAt, withPodSpecs } from "./pod-specs.ts"
import type { Fix, Need, Place, Removal, Rule, Target } from "./rule.ts"

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
  if (!listIn(holder, member).some(isUnwanted)) return holder
  const list = holder[member]
  if (!Array.isArray(list)) return holder
  return withMember(
    holder,
    member,
    list.filter((entry) => !(isJsonObject(entry) && isUnwanted(entry))),
  )
}
