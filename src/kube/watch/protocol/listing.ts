/**
 * Lists: streaming if the server supports it, otherwise in pages (rule 2), and the transitions that follow. A started list stays due, with
 * its reason, until it is complete.
 */

import type { ListReason, StreamId } from "./protocol.ts"
import { failure, type Transition } from "./transition.ts"
import { catchUpEnds, openWatch, watchOn } from "./watching.ts"

/** How a list differs from the usual one, and the detail to report. */
interface ListTerms {
  /** "Not older than what is recorded" instead of "the latest": the server still has that version. */
  readonly fromDelivered?: boolean
  /** The cause of the list, for people, if the reason does not say it. */
  readonly detail?: string
}

/** A list is due. Repeated relists are slowed down (rule 9). */
export const list = (step: Transition, reason: ListReason, terms: ListTerms = {}): void => {
  const { fromDelivered = false, detail } = terms
  step.remember({ listReason: reason, listDetail: detail, listFromDelivered: fromDelivered, listPending: true })
  if (reason === "first") return openList(step)
  const { policy, moment, memory } = step
  const { nowMs } = moment
  const relists = [...memory.relists.filter((time) => nowMs - time < policy.relistWindowMs), nowMs]
  step.remember({ relists })
  if (relists.length <= policy.relistLimit) return openList(step)
  const alarm = `${relists.length} relists within ${policy.relistWindowMs / 1000} s: waiting longer before the next one`
  step.commands.push({ type: "alarm", detail: alarm })
  step.wait("list", policy.relistPauseMs * (1 + moment.random()), "failing", alarm)
}

/** Starts the list that is due, or restarts it. */
export const openList = (step: Transition): void => {
  const { pagesUntilMs } = step.memory
  const version = versionToAskFor(step)
  begin(step, cause(step))
  const stream = step.newStream()
  if (step.moment.nowMs >= pagesUntilMs) {
    step.phase = { tag: "streaming-list", stream, part: "asked" }
    step.commands.push({ type: "open-streaming-list", stream, version, timeoutSeconds: step.watchLife() })
  } else {
    step.phase = { tag: "paging", stream, continues: false, whole: false, pages: 0, earlierToken: undefined }
    step.commands.push({ type: "open-page", stream, version, continueToken: undefined })
  }
  step.limitSilence(stream, step.policy.responseMs)
}

/** The server does not support streaming lists: lists in pages, for a while. */
export const listInPages = (step: Transition): void => {
  step.remember({ pagesUntilMs: step.moment.nowMs + step.policy.pagesOnlyMs })
  openList(step)
}

/**
 * The server sends what looks like a streaming list and does not end it as one (rule 2). People learn that once: every hour the next attempt may end the same
 * way. One that supports them and is only slow is listed in pages as well, which have no such limits, so that this cannot go on and on.
 */
export const giveUpStreaming = (step: Transition, why: string): void => {
  step.commands.push({ type: "unended-list" })
  if (!step.memory.saidUnended)
    step.commands.push({
      type: "alarm",
      detail: `the server seems to ignore sendInitialEvents (${why}): it is listed in pages`,
    })
  step.remember({ saidUnended: true })
  listInPages(step)
}

/** The first bytes of a list as a stream: from here on they come without a break. */
export const objectsBegin = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "streaming-list" || phase.stream !== stream || phase.part !== "empty") return
  step.phase = { ...phase, part: "objects" }
  step.limitSilence(stream, step.policy.streamingListPauseMs)
}

/** The initial objects are over, so the end is due, however busy the kind is. */
export const changesBegin = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "streaming-list" || phase.stream !== stream || phase.part === "changes") return
  step.phase = { ...phase, part: "changes" }
  step.commands.push({ type: "limit-stall", stream, ms: step.policy.streamingListPauseMs })
}

/** An object that is neither the next initial one nor a change: whatever sends it does not know what was asked for. */
export const outOfOrder = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "streaming-list" || phase.stream !== stream) return
  step.closeAll()
  giveUpStreaming(step, "its objects are not in the order of their names")
}

/**
 * A continue token has expired: requests everything in one response, at the version that the pages had. Returns false if that was already
 * done. See the page size in `policy.ts`.
 */
export const listAtOnce = (step: Transition): boolean => {
  const phase = step.phase
  if (phase.tag !== "paging" || !phase.continues || phase.whole) return false
  begin(step, "a continue token expired before the last page: listing without pages")
  const stream = step.newStream()
  step.phase = { tag: "paging", stream, continues: false, whole: true, pages: 0, earlierToken: undefined }
  step.commands.push({ type: "open-whole-list", stream, version: versionToAskFor(step) })
  step.limitSilence(stream, step.policy.responseMs)
  return true
}

