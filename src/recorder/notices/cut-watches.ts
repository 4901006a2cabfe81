/**
 * What the log says of watches that are cut and resumed at once, as by a load balancer that ends idle connections or a server that restarts: one line for
 * all that are cut within a second, and then at most one a minute. A kind whose watch cannot be resumed fails, which the log says as such.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { KindState } from "../../kube/watch/protocol/protocol.ts"
import { namedKinds } from "./forbidden-kinds.ts"
import type { RecorderLog } from "./notice-log.ts"

/** ms in which cuts are gathered: the connections of all kinds often end together. */
const gatherMs = 1000

/** ms in which cuts are gathered after a line: a connection that is cut every few seconds says so once a minute. */
const nextMs = 60_000

export class CutWatches {
  readonly #log: Pick<RecorderLog, "warn" | "info" | "debug">
  readonly #clock: Clock
  /** Kinds whose watch was cut and is not resumed, and when (monotonic ms). */
  readonly #open = new Map<string, number>()
  /** What the next line is about. */
  #kinds = new Set<string>()
  #cuts = 0
  #reason = ""
  #longestMs = 0
  #timer: Timer | undefined
  /** A line has said that some are not resumed. */
  #isOwed = false

  constructor(log: Pick<RecorderLog, "warn" | "info" | "debug">, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  cut(gvk: string, detail: string): void {
    this.#log.debug(`${gvk}: the watch was cut: ${detail}`)
    if (!this.#open.has(gvk)) this.#open.set(gvk, this.#clock.monotonicMs())
    this.#kinds.add(gvk)
    this.#cuts++
    this.#reason ||= detail
    this.#timer ??= this.#clock.after(gatherMs, () => this.#due())
  }

  state(gvk: string, state: KindState): void {
    // A kind that has more to fetch is not back yet; one in any other state is told of as such.
    if (state === "catching-up") return
    const since = this.#open.get(gvk)
    if (since === undefined) return
    this.#open.delete(gvk)
    if (state === "watching") this.#longestMs = Math.max(this.#longestMs, this.#clock.monotonicMs() - since)
    if (!this.#isOwed || this.#open.size > 0) return
    this.#isOwed = false
    this.#log.info(`the watches that were cut are resumed, the last of them after ${this.#longest}`)
  }

  /** Says what is gathered. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#tell()
  }

  get #longest(): string {
    return `${(this.#longestMs / 1000).toFixed(1)} s`
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
    const open = this.#open.size
    const outcome =
      open === 0 ? `resumed within ${this.#longest}` : `${open === 1 ? "1 is" : `${open} are`} not resumed yet`
    this.#log.warn(`${subject}${times}${named}: ${this.#reason}; ${outcome}`)
    this.#isOwed = open > 0
    this.#kinds = new Set()
    this.#cuts = 0
    this.#reason = ""
    if (open === 0) this.#longestMs = 0
  }
}
