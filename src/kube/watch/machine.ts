/**
 * The list/watch protocol as one step function: (state, input, moment) → (state, commands). No I/O, no clock, no
 * randomness of its own; every error path is a transition here. State machine after kube-rs, policies after client-go
 * (rule 1 of the protocol notes).
 *
 * What the caller must do: carry the commands out in order; feed every answer back, exactly once per request; ignore
 * nothing. Inputs of streams the machine has closed are ignored here.
 */
import type { ApiStatus } from "../status.ts"
import type { WatchPolicy } from "./policy.ts"
import type { Command, Input, ListReason, Moment, Phase, WatchState } from "./protocol.ts"
import { classify } from "./refusal.ts"
import { Transition } from "./transition.ts"

export { initialState } from "./protocol.ts"

export const step = (
  policy: WatchPolicy,
  state: WatchState,
  input: Input,
  moment: Moment,
): readonly [WatchState, ReadonlyArray<Command>] => {
  if (state.phase.tag === "stopped") return [state, []]
  const transition = new Step(policy, state, moment)
  transition.take(input)
  return transition.result()
}

/** The transitions: where to go, and what streams say. */
class Step extends Transition {
  take(input: Input): void {
    switch (input.type) {
      case "start":
        if (this.phase.tag !== "idle") return
        this.remember({ clusterUid: input.clusterUid, suspicious: input.resumeVersion !== undefined })
        return this.#discover()
      case "stop":
        return this.#stop()
      case "discovered":
        if (this.phase.tag === "discovering") this.#discovered(input.clusterUid)
        return
      case "not-installed":
        if (this.phase.tag === "discovering") this.#absent()
        return
      case "discovery-failed":
        if (this.phase.tag === "discovering") this.fail(input.status, "discover", "discovery")
        return
      case "probed":
        if (this.phase.tag === "probing") this.#probed(input.version, input.clusterUid)
        return
      case "probe-failed":
        if (this.phase.tag === "probing") this.#probeFailed(input.status)
        return
      case "opened":
        return this.#opened(input.stream)
      case "refused":
        return this.#refused(input.stream, input.status)
      case "first-bytes":
        return this.#firstBytes(input.stream)
      case "page-complete":
        return this.#pageComplete(input.stream, input.version, input.continueToken)
      case "initial-events-end":
        return this.#initialEventsEnd(input.stream, input.version)
      case "bookmark":
        return this.#bookmark(input.stream)
      case "error-event":
        return this.#errorEvent(input.stream, input.status)
      case "malformed-line":
        return this.#malformed(input.stream, input.description)
      case "ended":
        return this.#ended(input)
      case "silent":
        return this.#silent(input.stream)
      case "retry":
        return this.#retry()
      case "successor-due":
        return this.#openSuccessor()
    }
  }

  // Where to go ------------------------------------------------------------------------------------------------------

