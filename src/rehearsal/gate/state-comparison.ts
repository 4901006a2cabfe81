/**
 * Compares the states that a rehearsal reaches with those that it should, and knows for each object since which step they differ.
 *
 * What the server decides is not compared: UIDs, versions, generations, `managedFields`, and one time with another. Objects with generated names
 * are compared as a group, because the names are random. Memory: the present states, none of the past ones.
 */
import { isRecord } from "../../is-record.ts"
import { parseGvk } from "../../kube/offline.ts"
import { type Difference, differencesOf, type JournalStep } from "../journal/journal.ts"
import type { ExpectedState, ObjectState } from "../journal/object-state.ts"

/** What is not compared. */
export interface Ignored {
  /** Default: every kind. */
  readonly kind?: string | undefined
  /** A JSON pointer, with all below it. Default: objects of the kind are not compared at all. */
  readonly path?: string | undefined
}

export type Members = Readonly<Record<string, unknown>>

/** An object, or those of one generated name: their states, by name. */
interface Group<State> {
  readonly kind: string
  readonly namespace: string
  /** With a `*` in place of what the server generated. */
  readonly name: string
  readonly expected: Map<string, State>
  readonly reached: Map<string, State>
  /** Whether it has to have nothing else than what is expected. */
  isWhole: boolean
  /** The last state that was expected of one that is not any more. */
  formerly: State | undefined
}

/** Parsed when they are compared: the texts of all objects are in memory anyway. */
type Texts = Group<Uint8Array>

export interface ObjectDifference extends Readonly<Group<Members>> {
  /** From what is expected to what is reached, if there are as many of both. */
  readonly differences: ReadonlyArray<Difference>
  /** The first step after which they differed and never agreed again. */
  readonly since: StepPlace
}

export interface StepPlace {
  readonly time: string
  /** For people: `change 3, v1.Pod shop/web applied`. */
  readonly text: string
}

/** `change`: number of the last recorded change, from 1. */
export const placeOfStep = ({ time, cause }: Pick<JournalStep, "time" | "cause">, change: number): StepPlace => {
  if (cause.type === "start") return { time, text: "the start" }
  if (cause.type !== "change") return { time, text: `a ${cause.type} after change ${change}` }
  return { time, text: `change ${change}, ${cause.kind} ${nameOf(cause)} ${cause.action}` }
}

/** `shop/web`; without a slash for a cluster-scoped object. */
export const nameOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  namespace === "" ? name : `${namespace}/${name}`

/** The same of an object. */
export const nameIn = ({ metadata }: Members): string => {
  const { namespace = "", name = "" } = isRecord(metadata) ? metadata : {}
  return nameOf({ namespace: String(namespace), name: String(name) })
}

export class StateComparison {
  readonly #ignored: ReadonlyArray<Ignored>
  readonly #groups = new Map<string, Texts>()
  /** By place, the group in which an object is, as long as it is there. */
  readonly #memberships = new Map<string, Texts>()
  readonly #touched = new Set<Texts>()
  readonly #open = new Map<Texts, Pick<ObjectDifference, "differences" | "since">>()

  constructor(ignored: ReadonlyArray<Ignored> = []) {
    this.#ignored = ignored
  }

  expect(state: ExpectedState): void {
    const group = this.#set("expected", state)
    if (group !== undefined) group.isWhole = state.isWhole
  }

  reach(state: ObjectState): void {
    this.#set("reached", state)
  }

  /** Everything that has changed up to the end of this step. */
  stepEnded(step: Pick<JournalStep, "time" | "cause">, change: number): void {
    for (const group of this.#touched) {
      const differences = this.#compare(group)
      const since = this.#open.get(group)?.since ?? placeOfStep(step, change)
      if (differences === undefined) this.#open.delete(group)
      else this.#open.set(group, { differences, since })
    }
    this.#touched.clear()
  }

