/**
 * How long the pods of a trace ran, from their status, in one pass (src/trace/pods/pod-lifecycle.ts says what start and end are); or as the trace itself says,
 * if it has lifecycles.
 *
 * Memory: an entry for each pod that exists, and eight bytes for each that has ended.
 */
import {
  endedLifetime,
  exactJsonIn,
  isJsonObject,
  nextLifetime,
  type ObjectEvent,
  type OwnedLifecycles,
  observeLifetime,
  type PodLifetime,
  podKind,
} from "../../trace/index.ts"

/** Times are seconds. */
export interface PodTimesSummary {
  /** Pods of which a container started. */
  readonly ran: number
  /** Those of them that ended, and those that still run at the end of the trace. */
  readonly ended: number
  readonly running: number
  /** Running times of those that ended; `undefined` if none did. */
  readonly times: { readonly minimum: number; readonly median: number; readonly maximum: number } | undefined
  /** Of all, those that still run counted up to the end of the trace. */
  readonly total: number
}

/** Add events and lifecycles, then take the {@link summary}. */
export class PodTimes {
  /** By UID, or by name where there is none. */
  readonly #lives = new Map<string, PodLifetime>()
  readonly #ended: number[] = []
  readonly #told = { ended: [] as number[], running: [] as number[] }

  /** Events of other kinds are ignored, and so are objects that are not Pods in their structure. */
  observe({ gvk, uid, namespace, name, action, time, object }: ObjectEvent): void {
    if (gvk !== podKind) return
    const key = uid === "" ? `${namespace}/${name}` : uid
    const before = this.#lives.get(key)
    const after = object.length === 0 ? before : lifeAfter(before, object)
    if (action === "applied") {
      if (after !== undefined && after !== before) this.#lives.set(key, after)
      return
    }
    this.#lives.delete(key)
    if (after !== undefined) this.#ended.push(durationOf(endedLifetime(after, Math.floor(time / 1_000_000))))
  }

  /** What SimKube's format says of the pods of one owner. */
  told({ pods }: OwnedLifecycles): void {
    for (const lives of pods.values())
      for (const life of lives)
        if (life.state === "finished") this.#told.ended.push(life.end - life.start)
        else if (life.state === "running") this.#told.running.push(life.start)
  }

  /** `until`: the end of the trace, s since the Unix epoch. */
  summary(until: number): PodTimesSummary {
    const isTold = this.#told.ended.length + this.#told.running.length > 0
    const ended = isTold ? [...this.#told.ended] : [...this.#ended]
    const running = isTold ? this.#told.running.map((start) => Math.max(0, until - start)) : []
    if (!isTold)
      for (const life of this.#lives.values())
        if (life.end === undefined) running.push(Math.max(0, until - life.start))
        else ended.push(durationOf(life))
    ended.sort((one, other) => one - other)
    return {
      ran: ended.length + running.length,
      ended: ended.length,
      running: running.length,
      times: ended.length === 0 ? undefined : timesOf(ended),
      total: sumOf(ended) + sumOf(running),
    }
  }
}

const durationOf = ({ start, end = start }: PodLifetime): number => end - start

const lifeAfter = (before: PodLifetime | undefined, bytes: Uint8Array): PodLifetime | undefined => {
  const pod = exactJsonIn(bytes)
  if (!isJsonObject(pod)) return before
  const { spec, status } = pod
  const observed = observeLifetime(status, () =>
    isJsonObject(spec) && Array.isArray(spec.containers) ? spec.containers.length : undefined,
  )
  return typeof observed === "string" ? before : nextLifetime(before, observed)
}

/** `sorted`: at least one. */
const timesOf = (sorted: ReadonlyArray<number>) => {
  const at = (index: number): number => sorted[index] ?? 0
  const middle = (sorted.length - 1) / 2
  return {
    minimum: at(0),
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    maximum: at(sorted.length - 1),
  }
}

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, each) => sum + each, 0)