  #discover(): void {
    this.phase = { tag: "discovering" }
    this.commands.push({ type: "discover" })
  }

  /**
   * The cluster's UID is kept if none was known: otherwise a recording would learn it from its first probe, when it may be
   * too late to tell another cluster from this one. A UID that differs is the probe's to judge.
   */
  #discovered(clusterUid: string | undefined): void {
    if (this.memory.clusterUid === undefined) this.#identify(clusterUid)
    this.#begin()
  }

  #identify(clusterUid: string | undefined): void {
    if (clusterUid === undefined || clusterUid === this.memory.clusterUid) return
    this.remember({ clusterUid })
    this.commands.push({ type: "cluster-identified", uid: clusterUid })
  }

  /** The kind exists: resume where the recording ends, or list. */
  #begin(): void {
    // A list that was begun stays due, with its reason, also when the kind was not installed meanwhile.
    if (this.memory.listPending) return this.#openList()
    if (this.moment.delivered === undefined) return this.#list("first", false)
    // Rule 12: a version from disk, or one a restarted server may have lost, can lie ahead of the server, which would
    // then answer 200 and nothing for ever.
    if (this.memory.suspicious) return this.#probe()
    this.#watch()
  }

  #probe(): void {
    this.phase = { tag: "probing" }
    this.commands.push({ type: "probe" })
  }

  #probed(version: string, clusterUid: string | undefined): void {
    this.remember({ suspicious: false })
    const known = this.memory.clusterUid
    this.#identify(clusterUid)
    if (known !== undefined && clusterUid !== undefined && known !== clusterUid) {
      const change = `namespace kube-system has UID ${clusterUid}, it had ${known}`
      return this.#restored(`${change}: this is another cluster, or it was built anew`)
    }
    if (this.isBehind(version)) return this.#restored(this.behind(version))
    this.#begin()
  }

  #probeFailed(status: ApiStatus): void {
    if (classify(status) === "not-found") return this.#absent()
    this.fail(status, "probe", "list")
  }

  #restored(detail: string): void {
    this.commands.push({ type: "epoch-started", detail })
    this.#list("cluster-restored", false)
  }

  /** Lists, streaming if the server can. `fromDelivered`: "not older than what is recorded" instead of "the latest". */
  #list(reason: ListReason, fromDelivered: boolean): void {
    this.remember({ listReason: reason, listFromDelivered: fromDelivered, listPending: true })
    if (reason !== "first") {
      const { nowMs } = this.moment
      const relists = [...this.memory.relists.filter((time) => nowMs - time < this.policy.relistWindowMs), nowMs]
      this.remember({ relists })
      if (relists.length > this.policy.relistLimit) {
        const detail = `${relists.length} relists within ${this.policy.relistWindowMs / 1000} s: waiting longer`
        this.commands.push({ type: "alarm", detail })
        return this.wait("list", this.policy.relistPauseMs * (1 + this.moment.random()), "failing", detail)
      }
    }
    this.#openList()
  }

  #openList(): void {
    const { listReason, listFromDelivered, streamingList } = this.memory
    const version = listFromDelivered ? this.moment.delivered : undefined
    this.commands.push({ type: "state", state: "listing", detail: listReason === "first" ? "first list" : listReason })
    this.commands.push({ type: "list-started", reason: listReason })
    const stream = this.newStream()
    if (streamingList) {
      this.phase = { tag: "streaming-list", stream, opened: false }
      this.commands.push({ type: "open-streaming-list", stream, version, timeoutSeconds: this.watchLife() })
      this.limitSilence(stream, this.policy.responseMs)
    } else {
      this.phase = { tag: "paging", stream, exact: version !== undefined, page: 1 }
      this.commands.push({ type: "open-page", stream, version, continueToken: undefined })
      this.limitSilence(stream, this.policy.responseMs)
    }
  }

  #watch(): void {
    const version = this.moment.delivered
    if (version === undefined) return this.#list("first", false)
    const stream = this.newStream()
    const timeoutSeconds = this.watchLife()
    this.#watching(stream, version)
    this.commands.push({ type: "open-watch", stream, version, timeoutSeconds })
    this.#watchTimers(stream, timeoutSeconds)
    this.commands.push({ type: "state", state: "watching", detail: `from version ${version}` })
  }

  /** From now on `stream` is the watch that counts. */
  #watching(stream: number, from: string | undefined, heard = false): void {
    this.phase = { tag: "watching", stream, openedAtMs: this.moment.nowMs, from, heard, successor: undefined }
  }

  #watchTimers(stream: number, timeoutSeconds: number): void {
    this.limitSilence(stream, this.silenceLimit(timeoutSeconds * 1000))
    const overlap = Math.min(this.policy.overlapSeconds, timeoutSeconds / 2)
    this.commands.push({ type: "successor-after", ms: (timeoutSeconds - overlap) * 1000 })
  }

  #openSuccessor(): void {
    const phase = this.phase
    if (phase.tag !== "watching" || phase.successor !== undefined || this.moment.delivered === undefined) return
    const successor = this.newStream()
    const timeoutSeconds = this.watchLife()
    this.phase = { ...phase, successor }
    this.commands.push({ type: "open-watch", stream: successor, version: this.moment.delivered, timeoutSeconds })
    this.#watchTimers(successor, timeoutSeconds)
  }

  #absent(): void {
    this.phase = { tag: "absent" }
    this.commands.push({
      type: "state",
      state: "waiting",
      detail: "the kind is not installed; looking for it again and again",
    })
    this.commands.push({ type: "retry-after", ms: this.policy.absentPollMs * (1 + 0.2 * this.moment.random()) })
  }

  #stop(): void {
    for (const stream of this.streams()) this.commands.push({ type: "close", stream })
    this.phase = { tag: "stopped" }
    this.commands.push({ type: "state", state: "stopped", detail: "asked to" })
  }

  #retry(): void {
    const phase = this.phase
    if (phase.tag === "absent") return this.#discover()
    if (phase.tag !== "backing-off") return
    switch (phase.then) {
      case "discover":
        return this.#discover()
      case "probe":
        return this.#probe()
      case "list":
        // Not #list: a list that was put off or failed is the same relist still, and is not counted again.
        return this.#openList()
      case "watch":
        return this.#begin()
    }
  }

  // What streams say -------------------------------------------------------------------------------------------------

  #opened(stream: number): void {
    const phase = this.phase
    if (phase.tag === "streaming-list" && phase.stream === stream) {
      this.phase = { ...phase, opened: true }
      this.limitSilence(stream, this.policy.streamingListSilenceMs)
    }
  }

  #firstBytes(stream: number): void {
    const phase = this.phase
    if (phase.tag !== "watching" || phase.successor !== stream) return
    this.commands.push({ type: "close", stream: phase.stream })
    this.#watching(stream, this.moment.delivered, true)
  }

  #pageComplete(stream: number, version: string, continueToken: string | undefined): void {
    const phase = this.phase
    if (phase.tag !== "paging" || phase.stream !== stream) return
    if (continueToken === undefined || continueToken === "") return this.#listed(version)
    const next = this.newStream()
    this.phase = { ...phase, stream: next, page: phase.page + 1 }
    this.commands.push({ type: "open-page", stream: next, version: undefined, continueToken })
    this.limitSilence(next, this.policy.responseMs)
  }

  #initialEventsEnd(stream: number, version: string): void {
    const phase = this.phase
    if (phase.tag !== "streaming-list" || phase.stream !== stream) return
    if (this.isBehind(version)) {
      this.commands.push({ type: "close", stream })
      return this.#restored(this.behind(version))
    }
    this.#listDone(version)
    this.#watching(stream, version)
    const life = this.policy.watchLifeSeconds[0]
    this.#watchTimers(stream, life)
    this.commands.push({ type: "state", state: "watching", detail: `from version ${version}` })
  }

  #listed(version: string): void {
    if (this.isBehind(version)) return this.#restored(this.behind(version))
    this.#listDone(version)
    const stream = this.newStream()
    const timeoutSeconds = this.watchLife()
    this.#watching(stream, version)
    this.commands.push({ type: "open-watch", stream, version, timeoutSeconds })
    this.#watchTimers(stream, timeoutSeconds)
    this.commands.push({ type: "state", state: "watching", detail: `from version ${version}` })
  }

  #listDone(version: string): void {
    this.commands.push({ type: "list-completed", version })
    this.remember({ listPending: false, malformedAt: undefined, overloaded: false, backOffBaseMs: 0 })
  }

  #bookmark(stream: number): void {
    const phase = this.phase
    if (phase.tag !== "watching" || !this.streams().includes(stream)) return
    const { nowMs } = this.moment
    const { lastBookmark, bookmarkIntervalMs } = this.memory
    // Between two streams may lie an outage; and a server's last bookmark before it closes a watch comes early, so that only
    // intervals of a second and more are its rhythm.
    const interval = lastBookmark?.stream === stream ? nowMs - lastBookmark.atMs : 0
    const isRhythm = interval >= 1000
    this.remember({ lastBookmark: { stream, atMs: nowMs } })
    if (isRhythm) this.remember({ bookmarkIntervalMs: Math.max(interval, bookmarkIntervalMs ?? 0) })
    if (phase.stream === stream) this.phase = { ...phase, heard: true }
    if (isRhythm) this.limitSilence(stream, this.silenceLimit(undefined))
  }

  #refused(stream: number, status: ApiStatus): void {
    const phase = this.phase
    if (!this.streams().includes(stream)) return
    if (phase.tag === "watching" && phase.successor === stream) {
      // The old stream still counts; when it ends the same refusal is met and handled with nothing in flight.
      this.phase = { ...phase, successor: undefined }
      return
    }
    this.closeOthers(stream)
    const refusal = classify(status)
    const listing = phase.tag === "streaming-list" || phase.tag === "paging"
    if (phase.tag === "streaming-list" && refusal === "no-streaming-list") {
      this.remember({ streamingList: false })
      return this.#openList()
    }
    if (refusal === "expired") {
      if (!listing) return this.#expired()
      // A page token that expired, or a list older than the server keeps: start again from the latest state.
      this.remember({ listFromDelivered: false })
      return this.fail(status, "list", "list")
    }
    if (refusal === "too-large") {
      this.remember({ listFromDelivered: false, suspicious: true })
      return this.fail(status, listing ? "list" : "probe", "watch")
    }
    if (refusal === "not-found") return this.#absent()
    this.fail(status, listing ? "list" : "watch", listing ? "list" : "watch")
  }

  #errorEvent(stream: number, status: ApiStatus): void {
    if (!this.streams().includes(stream)) return
    this.commands.push({ type: "close", stream })
    this.#refused(stream, status)
  }

  /**
   * A line that cannot be read. The stream is resumed before it: a damaged transfer heals and nothing is lost. If the
   * same place is damaged again the server itself writes it so, and a list goes round it.
   */
  #malformed(stream: number, description: string): void {
    if (!this.streams().includes(stream)) return
    this.closeAll()
    const listing = this.phase.tag !== "watching"
    const delivered = this.moment.delivered ?? ""
    this.commands.push({ type: "alarm", detail: description })
    if (listing) return this.fail(failure("MalformedLine", description), "list", "list")
    // The server still has the version, so a state not older than that will do, and may come from its cache.
    if (this.memory.malformedAt === delivered) return this.#list("expired", true)
    this.remember({ malformedAt: delivered })
    this.fail(failure("MalformedLine", description), "watch", "watch")
  }

  #ended(input: Extract<Input, { type: "ended" }>): void {
    const phase = this.phase
    if (!this.streams().includes(input.stream)) return
    // Whoever died or was restarted behind an unclean end may have lost versions; a reader that blocked was merely hung up on.
    if (input.whileBlocked) this.remember({ overloaded: true })
    else if (input.outcome.tag !== "complete") this.remember({ suspicious: true })
    if (phase.tag === "watching") return this.#watchEnded(phase, input)
    if (phase.tag === "streaming-list" && input.outcome.tag === "complete") {
      // A watch's whole life without the end bookmark, and never silent: a busy kind of a server that does not know the
      // parameter (rule 2).
      this.remember({ streamingList: false })
      return this.#openList()
    }
    const status = failure("ConnectionLost", `the ${phase.tag} ended early: ${input.outcome.description}`)
    this.fail(status, "list", "list")
  }

  #watchEnded(phase: Extract<Phase, { tag: "watching" }>, input: Extract<Input, { type: "ended" }>): void {
    if (phase.successor === input.stream) {
      this.phase = { ...phase, successor: undefined }
      return
    }
    const { delivered, progressed, nowMs } = this.moment
    const isShort = nowMs - phase.openedAtMs < this.policy.veryShortWatchMs
    if (progressed && !input.whileBlocked) this.remember({ overloaded: false })
    // To a server without bookmarks that is behind our version every life of a watch looks like this (rule 12).
    if (!isShort && !phase.heard && delivered === phase.from) this.remember({ suspicious: true })
    if (phase.successor !== undefined) {
      // The old stream has ended and its successor is already there: it holds everything after what was delivered.
      if (!this.memory.suspicious) return this.#watching(phase.successor, delivered)
      this.commands.push({ type: "close", stream: phase.successor })
    }
    const isClean = input.outcome.tag === "complete" || input.outcome.tag === "truncated"
    if (progressed || (isClean && !isShort)) return this.#begin()
    const status = failure(
      "WatchEnded",
      `the watch ended after ${Math.round(nowMs - phase.openedAtMs)} ms without an event: ${input.outcome.description}`,
    )
    this.fail(status, "watch", "watch")
  }

  #silent(stream: number): void {
    const phase = this.phase
    if (!this.streams().includes(stream)) return
    this.closeAll()
    if (phase.tag === "streaming-list" && phase.opened) {
      // Synthetic events came and the end bookmark never did: the server does not know the parameter (rule 2).
      this.remember({ streamingList: false })
      return this.#openList()
    }
    this.remember({ suspicious: true })
    const listing = phase.tag === "streaming-list" || phase.tag === "paging"
    this.fail(
      failure("Silent", "no byte came for longer than the server ever stays silent"),
      listing ? "list" : "watch",
      "watch",
    )
  }

  // What failed ------------------------------------------------------------------------------------------------------

  /** The server no longer has the version: what happened since is lost, the present state is not. */
  #expired(): void {
    this.#list(this.memory.overloaded ? "overload" : "expired", false)
  }
}

/** A failure that did not come as a Status of the server. */
const failure = (reason: string, message: string): ApiStatus => ({
  code: 0,
  reason,
  message,
  causes: [],
  retryAfterSeconds: undefined,
})