const versionToAskFor = ({ memory, moment }: Transition): string | undefined =>
  memory.listFromDelivered ? moment.delivered : undefined

const cause = ({ memory }: Transition): string =>
  memory.listReason === "first" ? "first list" : (memory.listDetail ?? memory.listReason)

const begin = (step: Transition, detail: string): void => {
  const { listReason, listDetail } = step.memory
  if (!isRetried(step)) step.report("listing", detail)
  step.commands.push({ type: "list-started", reason: listReason, detail: listDetail })
}

/**
 * A list that follows a refusal is reported only once the server has accepted it: a kind that stays forbidden would be "listing" for a moment
 * at every attempt, and a recorder with a kind that is listing is not ready and rejects exports.
 */
const isRetried = ({ memory }: Transition): boolean => memory.reported === "forbidden" || memory.reported === "failing"

/** The server returned 200. */
export const listAnswered = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if ((phase.tag !== "streaming-list" && phase.tag !== "paging") || phase.stream !== stream) return
  if (isRetried(step)) step.report("listing", cause(step))
  if (phase.tag === "paging") return
  if (phase.part !== "asked") return
  step.phase = { ...phase, part: "empty" }
  step.limitSilence(stream, step.policy.streamingListSilenceMs)
}

/** A page is complete: requests the next one, or starts the watch after the list. */
export const pageComplete = (
  step: Transition,
  stream: StreamId,
  version: string,
  continueToken: string | undefined,
): void => {
  const phase = step.phase
  if (phase.tag !== "paging" || phase.stream !== stream) return
  if (continueToken !== undefined && continueToken !== "") {
    // A server that repeats itself would be asked for ever. Comparing with the token of the last page that was a power of two (Brent's algorithm)
    // finds a cycle of any length without keeping all tokens.
    if (continueToken === phase.earlierToken) {
      const status = failure("RepeatedToken", `the server repeats its continue token after ${phase.pages} pages`)
      return step.fail(status, "list", "list")
    }
    const pages = phase.pages + 1
    const isMilestone = (pages & (pages - 1)) === 0
    const next = step.newStream()
    const earlierToken = isMilestone ? continueToken : phase.earlierToken
    step.phase = { ...phase, stream: next, continues: true, pages, earlierToken }
    step.commands.push({ type: "open-page", stream: next, version: undefined, continueToken })
    return step.limitSilence(next, step.policy.responseMs)
  }
  if (step.isBehind(version)) return restored(step, step.behind(version))
  complete(step, version)
  openWatch(step, version)
}

/** The bookmark that ends a streaming list: its stream continues as the watch. */
export const initialEventsEnd = (step: Transition, stream: StreamId, version: string): void => {
  const phase = step.phase
  if (phase.tag !== "streaming-list" || phase.stream !== stream) return
  if (step.isBehind(version)) {
    step.commands.push({ type: "close", stream })
    return restored(step, step.behind(version))
  }
  complete(step, version)
  watchOn(step, stream, version)
}

const complete = (step: Transition, version: string): void => {
  step.commands.push({ type: "list-completed", version })
  catchUpEnds(step)
  step.remember({ listPending: false, malformedAt: undefined, overloaded: false, backOffBaseMs: 0 })
}

/** The server no longer has the version: the changes since then are lost, the present state is not. */
export const expired = (step: Transition): void => {
  list(step, step.memory.overloaded ? "overload" : "expired")
}

/** The server has a different history, or is a different cluster (rule 12). */
export const restored = (step: Transition, detail: string): void => {
  step.commands.push({ type: "epoch-started", detail })
  list(step, "cluster-restored")
}

/**
 * Another session of the kind has found the server restored; what this one delivered also belongs to the old history. A first list stays a
 * first list. During any other request or wait the list only becomes due: every path from there leads to it.
 */
export const restoredElsewhere = (step: Transition, detail: string, clusterUid: string | undefined): void => {
  if (step.phase.tag === "idle") return
  const { listPending, listReason } = step.memory
  const isFirst = step.moment.delivered === undefined && (!listPending || listReason === "first")
  if (clusterUid !== undefined) step.remember({ clusterUid })
  step.remember({ suspicious: false, malformedAt: undefined })
  step.commands.push({ type: "history-forgotten" })
  const reason: ListReason = isFirst ? "first" : "cluster-restored"
  const terms = isFirst ? {} : { detail }
  if (step.streams().length === 0) {
    step.remember({ listReason: reason, listDetail: terms.detail, listFromDelivered: false, listPending: true })
    return
  }
  step.closeAll()
  list(step, reason, terms)
}
