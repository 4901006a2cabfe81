/**
 * Checks a trace against the rules in one pass. Memory: the names of the objects that exist, the findings, and the unmet needs of one event.
 *
 * What an object refers to must exist when the state with the reference was recorded, or appear in the same event: objects are created
 * together, in any order. An event is what the trace calls one; where it has none, the objects at the start, and then the changes of one second,
 * which is the resolution of SimKube's format. An object that was deleted does not exist any more. Only applied objects are judged, not deletions.
 */
import type { ObjectEvent } from "../trace/event.ts"
import { readTrackedObjects, type TrackedObjects } from "../trace/formats/simkube/simkube-config.ts"
import { exactJsonIn, isJsonObject, type JsonObject } from "../trace/json/exact-json.ts"
import type { TraceItem } from "../trace/trace-item.ts"
import { addPlace, Findings, findingKey, type RuleFindings, type StateNeed } from "./findings.ts"
import { kindWithoutVersion, PresentObjects } from "./present-objects.ts"
import { builtInTemplatePaths } from "./references/pod-specs.ts"
import type { Place, Rule, TracedObject } from "./rule.ts"
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
  /** Objects that are not JSON objects; they were not checked. */
  readonly unreadable: number
}

/** Add every item in order, then {@link finish}. */
export class TraceValidation {
  readonly #present = new PresentObjects()
  readonly #reader: StateReader
  /** Unmet needs of the event that is being read, and those that the whole trace may meet; by rule code and key, with the states that have them. */
  readonly #ofEvent = new Map<string, { readonly need: StateNeed; count: number }>()
  readonly #ofTrace = new Map<string, { readonly need: StateNeed; count: number }>()
  #event: string | undefined
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
    else this.#check(traced, event.time)
  }

  /** The report of what was added. */
  finish(): ValidationReport {
    this.#endEvent()
    this.#settle(this.#ofTrace)
    const found = this.findings.of(rules)
    const missing = new Set(found.flatMap(({ findings }) => findings.map(({ kind }) => kind)))
    return {
      rules: found,
      states: this.#states,
      deletions: this.#deletions,
      unrecordedKinds: [...missing].filter((kind) => isKind(kind) && !this.#present.hasKind(kind)).toSorted(),
      unreadable: this.#unreadable,
    }
  }

  #check(traced: TracedObject, time: number): void {
    for (const rule of rules) {
      for (const target of rule.provides?.(traced) ?? []) this.#present.add(target)
      for (const need of needsOf(rule, traced, time)) {
        const { target, until = "event" } = need.need
        if (target === undefined) this.findings.add(need)
        else if (!this.#present.has(target)) {
          const waiting = until === "event" ? this.#ofEvent : this.#ofTrace
          const key = `${rule.code}\n${need.key}`
          const known = waiting.get(key)
          if (known === undefined) waiting.set(key, { need, count: 1 })
          else {
            known.count++
            for (const place of need.places) addPlace(known.need.places as Place[], place)
          }
        }
      }
    }
  }

  #endEvent(): void {
    this.#settle(this.#ofEvent)
  }

  #settle(waiting: Map<string, { readonly need: StateNeed; count: number }>): void {
    if (waiting.size === 0) return
    for (const { need, count } of waiting.values())
      if (need.need.target !== undefined && !this.#present.has(need.need.target)) this.findings.add(need, count)
    waiting.clear()
  }
}

/** Pseudo-kinds have spaces in their names, and no object has them. */
const isKind = (kind: string): boolean => /^(?:[\w.-]+\/)?[A-Z]\w*$/.test(kind)

/** The needs of one state, each once however often the state has it. */
export const needsOf = (rule: Rule, traced: TracedObject, time: number): Iterable<StateNeed> => {
  const found = new Map<string, StateNeed & { readonly places: Place[] }>()
  for (const need of rule.needs(traced)) {
    const subject = need.about ?? { gvk: traced.gvk, namespace: traced.namespace, name: traced.name }
    const key = findingKey(subject, need.kind, need.name)
    const known = found.get(key)
    if (known === undefined)
      found.set(key, { rule, need, subject, key, places: [{ element: need.element, by: need.by }], time })
    else addPlace(known.places, need)
  }
  return found.values()
}

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
    const templatePaths = builtInTemplatePaths(gvk) ?? this.#tracked.get(gvk)?.podSpecTemplatePaths ?? []
    return { gvk, namespace, name, object, templatePaths, namespacePrefix: this.#options.namespacePrefix }
  }
}
