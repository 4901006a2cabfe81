/**
 * What the log says of watches that are cut and resumed at once, as by a load balancer that ends idle connections or a server that restarts: one line for
 * all that are cut within a second, and then at most one a minute. A kind whose watch cannot be resumed fails, which the log says as such.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { KindState } from "../../kube/index.ts"
import { namedKinds } from "../status/forbidden-kinds.ts"
import type { RecorderLog } from "./notice-log.ts"

/** ms in which cuts are gathered: the connections of all kinds often end together. */
const gatherMs = 1000

/** ms in which cuts are gathered after a line: a connection that is cut every few seconds says so once a minute. */
const nextMs = 60_000

export class CutWatches {
  readonly #log: Pick<RecorderLog, "warn" | "info" | "debug">
  readonly #clock: Clock
  /** Kinds whose watch was cut and is neither resumed nor failed, and when (monotonic ms). */
  readonly #open = new Map<string, number>()
  /** What the next line is about. */
  #kinds = new Set<string>()
  /** Of those, kinds that failed instead. */
  #failed = new Set<string>()
  #cuts = 0
  #reason = ""
  #longestMs = 0
  #timer: Timer | undefined
  /** Kinds that a line has said not to be resumed yet. */
  #owed = new Set<string>()

  constructor(log: Pick<RecorderLog, "warn" | "info" | "debug">, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  cut(gvk: string, detail: string): void {
    this.#log.debug(`${gvk}: the watch was cut: ${detail}`)
    // A kind that is watched by namespace has several watches, which are cut together.
    if (!this.#open.has(gvk)) {
      this.#open.set(gvk, this.#clock.monotonicMs())
      this.#cuts++
    }
    this.#kinds.add(gvk)
    this.#reason ||= detail
    this.#timer ??= this.#clock.after(gatherMs, () => this.#due())
  }

  state(gvk: string, state: KindState): void {
    // A kind that has more to fetch is not back yet.
    if (state === "catching-up") return
    const since = this.#open.get(gvk)
    if (since === undefined) return
    this.#open.delete(gvk)
    const ms = this.#clock.monotonicMs() - since
    if (state !== "watching") {
      // The log says of it as such that it fails, and when it is well again.
      this.#failed.add(gvk)
      this.#owed.delete(gvk)
      return
    }
    this.#longestMs = Math.max(this.#longestMs, ms)
    if (!this.#owed.delete(gvk) || this.#owed.size > 0) return
    this.#log.info(`the watches that were cut are resumed, the last of them after ${seconds(ms)}`)
    this.#longestMs = 0
  }

  /** Says what is gathered. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#tell()
  }

  #due(): void {
    const wasQuiet = this.#cuts === 0
    this.#tell()
    this.#timer = wasQuiet ? undefined : this.#clock.after(nextMs, () => this.#due())
  }

  #tell(): void {
    if (this.#cuts === 0) return
    const kinds = [...this.#kinds].sort()
    const subject =
      kinds.length === 1 ? `the watch of ${kinds[0]} was cut` : `the watches of ${kinds.length} kinds were cut`
    const times = this.#cuts > kinds.length ? `, ${this.#cuts} times` : ""
    const named = kinds.length === 1 ? "" : ` (${namedKinds(kinds)})`
    this.#log.warn(`${subject}${times}${named}: ${this.#reason}; ${this.#outcome(kinds.length)}`)
    this.#owed = new Set(this.#open.keys())
    this.#kinds = new Set()
    this.#failed = new Set()
    this.#cuts = 0
    this.#reason = ""
    if (this.#open.size === 0) this.#longestMs = 0
  }

  #outcome(kinds: number): string {
    const [open, failed] = [this.#open.size, this.#failed.size]
    if (open + failed === 0) return `resumed within ${seconds(this.#longestMs)}`
    if (kinds === 1) return open === 1 ? "not resumed yet" : "not resumed, because it fails"
    const parts = [open > 0 && `${open} not resumed yet`, failed > 0 && `${failed} not resumed, because they fail`]
    return parts.filter((part) => part !== false).join(", ")
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
