/** Journals and recordings of replays that never happened. */
import { WriteJournal } from "../../../src/simulation/fidelity/write-journal.ts"
import type { ObjectEvent } from "../../../src/trace/index.ts"

/** µs since the Unix epoch: the first moment of the trace, in the trace and in the recording. */
export const start = 1_763_700_000_000_000

/** A state of a ConfigMap; `undefined`: its deletion. */
export interface Planned {
  readonly name: string
  readonly value: string | undefined
  /** ms at which it is due. */
  readonly due: number
  /** ms for which the replay was paused before, in all. Default: 0. */
  readonly paused?: number
}

export interface Replayed {
  readonly journal: WriteJournal
  /** What a cluster that does nothing else has: one event for each write, a millisecond after its response. */
  readonly events: ReadonlyArray<ObjectEvent>
}

export const bodyOf = ({ name, value }: Planned): string =>
  JSON.stringify({ metadata: { namespace: "virtual-shop", name }, data: { value } })

export const eventOf = (planned: Planned, sequence: number, at: number): ObjectEvent => ({
  type: "object",
  sequence,
  time: start + at * 1000,
  gvk: "v1.ConfigMap",
  action: planned.value === undefined ? "deleted" : "applied",
  uid: "",
  namespace: "virtual-shop",
  name: planned.name,
  resourceVersion: String(100 + 10 * sequence),
  object: Buffer.from(planned.value === undefined ? "" : bodyOf(planned)),
})

/** Each write is sent 1 ms after it is due and answered after another one. */
export const replayOf = (plan: ReadonlyArray<Planned>): Replayed => {
  const journal = new WriteJournal()
  journal.started(0)
  const events = plan.map((planned, index) => {
    const { name, value, due, paused = 0 } = planned
    const verb = value === undefined ? "delete" : "apply"
    const place = { gvk: "v1.ConfigMap", namespace: "virtual-shop", name }
    const number = journal.submitted({
      place,
      verb,
      time: start + due * 1000,
      due: { dueMs: due, plannedMs: due, pausedMs: paused },
    })
    journal.settled(number, {
      sentMs: due + 1,
      settledMs: due + 2,
      outcome: { tag: "accepted", uid: "", version: value === undefined ? "" : String(100 + 10 * index) },
      body: value === undefined ? undefined : bodyOf(planned),
    })
    return eventOf(planned, index, due + 3)
  })
  return { journal, events }
}

/** What replays change in names and specs here. */
export const identity = { namespacePrefix: "virtual", placement: { nodeSelector: {}, taintKey: undefined } }
