/** What a comparison needs of the two sides: the recording of the target, and the pods of the trace. */
import type { ObjectEvent } from "../../trace/event.ts"
import { exactJsonIn, type JsonValue } from "../../trace/json/exact-json.ts"
import { podKind } from "../../trace/pods/pod-lives-kind.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import { PodTimes, podOwner, podPhase } from "./pod-times.ts"
import { StateComparison } from "./state-comparison.ts"
import type { WriteJournal } from "./write-journal.ts"

export const nodeKind = "v1.Node"

/** Something appeared or went; `at`: ms since the first moment of the trace was due. */
export interface Step {
  readonly at: number
  readonly change: 1 | -1
}

/** Reads the recording of the target, event by event. */
export class TargetReading {
  readonly states: StateComparison
  readonly pods = new PodTimes()
  readonly nodes: Step[] = []
  /** By kind: when an object of the replay appeared or went. */
  readonly objects = new Map<string, Step[]>()
  /** The namespaces of the replay. */
  readonly namespaces: ReadonlySet<string>
  readonly #journal: WriteJournal
  readonly #startMicros: number
  readonly #present = new Set<string>()

  constructor(journal: WriteJournal, startMicros: number) {
    this.#journal = journal
    this.#startMicros = startMicros
    this.states = new StateComparison(journal)
    const places = [...journal.objects.values()].map(({ place }) => place)
    this.namespaces = new Set(places.map(({ gvk, namespace, name }) => (gvk === "v1.Namespace" ? name : namespace)))
  }

  read(event: ObjectEvent): void {
    const { gvk, namespace, name, time, action } = event
    const at = (time - this.#startMicros) / 1000
    const key = keyOf(event)
    const isOurs = this.#journal.objects.has(key)
    if (isOurs) this.states.observe(event, at)
    if (gvk === podKind && this.namespaces.has(namespace)) {
      const pod = action === "applied" ? exactJsonIn(event.object) : undefined
      const phase = action === "applied" ? podPhase(pod) : undefined
      this.pods.observe(
        `${namespace}/${name}`,
        Math.max(0, at),
        at < 0,
        ownerIn(this.#journal, namespace, name, pod),
        phase,
      )
    }
    if (!isOurs && gvk !== nodeKind) return
    const exists = action === "applied"
    if (exists === this.#present.has(key)) return
    if (exists) this.#present.add(key)
    else this.#present.delete(key)
    const step: Step = { at, change: exists ? 1 : -1 }
    if (gvk === nodeKind) this.nodes.push(step)
    if (isOurs) listOf(this.objects, gvk).push(step)
  }
}

/** A pod that the replay writes is its own, whatever created it in the trace: it has the same name in both. */
const ownerIn = (journal: WriteJournal, namespace: string, name: string, pod: JsonValue | undefined): string =>
  journal.objects.has(keyOf({ gvk: podKind, namespace, name }))
    ? `${namespace}/Pod ${name}`
    : podOwner(namespace, name, pod)

/** Only pods in namespaces that are replayed: no others can have a counterpart. */
export const readTracePods = (
  journal: WriteJournal,
  namespaceOf: (namespace: string) => string,
  replayed: ReadonlySet<string>,
): PodTimes => {
  const times = new PodTimes()
  for (const { key, at, isAtStart, body } of journal.pods) {
    const [recordedNamespace = "", name = ""] = key.split("/")
    const namespace = namespaceOf(recordedNamespace)
    if (!replayed.has(namespace)) continue
    const pod = body === undefined ? undefined : exactJsonIn(journal.read(body))
    times.observe(
      key,
      at,
      isAtStart,
      ownerIn(journal, namespace, name, pod),
      body === undefined ? undefined : podPhase(pod),
    )
  }
  return times
}

/** The list of a key, which is made if there is none. */
export const listOf = <T>(lists: Map<string, T[]>, key: string): T[] => {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
