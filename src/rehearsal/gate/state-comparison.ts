/**
 * Compares the states that a rehearsal reaches with those that it should, and knows for each object since which step they differ.
 *
 * What the server decides is not compared: UIDs, versions, generations, `managedFields`, and one time with another. Objects with generated names
 * are compared as a group, because the names are random. Memory: the present states, none of the past ones.
 */
import { isRecord } from "../../is-record.ts"
import { parseGvk } from "../../kube/offline.ts"
import { type Difference, differencesOf, escaped, type JournalStep, keptByServer } from "../journal/journal.ts"
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
  /** The last expected state of an object that is expected to be gone by now. */
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

  /**
   * `undefined`: they agree. Objects of one generated name are matched with the nearest, equal ones first. A state that several objects have is compared
   * once: of 500 Pods, each with each would be 250,000 comparisons after every step.
   */
  #compare({ kind, expected, reached, isWhole }: Texts): ReadonlyArray<Difference> | undefined {
    const rules = this.#ignored.filter((rule) => rule.kind === undefined || isKind(kind, rule.kind))
    if (rules.some(({ path }) => path === undefined)) return undefined
    if (expected.size !== reached.size) return []
    const isIgnored = (given: string): boolean =>
      rules.some(({ path = "" }) => given === path || given.startsWith(`${path}/`))
    const between = (one: Members, other: Members): ReadonlyArray<Difference> =>
      differencesOf(one, other).filter((difference) => isDecided(difference, isWhole) && !isIgnored(difference.path))
    const byState = (texts: Texts["expected"]) =>
      Map.groupBy(parsedAll(texts).values(), (object) =>
        // A text of its own costs as much as the one comparison of an object that has no others beside it.
        texts.size === 1 ? texts : JSON.stringify(comparable(object, isIgnored)),
      )
    const [left, found] = [byState(expected), byState(reached)]
    const match = (some: Members[], others: Members[] = []): number => {
      const count = Math.min(some.length, others.length)
      some.splice(0, count)
      others.splice(0, count)
      return count
    }
    for (const [state, objects] of found) match(objects, left.get(state))
    let first: ReadonlyArray<Difference> | undefined
    for (const objects of found.values()) {
      const different: { readonly others: Members[]; readonly differences: ReadonlyArray<Difference> }[] = []
      for (const others of left.values()) {
        const [object, other] = [objects[0], others[0]]
        if (object === undefined || other === undefined) continue
        const differences = between(other, object)
        if (differences.length === 0) match(objects, others)
        else different.push({ others, differences })
      }
      different.sort((one, other) => one.differences.length - other.differences.length)
      for (const { others, differences } of different) if (match(objects, others) > 0) first ??= differences
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

/** The same for two states between which no difference is decided. `isIgnored`: by JSON pointer. */
const comparable = (value: unknown, isIgnored: (path: string) => boolean, path = ""): unknown => {
  if (isTime(value)) return anyTime
  if (Array.isArray(value)) return value.map((item, index) => comparable(item, isIgnored, `${path}/${index}`))
  if (!isRecord(value)) return value
  const members = Object.keys(value)
    .sort()
    .map((name) => ({ name, at: `${path}/${escaped(name)}` }))
    .filter(({ at }) => !(keptByServer.has(at) || ofServer.test(at) || isIgnored(at)))
  return Object.fromEntries(members.map(({ name, at }) => [name, comparable(value[name], isIgnored, at)]))
}

const anyTime = "1970-01-01T00:00:00Z"
const isTime = (value: unknown): boolean => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value)

/** Whether all that `part` has is in `whole`. */
const has = (whole: unknown, part: unknown): boolean => {
  if (isRecord(whole) && isRecord(part)) return Object.keys(part).every((name) => has(whole[name], part[name]))
  if (Array.isArray(whole) && Array.isArray(part)) return part.every((item) => whole.some((other) => has(other, item)))
  return whole === part
}
