/**
 * What a replay did, counted while it runs and written as JSON at the end. Times are measured, never assumed: an event that had to wait for
 * an earlier write of its object, or for the limit of concurrent writes, counts as late.
 */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks"
import type { IncompletePart } from "../../trace/index.ts"
import type { LivesCount } from "../pods/pod-lives.ts"
import type { WriteOutcome } from "../target/target-cluster.ts"
import type { FidelityReport, FidelityUnknown } from "./fidelity-report.ts"

/** Of measured durations, in ms; all 0 if nothing was measured. */
export interface Spread {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

interface Counts {
  /** Changes of the trace: accepted + refused + skipped. */
  readonly total: number
  /** Changes for which a request was sent: what is refused without one, such as an object of a kind that the target lacks, does not count. */
  readonly sent: number
  readonly accepted: number
  readonly refused: number
  /** Not sent, or without effect on purpose. */
  readonly skipped: number
}

/** Refusals or skips that have the same cause. */
export interface Cause {
  readonly gvk: string
  readonly reason: string
  readonly count: number
  /** The first: for refusals what the target said. */
  readonly example: string
}

/** A late event. */
interface LateEvent {
  /** µs since the Unix epoch, in the trace. */
  readonly time: number
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  /** ms from due to sent, and from due to the target's response. */
  readonly dispatchErrorMs: number
  readonly lagMs: number
}

/** Version 1 of the report. Documented in docs/reference/replay-report.md. */
export interface ReplayReport {
  readonly version: 1
  readonly replay: string
  /** At the end. */
  readonly speed: number | "max"
  /** RFC 3339. */
  readonly startedAt: string
  /** µs since the Unix epoch: the part of the trace that was replayed. */
  readonly trace: { readonly start: number; readonly end: number }
  readonly run: {
    /** ms from the first moment of the trace to the last response. */
    readonly durationMs: number
    /** ms that the part of the trace takes at this speed, without pauses; `null` if the speed was `max` or changed, or after a step. */
    readonly expectedMs: number | null
    /** ms by which the schedule was delayed because the target could not keep up. */
    readonly delayedMs: number
    /** ms that it was paused. */
    readonly pausedMs: number
  }
  /** Why it ended before the end of the trace, or before the target had settled; `null` if it did not. */
  readonly stopped: string | null
  /** The objects that existed at the start; they are not in `events`. */
  readonly seed: Counts & { readonly durationMs: number }
  readonly events: Counts
  /** From the moment at which an event was due to its first request. */
  readonly dispatchErrorMs: Spread
  /** From the moment at which an event was due to the response of the target. */
  readonly lagMs: Spread
  /** Of the pods that follow recorded lives; absent if they live as the target decides. */
  readonly lives?: LivesCount
  /** Gaps of the trace: what happened in them cannot be replayed. */
  readonly gaps: number
  /** Kinds of which the trace says that it lacks something. */
  readonly incomplete: ReadonlyArray<IncompletePart>
  readonly refused: ReadonlyArray<Cause>
  readonly skipped: ReadonlyArray<Cause>
  /** For people: what may have been different from what they expect, one sentence each. */
  readonly warnings: ReadonlyArray<string>
  /** The ten latest, the latest first. */
  readonly latest: ReadonlyArray<LateEvent>
  /** How close the replay came, by a recording of the target; absent if none was made. */
  readonly fidelity?: FidelityReport | FidelityUnknown
}

/** The report of a trace that was replayed several times. */
export interface RepetitionsReport {
  readonly version: 1
  readonly replay: string
  readonly repetitions: ReadonlyArray<ReplayReport>
}

const worstKept = 10

/** Durations with a resolution of 0.1 %, in a few kB however many there are. */
class Durations {
  // Microseconds, up to 28 hours.
  readonly #histogram: RecordableHistogram = createHistogram({ lowest: 1, highest: 10 ** 11, figures: 3 })

  add(ms: number): void {
    this.#histogram.record(Math.min(10 ** 11, Math.max(1, Math.round(ms * 1000))))
  }

  get spread(): Spread {
    if (this.#histogram.count === 0) return { p50: 0, p95: 0, p99: 0, max: 0 }
    const at = (percentile: number): number => this.#histogram.percentile(percentile) / 1000
    return { p50: at(50), p95: at(95), p99: at(99), max: this.#histogram.max / 1000 }
  }
}

class Causes {
  readonly #byKindAndReason = new Map<string, Cause>()

  add(gvk: string, reason: string, example: string): void {
    const key = `${gvk} ${reason}`
    const known = this.#byKindAndReason.get(key)
    this.#byKindAndReason.set(key, known ? { ...known, count: known.count + 1 } : { gvk, reason, count: 1, example })
  }

  /** The most frequent first. */
  get sorted(): ReadonlyArray<Cause> {
    return [...this.#byKindAndReason.values()].toSorted((left, right) => right.count - left.count)
  }
}

/** Outcomes of one phase: the seed or the events. */
export class OutcomeCounts {
  readonly #count = { accepted: 0, refused: 0, skipped: 0 }
  #sent = 0
  readonly #refusals = new Causes()
  readonly #skips = new Causes()

  add(gvk: string, outcome: WriteOutcome): void {
    this.#count[outcome.tag]++
    if (outcome.tag === "accepted" || (outcome.tag === "refused" && outcome.isSent)) this.#sent++
    if (outcome.tag === "skipped") this.#skips.add(gvk, outcome.reason, "")
    if (outcome.tag !== "refused") return
    const reason = outcome.code === 0 ? outcome.reason : `${outcome.code} ${outcome.reason}`.trimEnd()
    this.#refusals.add(gvk, reason, outcome.message)
  }

  get counts(): Counts {
    const { accepted, refused, skipped } = this.#count
    return { total: accepted + refused + skipped, sent: this.#sent, accepted, refused, skipped }
  }

  get refusals(): ReadonlyArray<Cause> {
    return this.#refusals.sorted
  }

  get skips(): ReadonlyArray<Cause> {
    return this.#skips.sorted
  }
}

/** The punctuality of the events. */
export class Punctuality {
  readonly #dispatch = new Durations()
  readonly #lag = new Durations()
  #latest: LateEvent[] = []

  add(event: LateEvent): void {
    this.#dispatch.add(event.dispatchErrorMs)
    this.#lag.add(event.lagMs)
    const last = this.#latest.at(-1)
    if (this.#latest.length === worstKept && last !== undefined && event.lagMs <= last.lagMs) return
    this.#latest = [...this.#latest, event].toSorted((left, right) => right.lagMs - left.lagMs).slice(0, worstKept)
  }

  get dispatchErrorMs(): Spread {
    return this.#dispatch.spread
  }

  get lagMs(): Spread {
    return this.#lag.spread
  }

  get latest(): ReadonlyArray<LateEvent> {
    return this.#latest
  }
}
