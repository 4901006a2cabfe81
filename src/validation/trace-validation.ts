/**
 * Checks a trace against the rules in one pass. Memory: the names of the objects that exist, the findings, and the unmet needs.
 *
 * What an object refers to must exist when the state with the reference was recorded, or appear later: `kubectl apply` creates a Deployment
 * before its ConfigMap if they are in that order in a file, and its pods wait until the ConfigMap is there. Owners are different, because a later object of
 * that name is another one: it counts if it appears in the same event, or if it was created before, since kinds are recorded in streams of their
 * own, and some only from later on. An event is what the trace calls one; where it has none, the objects at the start, and then the changes of
 * one second, which is the resolution of SimKube's format. An object that was deleted does not exist any more. Only applied objects are
 * judged, not deletions, nor objects that are being deleted: when a namespace or an owner goes, what is left refers to what went first.
 */
import {
  BadTraceError,
  builtInTemplatePaths,
  DecompressionError,
  exactJsonIn,
  isJsonObject,
  type JsonObject,
  kindWithoutVersion,
  type ObjectEvent,
  objectIn,
  readTrackedObjects,
  type TraceItem,
  type TrackedObjects,
  textIn,
} from "../trace/index.ts"
import { addPlace, Findings, findingKey, type RuleFindings, type StateNeed } from "./findings.ts"
import type { Need, Rule, Target, TracedObject } from "./rule.ts"
import { rules } from "./rules.ts"

const second = 1_000_000

/** How to check. */
export interface ValidationOptions {
  /** Prefix of the replay's namespaces, without the hyphen; empty: none. */
  readonly namespacePrefix: string
  /** Most findings kept for each rule; further ones are only counted. Default: 20,000. */
  readonly mostFindings?: number
}

/** What was found. */
export interface ValidationReport {
  readonly rules: ReadonlyArray<RuleFindings>
  /** Recorded states that were checked. */
  readonly states: number
  readonly deletions: number
  /** Kinds without version that are referred to and missing, and of which the trace never has any object. */
  readonly unrecordedKinds: ReadonlyArray<string>
  /** Kinds without version that are referred to and that a recorder's trace does not record: their objects were not looked for. */
  readonly notLookedFor: ReadonlyArray<string>
  /** References that count as missing although the rest of the trace was not searched for them: beyond the {@link mostUnmet} first ones. */
  readonly notAwaited: number
  /** Objects that are not JSON objects; they were not checked. */
  readonly unreadable: number
}

/** Add every item in order, then {@link finish}. */
export class TraceValidation {
  readonly #present = new PresentObjects()
  readonly #reader: StateReader
  /** What the event that is being read may still meet, and what the rest of the trace may. */
  readonly #ofEvent: Waiting = new Map()
  readonly #ofTrace = new LaterObjects()
  /** A recorder's trace with everything that the server sent, of which a replay leaves out what is not to be written. */
  #isWhole = false
  #event: string | undefined
  /** Kinds without version that a recorder recorded. */
  #recordedKinds: ReadonlySet<string> = new Set()
  readonly #notLookedFor = new Set<string>()
  #notAwaited = 0
  #hasBatches = false
  #states = 0
  #deletions = 0
  #unreadable = 0
  readonly findings: Findings

  constructor(options: ValidationOptions) {
    this.#reader = new StateReader(options)
    this.findings = new Findings(options.mostFindings)
  }