  /** Objects that differ now, in the order of the steps since which they do. */
  get differing(): ReadonlyArray<ObjectDifference> {
    return [...this.#open]
      .map(([group, found]) => ({
        ...{ ...group, ...found, formerly: group.formerly && parsed(group.formerly) },
        ...{ expected: parsedAll(group.expected), reached: parsedAll(group.reached) },
      }))
      .sort((one, other) => (one.since.time < other.since.time ? -1 : one.since.time > other.since.time ? 1 : 0))
  }

  /** The objects of a kind in any version that are reached now; `isChanged`: only those that have changed since the last step. */
  *objects(kind: string, isChanged = false): Generator<Members, void> {
    for (const group of isChanged ? this.#touched : this.#groups.values())
      if (isKind(group.kind, kind)) yield* parsedAll(group.reached).values()
  }

  #set(side: "expected" | "reached", { kind, namespace, name, bytes }: ObjectState): Texts | undefined {
    if (isNeverCompared(kind)) return undefined
    const place = `${side} ${withoutVersion(kind)} ${namespace}/${name}`
    const known = this.#memberships.get(place)
    if (bytes === undefined) {
      if (known === undefined) return undefined
      if (side === "expected") known.formerly = known.expected.get(name)
      known[side].delete(name)
      this.#touched.add(known)
      this.#memberships.delete(place)
      return known
    }
    const group = known ?? this.#group(kind, namespace, groupName(bytes, name))
    this.#memberships.set(place, group)
    group[side].set(name, bytes)
    this.#touched.add(group)
    return group
  }

  #group(kind: string, namespace: string, name: string): Texts {
    const key = `${withoutVersion(kind)} ${namespace}/${name}`
    const group = this.#groups.get(key) ?? {
      ...{ kind, namespace, name, expected: new Map(), reached: new Map(), isWhole: true, formerly: undefined },
    }
    this.#groups.set(key, group)
    return group
  }

  /** `undefined`: they agree. */
  #compare({ kind, expected, reached, isWhole }: Texts): ReadonlyArray<Difference> | undefined {
    const rules = this.#ignored.filter((rule) => rule.kind === undefined || isKind(kind, rule.kind))
    if (rules.some(({ path }) => path === undefined)) return undefined
    if (expected.size !== reached.size) return []
    const between = (one: Members, other: Members): ReadonlyArray<Difference> =>
      differencesOf(one, other).filter(
        (difference) =>
          isDecided(difference, isWhole) &&
          !rules.some(({ path = "" }) => difference.path === path || difference.path.startsWith(`${path}/`)),
      )
    const left = new Set(parsedAll(expected).values())
    let first: ReadonlyArray<Difference> | undefined
    for (const object of parsedAll(reached).values()) {
      const found = [...left].map((one) => ({ one, differences: between(one, object) }))
      const nearest = found.toSorted((one, other) => one.differences.length - other.differences.length)[0]
      if (nearest === undefined) continue
      left.delete(nearest.one)
      if (nearest.differences.length > 0) first ??= nearest.differences
    }
    return first
  }
}

/** Events and Leases: they tell of what happens, and are not what is wanted. */
export const isNeverCompared = (kind: string): boolean =>
  /^(?:v1|events\.k8s\.io\/\w+)\.Event$|^coordination\.k8s\.io\//.test(kind)

const withoutVersion = (gvk: string): string => {
  const { group, kind } = parseGvk(gvk) ?? { group: "", kind: gvk }
  return `${group}/${kind}`
}

/** Whether both are the same kind, in whatever version. */
export const isKind = (one: string, other: string): boolean =>
  one === other || withoutVersion(one) === withoutVersion(other)

const parsed = (text: Uint8Array): Members => JSON.parse(Buffer.from(text).toString())
const parsedAll = (texts: ReadonlyMap<string, Uint8Array>): Map<string, Members> =>
  new Map([...texts].map(([name, text]) => [name, parsed(text)]))

const groupName = (text: Uint8Array, name: string): string => {
  // Few objects have one.
  if (!Buffer.from(text.buffer, text.byteOffset, text.byteLength).includes('"generateName"')) return name
  const { metadata } = parsed(text)
  const prefix = isRecord(metadata) ? metadata.generateName : undefined
  return typeof prefix === "string" && prefix !== "" && name.startsWith(prefix) ? `${prefix}*` : name
}

const ofServer =
  /^\/(?:apiVersion|kind|metadata\/(?:uid|name|creationTimestamp|selfLink|deletionGracePeriodSeconds|ownerReferences\/\d+\/(?:uid|apiVersion)))$|\/observedGeneration$/

/** Whether a difference is one that controllers have decided. */
const isDecided = ({ path, before, after }: Difference, isWhole: boolean): boolean => {
  if (ofServer.test(path) || (isTime(before) && isTime(after))) return false
  if (isWhole || path === "/metadata/ownerReferences") return true
  return after !== undefined && !has(before, after)
}

const isTime = (value: unknown): boolean => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value)

/** Whether all that `part` has is in `whole`. */
const has = (whole: unknown, part: unknown): boolean => {
  if (isRecord(whole) && isRecord(part)) return Object.keys(part).every((name) => has(whole[name], part[name]))
  if (Array.isArray(whole) && Array.isArray(part)) return part.every((item) => whole.some((other) => has(other, item)))
  return whole === part
}
