/**
 * What validation found, state by state: a finding names its object and its first state, and a later state has it if it still has what the rule objects to.
 * A reference that was missing once counts for all states that have it, also after what it names was created.
 *
 * A state is read again when it is asked for, because most are never shown. Memory: the findings, and the answers for some thousand states.
 */
import { exactJsonIn, isJsonObject, type TraceItem } from "../../../trace/index.ts"
import { type Finding, findingKey, StateReader, type Subject } from "../../../validation/index.ts"

/** Answers that are kept: screens full of rows. */
const mostKept = 4096

const noFindings: ReadonlyArray<Finding> = []

/** One state of which findings are asked for. */
interface AskedState extends Subject {
  /** The index of the event. */
  readonly event: number
  /** µs since the Unix epoch. */
  readonly time: number
  readonly read: () => Uint8Array
}

export class StateFindings {
  readonly #reader: StateReader
  /** By object, or by what else they are about. */
  #findings: ReadonlyMap<string, ReadonlyArray<Finding>> = new Map()
  readonly #known = new Map<number, ReadonlyArray<Finding>>()

  /** `namespacePrefix`: as in ValidationOptions. */
  constructor(namespacePrefix: string) {
    this.#reader = new StateReader({ namespacePrefix })
  }

  /** Remembers a configuration; other items change nothing. */
  configure(item: TraceItem): void {
    this.#reader.configure(item)
  }

  /** All that was found, once the trace is read. */
  settle(findings: Iterable<Finding>): void {
    const bySubject = new Map<string, Finding[]>()
    for (const finding of findings) {
      const key = subjectKey(finding.subject)
      const known = bySubject.get(key)
      if (known === undefined) bySubject.set(key, [finding])
      else known.push(finding)
    }
    this.#findings = bySubject
    this.#known.clear()
  }

  /** Those that a state has. `read` may throw SpoolError. */
  of({ event, time, read, gvk, namespace, name }: AskedState): ReadonlyArray<Finding> {
    const known = this.#known.get(event)
    if (known !== undefined) return known
    const possible = this.#findings.get(subjectKey({ gvk, namespace, name }))?.filter((each) => each.firstTime <= time)
    if (possible === undefined || possible.length === 0) return noFindings
    const object = exactJsonIn(read())
    if (!isJsonObject(object)) return noFindings
    const traced = this.#reader.of(gvk, namespace, name, object)
    const found = possible.filter(({ rule, kind, name: needed, subject }) => {
      const key = findingKey(subject, kind, needed)
      for (const need of rule.needs(traced))
        if (findingKey(need.about ?? traced, need.kind, need.name) === key) return true
      return false
    })
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < mostKept) break
      this.#known.delete(oldest)
    }
    this.#known.set(event, found)
    return found
  }
}

const subjectKey = ({ gvk, namespace, name }: Subject): string => `${gvk}\n${namespace}\n${name}`