  add(item: TraceItem): void {
    this.#reader.configure(item)
    if (item.type === "header") {
      this.#isWhole = item.window !== undefined && (item.sanitised ?? "none") === "none"
      this.#recordedKinds = new Set(item.kinds.map(kindWithoutVersion))
    }
    if (item.type === "batch") {
      this.#hasBatches = true
      this.#endEvent()
    }
    if (item.type !== "event" || item.event.type !== "object") return
    const { event, isSnapshot } = item
    if (!this.#hasBatches) {
      const name = isSnapshot ? "start" : String(Math.floor(event.time / second))
      if (name !== this.#event) this.#endEvent()
      this.#event = name
    }
    const target = { kind: kindWithoutVersion(event.gvk), namespace: event.namespace, name: event.name }
    if (event.action !== "applied") {
      this.#deletions++
      return this.#present.remove(target)
    }
    this.#states++
    this.#present.add(target)
    const traced = this.#reader.read(event)
    if (traced === undefined) this.#unreadable++
    else {
      this.#ofTrace.meet(target, traced)
      if (!isTerminating(traced)) this.#check(traced, event.time)
    }
  }

  /** The report of what was added. */
  finish(): ValidationReport {
    this.#endEvent()
    for (const { need, count } of this.#ofTrace.unmet()) this.findings.add(need, count)
    const found = this.findings.of(rules)
    const missing = new Set(found.flatMap(({ findings }) => findings.map(({ kind }) => kind)))
    return {
      rules: found,
      states: this.#states,
      deletions: this.#deletions,
      unrecordedKinds: [...missing].filter((kind) => isKind(kind) && !this.#present.hasKind(kind)).toSorted(),
      notLookedFor: [...this.#notLookedFor].toSorted(),
      notAwaited: this.#notAwaited,
      unreadable: this.#unreadable,
    }
  }

  /** Whether the rule does not look for objects of a kind that the recorder did not record. A header without kinds says nothing. */
  #isNotLookedFor(rule: Rule, kind: string): boolean {
    const mayLack = this.#isWhole && rule.isOfRecordedKinds === true && this.#recordedKinds.size > 0
    return mayLack && !this.#recordedKinds.has(kind)
  }

  #check(traced: TracedObject, time: number): void {
    for (const rule of rules) {
      if (this.#isWhole && rule.isOfSanitised === true) continue
      for (const target of rule.provides?.(traced) ?? []) {
        this.#present.add(target)
        this.#ofTrace.meet(target, traced)
      }
      // One that is met by now stays met until the end of the event.
      const isUnmet = ({ target }: Need): boolean => target === undefined || !this.#present.has(target)
      for (const need of needsOf(rule, traced, time, isUnmet)) {
        const { target } = need.need
        if (target === undefined) this.findings.add(need)
        else if (this.#isNotLookedFor(rule, target.kind)) this.#notLookedFor.add(target.kind)
        else wait(this.#ofEvent, need)
      }
    }
  }

  #endEvent(): void {
    for (const { need, count } of this.#ofEvent.values()) {
      const { target } = need.need
      if (target === undefined || this.#present.has(target)) continue
      if (this.#ofTrace.await(need, count)) continue
      this.#notAwaited += count
      this.findings.add(need, count)
    }
    this.#ofEvent.clear()
  }
}

/** The names of the objects that exist at a moment of a trace, by kind and namespace, because one Set holds at most 2^24 of them. Add what is applied, remove what is deleted. */
class PresentObjects {
  readonly #kinds = new Map<string, Map<string, Set<string>>>()

  add({ kind, namespace, name }: Target): void {
    const namespaces = this.#kinds.get(kind) ?? new Map<string, Set<string>>()
    if (namespaces.size === 0) this.#kinds.set(kind, namespaces)
    const names = namespaces.get(namespace) ?? new Set<string>()
    if (names.size === 0) namespaces.set(namespace, names)
    names.add(name)
  }

  remove({ kind, namespace, name }: Target): void {
    this.#kinds.get(kind)?.get(namespace)?.delete(name)
  }

  has({ kind, namespace, name, orClusterScoped = false }: Target): boolean {
    const namespaces = this.#kinds.get(kind)
    if (namespaces === undefined) return false
    return namespaces.get(namespace)?.has(name) === true || (orClusterScoped && namespaces.get("")?.has(name) === true)
  }

  /** Whether there ever was an object of that kind. */
  hasKind(kind: string): boolean {
    return this.#kinds.has(kind)
  }
}

/** Some 50 MB. A trace with so many is one of Pods without their ReplicaSets, and the like. */
const mostUnmet = 50_000

/** Needs that were not met when their state was recorded, in the order of the trace, until the trace has what they name. Memory: one entry for each finding that there may be. */
class LaterObjects {
  readonly #unmet: Waiting = new Map()
  /** By kind and name of the target, keys of what waits for it. */
  readonly #targets = new Map<string, Set<string>>()

  /** Returns false if there are too many. */
  await(need: StateNeed, count: number): boolean {
    const { target } = need.need
    if (target === undefined || (this.#unmet.size >= mostUnmet && !this.#unmet.has(keyOf(need)))) return false
    const key = wait(this.#unmet, need, count)
    const name = nameOf(target)
    const keys = this.#targets.get(name) ?? new Set()
    this.#targets.set(name, keys.add(key))
    return true
  }

  /** The trace has a state of `object`, which is or provides the target. */
  meet(target: Target, { object }: TracedObject): void {
    if (this.#unmet.size === 0) return
    const keys = this.#targets.get(nameOf(target))
    if (keys === undefined) return
    const created = Date.parse(textIn(objectIn(object, "metadata"), "creationTimestamp")) * 1000
    for (const key of keys) {
      const { need } = this.#unmet.get(key) ?? {}
      const wanted = need?.need.target
      if (need === undefined || wanted === undefined) continue
      if (wanted.isOlder === true && !(created <= need.time)) continue
      if (wanted.namespace !== target.namespace && !(wanted.orClusterScoped && target.namespace === "")) continue
      this.#unmet.delete(key)
      keys.delete(key)
    }
  }

  unmet(): Iterable<Unmet> {
    return this.#unmet.values()
  }
}

const nameOf = ({ kind, name }: Target): string => `${kind}\n${name}`

/** Whether its deletion was requested. SimKube's format does not keep that. */
const isTerminating = ({ object }: TracedObject): boolean =>
  textIn(objectIn(object, "metadata"), "deletionTimestamp") !== ""

/** Unmet needs by rule code and key, with the number of states that have them. */
type Waiting = Map<string, Unmet>

interface Unmet {
  readonly need: StateNeed
  count: number
}

const keyOf = ({ rule, key }: StateNeed): string => `${rule.code}\n${key}`

/** Returns the key under which it waits. */
const wait = (waiting: Waiting, need: StateNeed, count = 1): string => {
  const key = keyOf(need)
  const known = waiting.get(key)
  if (known === undefined) waiting.set(key, { need, count })
  else {
    known.count += count
    for (const place of need.places) addPlace(known.need.places, place)
  }
  return key
}

/** Pseudo-kinds have spaces in their names, and no object has them. */
const isKind = (kind: string): boolean => /^(?:[\w.-]+\/)?[A-Z]\w*$/.test(kind)

/** The unmet needs of one state, each once however often the state has it. */
const needsOf = (
  rule: Rule,
  traced: TracedObject,
  time: number,
  isUnmet: (need: Need) => boolean,
): Iterable<StateNeed> => {
  let found: Map<string, StateNeed> | undefined
  for (const need of rule.needs(traced)) {
    if (!isUnmet(need)) continue
    const subject = need.about ?? traced
    const key = findingKey(subject, need.kind, need.name)
    const known = found?.get(key)
    if (known !== undefined) addPlace(known.places, need)
    else {
      const { gvk, namespace, name } = subject
      // Not the state itself, which would be kept with the finding.
      const named = { gvk, namespace, name }
      found ??= new Map()
      found.set(key, { rule, need, subject: named, key, places: [{ element: need.element, by: need.by }], time })
    }
  }
  return found?.values() ?? none
}

const none: ReadonlyArray<StateNeed> = []

const noPaths: ReadonlyArray<string> = []

/** Reads states with what the trace's configuration says of their kinds. */
export class StateReader {
  readonly #options: ValidationOptions
  #tracked: TrackedObjects = new Map()

  constructor(options: ValidationOptions) {
    this.#options = options
  }

  /** Remembers a configuration; other items change nothing. */
  configure(item: TraceItem): void {
    if (item.type !== "config") return
    const config = exactJsonIn(item.config)
    this.#tracked = (isJsonObject(config) && readTrackedObjects(config.trackedObjects)) || new Map()
  }

  /** `undefined`: it is not a JSON object. */
  read({ gvk, namespace, name, object: bytes }: ObjectEvent): TracedObject | undefined {
    const object = exactJsonIn(bytes)
    return isJsonObject(object) ? this.of(gvk, namespace, name, object) : undefined
  }

  /** The same for an object that was read. */
  of(gvk: string, namespace: string, name: string, object: JsonObject): TracedObject {
    const templatePaths = builtInTemplatePaths(gvk) ?? this.#tracked.get(gvk)?.podSpecTemplatePaths ?? noPaths
    return { gvk, namespace, name, object, templatePaths, namespacePrefix: this.#options.namespacePrefix }
  }
}

/** A report, and whether it is of the whole trace. */
export interface ValidatedTrace {
  readonly report: ValidationReport
  readonly validation: TraceValidation
  /** Why the trace could not be read to its end, with the byte; absent: it was. */
  readonly cut?: BadTraceError | DecompressionError
}

/** Reads all items. Rejects with the error of the source, unless that is about the bytes and some objects were read before. */
export const validateTrace = async (
  items: AsyncIterable<Iterable<TraceItem>>,
  options: ValidationOptions,
): Promise<ValidatedTrace> => {
  const validation = new TraceValidation(options)
  let isBegun = false
  try {
    for await (const chunk of items)
      for (const item of chunk) {
        validation.add(item)
        if (item.type === "event") isBegun = true
      }
  } catch (error) {
    const isAboutBytes = error instanceof BadTraceError || error instanceof DecompressionError
    if (!isAboutBytes || !isBegun) throw error
    return { report: validation.finish(), validation, cut: error }
  }
  return { report: validation.finish(), validation }
}
