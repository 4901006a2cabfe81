/** What was found, counted: one finding for each rule, object and reference, whatever the number of states that have it. */
import type { Need, Place, Rule, Subject } from "./rule.ts"

/** One thing that is wrong. */
export interface Finding {
  readonly rule: Rule
  readonly subject: Subject
  /** What is named and missing, for people: `Secret`, and its name. Both are empty if the object itself is what is wrong. */
  readonly kind: string
  readonly name: string
  /** Recorded states that have it. */
  readonly count: number
  /** When the first of them was recorded: µs since the Unix epoch. */
  readonly firstTime: number
  /** Where, each place once. */
  readonly places: ReadonlyArray<Place>
}

/** What one rule found. */
export interface RuleFindings {
  readonly rule: Rule
  /** In the order of the trace; at most as many as the limit. */
  readonly findings: ReadonlyArray<Finding>
  /** States with findings beyond the limit. */
  readonly unlisted: number
}

/** A need of one state, with all places at which the state has it. */
export interface StateNeed {
  readonly rule: Rule
  readonly need: Need
  readonly subject: Subject
  /** Unique for rule, subject and what is named. */
  readonly key: string
  readonly places: Place[]
  readonly time: number
}

/** The key of a finding. No part can contain a line break: an API server accepts none in a name. */
export const findingKey = (subject: Subject, kind: string, name: string): string =>
  `${subject.gvk}\n${subject.namespace}\n${subject.name}\n${kind}\n${name}`

interface Counted extends Omit<Finding, "places"> {
  count: number
  readonly places: Place[]
}

/** Add needs that were not met. Memory: the findings, at most `most` for each rule. */
export class Findings {
  readonly #most: number
  readonly #rules = new Map<Rule, { readonly findings: Map<string, Counted>; unlisted: number }>()

  /** `most`: 20,000 of every rule are 100 MB of JSON, more than a user reads. */
  constructor(most = 20_000) {
    this.#most = most
  }

  /** `count`: number of states. */
  add({ rule, need: { kind, name }, subject, key, places, time }: StateNeed, count = 1): void {
    const found = this.#rules.get(rule) ?? { findings: new Map<string, Counted>(), unlisted: 0 }
    this.#rules.set(rule, found)
    const known = found.findings.get(key)
    if (known === undefined && found.findings.size >= this.#most) {
      found.unlisted += count
      return
    }
    const finding = known ?? { rule, subject, kind, name, count: 0, firstTime: time, places: [] }
    if (known === undefined) found.findings.set(key, finding)
    finding.count += count
    for (const place of places) addPlace(finding.places, place)
  }

  has(rule: Rule, key: string): boolean {
    return this.#rules.get(rule)?.findings.has(key) === true
  }

  /** By rule, in the order given; rules without findings are left out. */
  of(rules: ReadonlyArray<Rule>): ReadonlyArray<RuleFindings> {
    return rules.flatMap((rule) => {
      const found = this.#rules.get(rule)
      return found === undefined ? [] : [{ rule, findings: [...found.findings.values()], unlisted: found.unlisted }]
    })
  }
}

/** Adds a place that is not there yet. */
export const addPlace = (places: Place[], { element, by }: Place): void => {
  if (!places.some((place) => place.element === element && place.by === by)) places.push({ element, by })
}
