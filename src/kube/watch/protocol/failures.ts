/**
 * The failures of streams: refusals, malformed lines, ends and silence, and the transition for each. HTTP errors and errors inside a 200
 * response are treated alike (rule 3).
 */
import type { ApiStatus } from "../../status.ts"
import { expired, giveUpStreaming, list, listAtOnce, listInPages } from "./listing.ts"
import type { Input, Phase, StreamId } from "./protocol.ts"
import { absent, begin } from "./resuming.ts"
import { classify, failure, type Transition } from "./transition.ts"
import { briefEnded, dropSuccessor, succeed } from "./watching.ts"

type Ended = Extract<Input, { type: "ended" }>

/** A Status instead of a stream, or at its end: its meaning decides the next phase and the wait before it. */
export const refused = (step: Transition, stream: StreamId, status: ApiStatus): void => {
  const phase = step.phase
  if (!step.streams().includes(stream)) return
  // The old stream stays current; when it ends, the same refusal arrives again and is handled with nothing in flight.
  if (dropSuccessor(step, stream)) return
  step.closeOthers(stream)
  const refusal = classify(status)
  const listing = isListing(phase)
  if (phase.tag === "streaming-list" && refusal === "no-streaming-list") return listInPages(step)
  if (refusal === "expired") {
    if (!listing) return expired(step)
    if (listAtOnce(step)) return
    // The list's version is older than the server keeps: restarts from the latest state.
    step.remember({ listFromDelivered: false })
    return step.fail(status, "list", "list")
  }
  if (refusal === "too-large") {
    step.remember({ listFromDelivered: false, suspicious: true })
    return step.fail(status, listing ? "list" : "probe", "watch")
  }
  if (refusal === "not-found") return absent(step)
  step.fail(status, listing ? "list" : "watch", listing ? "list" : "watch")
}

/** An ERROR line inside a 200 response. */
export const errorEvent = (step: Transition, stream: StreamId, status: ApiStatus): void => {
  if (!step.streams().includes(stream)) return
  step.commands.push({ type: "close", stream })
  refused(step, stream, status)
}

/**
 * A line that cannot be read. The stream is resumed before it, which repairs a damaged transfer without loss. If the same place is
 * malformed again, the server itself sends it so, and a list skips it.
 */
export const malformed = (step: Transition, stream: StreamId, description: string): void => {
  if (!step.streams().includes(stream)) return
  step.closeAll()
  const delivered = step.moment.delivered ?? ""
  step.commands.push({ type: "alarm", detail: description })
  if (step.phase.tag !== "watching") return step.fail(failure("MalformedLine", description), "list", "list")
  if (step.memory.malformedAt === delivered) {
    // No reason in the closed list fits better: the server has the change but can no longer deliver it. It still has the version, so a
    // state not older than that is enough, and may come from its cache.
    const detail = `the data after version ${delivered} could not be parsed, twice (${description})`
    return list(step, "expired", { fromDelivered: true, detail: `${detail}; the current state was listed instead` })
  }
  step.remember({ malformedAt: delivered })
  step.fail(failure("MalformedLine", description), "watch", "watch")
}

/** The response has ended, cleanly or not. */
export const ended = (step: Transition, input: Ended): void => {
  const phase = step.phase
  if (!step.streams().includes(input.stream)) return
  // If the reader was blocked, the server most likely hung up for that reason.
  if (input.whileBlocked) step.remember({ overloaded: true })
  // But any unclean end may mean that a server died or restarted and lost versions, and a blocked reader would not have noticed.
  if (input.outcome.tag !== "complete") step.remember({ suspicious: true })
  if (phase.tag === "watching") return watchEnded(step, phase, input)
  // In order, but without the end bookmark: the server does not know the parameter (rule 2).
  if (phase.tag === "streaming-list" && input.outcome.tag === "complete")
    return giveUpStreaming(step, "it ended without the bookmark that ends its list")
  const status = failure("ConnectionLost", `the ${phase.tag} ended early: ${input.outcome.description}`)
  step.fail(status, "list", "list")
}

const watchEnded = (step: Transition, phase: Extract<Phase, { tag: "watching" }>, input: Ended): void => {
  const isBrief = input.stream === step.memory.brief
  if (isBrief && input.outcome.tag === "complete") briefEnded(step)
  if (dropSuccessor(step, input.stream)) return
  const { delivered, progressed, nowMs } = step.moment
  const isShort = !isBrief && nowMs - phase.openedAtMs < step.policy.veryShortWatchMs
  if (progressed && !input.whileBlocked) step.remember({ overloaded: false })
  // If the server has no bookmarks and is behind our version, every watch looks like this (rule 12).
  if (!isShort && !phase.heard && delivered === phase.from) step.remember({ suspicious: true })
  if (phase.successor !== undefined) {
    if (!step.memory.suspicious) return succeed(step, phase.successor, phase.answered)
    step.commands.push({ type: "close", stream: phase.successor })
  }
  const isClean = input.outcome.tag === "complete" || input.outcome.tag === "truncated"
  if (progressed || (isClean && !isShort)) {
    if (input.outcome.tag !== "complete") step.commands.push({ type: "cut", detail: input.outcome.description })
    return begin(step)
  }
  const status = failure(
    "WatchEnded",
    `the watch ended after ${Math.round(nowMs - phase.openedAtMs)} ms without an event: ${input.outcome.description}`,
  )
  step.fail(status, "watch", "watch")
}

/** No byte within the limit: closes the stream. */
export const silent = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (!step.streams().includes(stream)) return
  if (stream === step.memory.brief && dropSuccessor(step, stream)) {
    // A server that does not end it says nothing about the stream beside it.
    step.commands.push({ type: "close", stream })
    return
  }
  step.closeAll()
  // A response, but not the end bookmark: the server does not know the parameter (rule 2).
  if (phase.tag === "streaming-list" && phase.part !== "asked")
    return giveUpStreaming(step, "it sent nothing more, and no bookmark that ends its list")
  step.remember({ suspicious: true })
  const status = failure("Silent", "no data arrived for too long, so the connection is presumed dead")
  step.fail(status, isListing(phase) ? "list" : "watch", "watch")
}

/** Changes come, but not the end of a streaming list: the server does not know the parameter (rule 2). */
export const stalled = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "streaming-list" || phase.stream !== stream) return
  step.closeAll()
  giveUpStreaming(step, "it sends changes, and no bookmark that ends its list")
}

const isListing = ({ tag }: Phase): boolean => tag === "streaming-list" || tag === "paging"
