/**
 * One step of the protocol under construction: the new phase and memory, and the commands so far. It has the operations that all
 * transitions share: waiting, failing, streams, time limits.
 */
import { compareResourceVersions, parseResourceVersion } from "../../resource-version.ts"
import { type ApiStatus, plainStatus } from "../../status.ts"
import type { WatchPolicy } from "./policy.ts"
import type { Command, Intention, KindState, Memory, Moment, Phase, WatchState } from "./protocol.ts"

// The meaning of a Status for a list or watch, whether it came as an HTTP status or inside a 200 stream (rule 3: both are treated alike).

type Refusal =
  /** The version is older than the server keeps (410 Expired, Gone). */
  | "expired"
  /** The version is newer than the server has reached. */
  | "too-large"
  /** `sendInitialEvents` is not supported (rule 2). */
  | "no-streaming-list"
  | "unauthorized"
  | "forbidden"
  /** The resource does not exist: its CRD was removed. */
  | "not-found"
  /** Anything that may pass with time: 429, 5xx, lost connections. */
  | "transient"

export const classify = (status: ApiStatus): Refusal => {
  // client-go's isTooLargeResourceVersionError: the cause names it; older servers have only the message.
  if (status.causes.some((cause) => cause.reason === "ResourceVersionTooLarge")) return "too-large"
  if (/too large resource version/i.test(status.message)) return "too-large"
  if (status.code === 410 || status.reason === "Expired" || status.reason === "Gone") return "expired"
  if (status.code === 401) return "unauthorized"
  if (status.code === 403) return "forbidden"
  if (status.code === 404) return "not-found"
  if (status.code === 422 || status.code === 400) {
    const named = status.causes.map((cause) => `${cause.field ?? ""} ${cause.message ?? ""}`).join(" ")
    if (/sendInitialEvents/.test(`${status.message} ${named}`)) return "no-streaming-list"
    // An invalid or outdated continue token: restart the list.
    if (/continue/i.test(status.message)) return "expired"
  }
  return "transient"
}

/** Created for one input. `phase` and `memory` are replaced, never changed in place: the previous state stays as it was. */
export class Transition {
  readonly policy: WatchPolicy
  readonly moment: Moment
  readonly commands: Array<Command> = []
  phase: Phase
  memory: Memory

  constructor(policy: WatchPolicy, state: WatchState, moment: Moment) {
    this.policy = policy
    this.moment = moment
    this.phase = state.phase
    this.memory = state.memory
  }

  result(): readonly [WatchState, ReadonlyArray<Command>] {
    return [{ phase: this.phase, memory: this.memory }, this.commands]
  }

  /** Waits as long as the refusal asks for, then continues with `then`. `phase` names what failed, for people. */
  fail(status: ApiStatus, then: Intention, phase: string): void {
    const refusal = classify(status)
    if (refusal === "unauthorized") this.commands.push({ type: "unauthorized" })
    const detail = `${phase}: ${describe(status)}`
    // The short back-off applies even to a missing permission, which a person has to grant: a starting server refuses everything until it
    // has read its roles, and waiting half a minute for that would leave the kind unrecorded for as long.
    if (refusal === "forbidden") return this.wait(then, this.nextBackOff(), "forbidden", detail)
    const { retryAfterSeconds } = status
    if (retryAfterSeconds === undefined) return this.wait(then, this.nextBackOff(), "failing", detail)
    const ms = Math.max(this.#honoured(retryAfterSeconds * 1000), this.nextBackOff())
    this.wait(then, ms, "failing", `${detail}; the server asks to wait for ${retryAfterSeconds} s`, ms)
  }

  /** `nextAttemptMs`: in how many ms, if people are to know. */
  wait(then: Intention, ms: number, state: "failing" | "forbidden", detail: string, nextAttemptMs?: number): void {
    this.phase = { tag: "backing-off", then }
    this.report(state, detail, nextAttemptMs)
    this.commands.push({ type: "retry-after", ms })
  }

  report(state: KindState, detail: string, nextAttemptMs?: number): void {
    this.commands.push({ type: "state", state, detail, ...(nextAttemptMs !== undefined && { nextAttemptMs }) })
    this.remember({ reported: state })
  }

  #honoured(askedMs: number): number {
    const { retryAfterMaximumMs } = this.policy
    return askedMs <= retryAfterMaximumMs ? askedMs : retryAfterMaximumMs * (1 + this.moment.random())
  }

  nextBackOff(): number {
    const { initialMs, maximumMs, factor, jitter, resetAfterMs } = this.policy.backOff
    const { nowMs, random } = this.moment
    const quiet = nowMs - this.memory.lastFailureMs > resetAfterMs
    const before = this.memory.backOffBaseMs
    const base = quiet || before === 0 ? initialMs : Math.min(maximumMs, before * factor)
    this.remember({ backOffBaseMs: base, lastFailureMs: nowMs })
    return base * (1 + jitter * random())
  }

  /** Whether the server has not reached what was delivered, so that it has a different history (rule 12). */
  isBehind(version: string): boolean {
    const now = parseResourceVersion(version)
    const delivered = parseResourceVersion(this.moment.delivered ?? "")
    return now !== undefined && delivered !== undefined && compareResourceVersions(now, delivered) < 0
  }

  behind(version: string): string {
    return `the server is at version ${version}, behind ${this.moment.delivered} already recorded: it was restored from a backup`
  }

  streams(): ReadonlyArray<number> {
    const phase = this.phase
    if (phase.tag === "streaming-list" || phase.tag === "paging") return [phase.stream]
    if (phase.tag !== "watching") return []
    return phase.successor === undefined ? [phase.stream] : [phase.stream, phase.successor]
  }

  closeAll(): void {
    for (const stream of this.streams()) this.commands.push({ type: "close", stream })
  }

  closeOthers(stream: number): void {
    for (const other of this.streams()) if (other !== stream) this.commands.push({ type: "close", stream: other })
  }

  limitSilence(stream: number, ms: number): void {
    this.commands.push({ type: "limit-silence", stream, ms })
  }

  /** Rule 7: 2.5 bookmark intervals once two bookmarks have been seen, otherwise the watch's life plus a margin. */
  silenceLimit(lifeMs: number | undefined): number {
    const interval = this.memory.bookmarkIntervalMs
    const byLife = (lifeMs ?? this.policy.watchLifeSeconds[1] * 1000) + this.policy.lifeMarginMs
    return interval === undefined ? byLife : Math.min(byLife, interval * this.policy.bookmarkIntervals)
  }

  watchLife(): number {
    const [minimum, maximum] = this.policy.watchLifeSeconds
    return Math.round(minimum + (maximum - minimum) * this.moment.random())
  }

  newStream(): number {
    const stream = this.memory.nextStream
    this.remember({ nextStream: stream + 1 })
    return stream
  }

  remember(change: Partial<Memory>): void {
    this.memory = { ...this.memory, ...change }
  }
}

/** A failure that is not a Status of the server. */
export const failure = (reason: string, message: string): ApiStatus => plainStatus(0, reason, message)

const describe = (status: ApiStatus): string =>
  status.code === 0 ? status.message : `HTTP ${status.code} ${status.reason}: ${status.message}`
