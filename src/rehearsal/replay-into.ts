/** Replays recorded history into controllers, for tests of operators against what production did. */
import { type DefinedController, InvalidControllerError } from "../host/controllers.ts"
import type { ApiObject, ObjectBase } from "../kube/index.ts"
import { formatGvk, parseGvk } from "../kube/offline.ts"
import { HostedController } from "./cast/hosted-controller.ts"
import {
  type EventEntry,
  type JournalEntry,
  type JournalStep,
  journalText,
  type ReconcileEntry,
  type WriteEntry,
} from "./journal/journal.ts"
import { openTrace, type TraceSource } from "./open-trace.ts"
import { type RehearsalOptions, type Rehearsed, rehearse } from "./rehearsal.ts"

export interface ReplayIntoOptions
  extends Pick<
    RehearsalOptions,
    | "feed"
    | "feedsDeletions"
    | "seed"
    | "latencyMs"
    | "settleMs"
    | "randomSeed"
    | "stallMs"
    | "until"
    | "onStep"
    | "signal"
  > {
  /** First moment: a Date, or what `new Date` reads. Default: the start of the trace. */
  readonly from?: Date | string | undefined
  /** The moment at which it ends, exclusive. Default: the end of the trace. */
  readonly to?: Date | string | undefined
  /**
   * Field managers under which the controllers wrote in the recorded cluster, besides their own names: what they wrote is the controllers' own
   * work. Default: none.
   */
  readonly managers?: ReadonlyArray<string> | undefined
}

/**
 * Feeds the trace to the controllers, deterministically: two calls give equal journals. Ends when the trace does. The controllers run as
 * `runControllers` runs them, on a sandbox of their own that has what the trace has.
 *
 * ```ts
 * const result = await replayInto(simplePods, "production.ndjson.zst")
 * expect(result.trouble).toEqual([])
 * expect(result.object("v1.Pod", "shop/web")).toMatchObject({ spec: { containers: [{ image: "nginx:2" }] } })
 * ```
 *
 * Rejects with KindNotInTrace if a controller is for a kind that the trace does not have, with RehearsalStalled if a run does not end, with
 * OutsideTrace, InvalidControllerError, and the errors of reading the trace.
 */
export const replayInto = async (
  controllers: DefinedController | ReadonlyArray<DefinedController>,
  trace: TraceSource,
  { from, to, managers, ...options }: ReplayIntoOptions = {},
): Promise<ReplayResult> => {
  const all = Array.isArray(controllers)
    ? (controllers as ReadonlyArray<DefinedController>)
    : [controllers as DefinedController]
  const names = all.map(({ name }) => name)
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double !== undefined)
    throw new InvalidControllerError({ controller: double, problem: "another controller has the same name" })
  const window = windowOf({ from, to })
  using opened = await openTrace(trace, { ...window, signal: options.signal ?? new AbortController().signal })
  const participants = all.map((controller) => new HostedController(controller, managers))
  return new ReplayResult(await rehearse({ ...options, window, items: opened.items, participants }))
}

/** Where and on which kinds something was written; absent members do not restrict. */
export interface WriteFilter {
  readonly kind?: string
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly object?: string
  readonly verb?: WriteEntry["verb"]
  readonly subresource?: string
  readonly controller?: string
}

/** What the controllers did, and what became of the cluster. */
export class ReplayResult {
  /** Each recorded change and each timer that woke a controller, with what followed, in order. */
  readonly steps: ReadonlyArray<JournalStep>
  /** Ranges that were not recorded, and so not replayed. */
  readonly gaps: number
  /** The first and the last moment. */
  readonly start: Date
  readonly end: Date
  readonly #objects: Rehearsed["objects"]

  constructor({ steps, gaps, start, end, objects }: Rehearsed) {
    this.steps = steps
    this.gaps = gaps
    this.start = new Date(start / 1000)
    this.end = new Date(end / 1000)
    this.#objects = objects
  }

  /** All entries of the journal in order. */
  get entries(): ReadonlyArray<JournalEntry> {
    return this.steps.flatMap(({ entries }) => entries)
  }

  get reconciles(): ReadonlyArray<ReconcileEntry> {
    return this.entries.filter((entry) => entry.type === "reconcile")
  }

  /** All writes that the controllers requested, refused ones included, without Events. */
  get writes(): ReadonlyArray<WriteEntry> {
    return this.entries.filter((entry) => entry.type === "write")
  }

  /** The Events that the controllers recorded. */
  get events(): ReadonlyArray<EventEntry> {
    return this.entries.filter((entry) => entry.type === "event")
  }

  /** What would have been reported to an operator: failed runs, refusals, missing kinds. Empty if all went well. */
  get trouble(): ReadonlyArray<string> {
    return this.entries.flatMap((entry) => (entry.type === "trouble" ? [entry.detail] : []))
  }

  /** `writesOf({ kind: "v1.Pod", verb: "create" })`. */
  writesOf({ object, ...filter }: WriteFilter): ReadonlyArray<WriteEntry> {
    const wanted = Object.entries(filter)
    return this.writes.filter(
      (write) =>
        wanted.every(([member, value]) => value === undefined || write[member as keyof WriteEntry] === value) &&
        (object === undefined || keyOf(write.namespace, write.name) === object),
    )
  }

  /** The last state of an object; `undefined` if there is none at the end. `key`: `namespace/name`, or the name of a cluster-scoped object. */
  object<T extends ObjectBase = ApiObject>(kind: string, key: string): T | undefined {
    return this.objects<T>(kind).find(({ metadata }) => keyOf(metadata.namespace, metadata.name) === key)
  }

  /** The last states of all objects of a kind, by namespace and name. A kind that is stored in another version is found as well. */
  objects<T extends ObjectBase = ApiObject>(kind: string): ReadonlyArray<T> {
    const exact = this.#objects.filter(({ gvk }) => gvk === kind)
    const found = exact.length > 0 ? exact : this.#objects.filter(({ gvk }) => isSameKind(String(gvk), kind))
    return found.map(({ object }) => object as unknown as T)
  }

  /** The journal as NDJSON, one step a line: for a file, or to compare two runs. */
  toString(): string {
    return journalText(this.steps)
  }
}

const keyOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`

const isSameKind = (left: string, right: string): boolean => {
  const [one, other] = [parseGvk(left), parseGvk(right)]
  return one !== undefined && other !== undefined && formatGvk({ ...one, version: other.version }) === formatGvk(other)
}

/** In µs since the Unix epoch. Throws RangeError. */
export const windowOf = ({ from, to }: Pick<ReplayIntoOptions, "from" | "to">) => ({
  from: microsOf("from", from),
  to: microsOf("to", to),
})

const microsOf = (option: string, given: Date | string | undefined): number | undefined => {
  if (given === undefined) return undefined
  const ms = new Date(given).getTime()
  if (Number.isNaN(ms))
    throw new RangeError(
      `${option}: ${JSON.stringify(given)} is not a valid time; use a Date or a text such as 2026-11-21T10:00:00Z`,
    )
  return ms * 1000
}
