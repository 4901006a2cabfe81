/** What a comparison needs of the recording of the target. */
import type { Pod } from "../../kube/client/objects.ts"
import type { ObjectEvent } from "../../trace/event.ts"
import { exactJsonIn } from "../../trace/json/exact-json.ts"
import { podKind } from "../../trace/pods/pod-lives-kind.ts"
import { rememberedIdentity } from "../pods/pod-identity.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import { PodTimes, podPhase } from "./pod-times.ts"
import { StateComparison } from "./state-comparison.ts"
import { ownerIn, type TracePods } from "./trace-pods.ts"
import type { WriteJournal } from "./write-journal.ts"

/** Nodes are recorded and counted, and never replayed. */
export const nodeKind = "v1.Node"

/** Something appeared or went; `at`: ms since the first moment of the trace was due. */
export interface Step {
  readonly at: number
  readonly change: 1 | -1
}

/** The namespaces of the replay, in the target. */
export const replayedNamespaces = (journal: WriteJournal): ReadonlySet<string> => {
  const places = [...journal.objects.values()].map(({ place }) => place)
  return new Set(places.map(({ gvk, namespace, name }) => (gvk === "v1.Namespace" ? name : namespace)))
}

/** Reads the recording of the target, event by event. */
export class TargetReading {
  readonly states: StateComparison
  readonly pods = new PodTimes()
  /** Pods that no webhook has marked. */
  unasked = 0
  readonly nodes: Step[] = []
  /** By kind: when an object of the replay appeared or went. */
  readonly objects = new Map<string, Step[]>()
  readonly #namespaces: ReadonlySet<string>
  readonly #tracePods: Pick<TracePods, "met">
  readonly #journal: WriteJournal
  readonly #startMicros: number
  readonly #present = new Set<string>()

  /** `startMicros`: µs since the Unix epoch at which the first moment was due. `tracePods`: meets each pod in one of the `namespaces`. */
  constructor(
    journal: WriteJournal,
    startMicros: number,
    namespaces: ReadonlySet<string>,
    tracePods: Pick<TracePods, "met">,
  ) {
    this.#journal = journal
    this.#startMicros = startMicros
    this.#namespaces = namespaces
    this.#tracePods = tracePods
    this.states = new StateComparison(journal)
  }

  read(event: ObjectEvent): void {
    const { gvk, namespace, name, time, action } = event
    const at = (time - this.#startMicros) / 1000
    const key = keyOf(event)
    const isOurs = this.#journal.objects.has(key)
    if (isOurs) this.states.observe(event, at)
    if (gvk === podKind && this.#namespaces.has(namespace)) {
      const pod = action === "applied" ? exactJsonIn(event.object) : undefined
      const phase = action === "applied" ? podPhase(pod) : undefined
      const owner = ownerIn(this.#journal, namespace, name, pod)
      const life = this.pods.observe(`${namespace}/${name}`, Math.max(0, at), at < 0, owner, phase)
      if (life !== undefined) {
        this.#tracePods.met(life, namespace, pod)
        if (rememberedIdentity((pod ?? {}) as unknown as Pod) === undefined) this.unasked++
      }
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

/** The list of a key, which is made if there is none. */
export const listOf = <T>(lists: Map<string, T[]>, key: string): T[] => {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
