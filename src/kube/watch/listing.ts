/**
 * Lists: streaming where the server can, otherwise in pages (rule 2), and what follows from each. A list that was begun
 * stays due, with its reason, until it is complete.
 */
import type { ListReason, StreamId } from "./protocol/protocol.ts"
import type { Transition } from "./protocol/transition.ts"
import { openWatch, watchOn } from "./watching.ts"

/** How a list is made, and what is said of it, where it is not the usual. */
interface ListTerms {
  /** "Not older than what is recorded" instead of "the latest": the server still has that version. */
  readonly fromDelivered?: boolean
  /** What led to it, for people, where the reason does not say it. */
  readonly detail?: string
}

/** A list is due. Relists in a row are slowed down (rule 9). */
export const list = (step: Transition, reason: ListReason, terms: ListTerms = {}): void => {
  const { fromDelivered = false, detail } = terms
  step.remember({ listReason: reason, listDetail: detail, listFromDelivered: fromDelivered, listPending: true })
  if (reason === "first") return openList(step)
  const { policy, moment, memory } = step
  const { nowMs } = moment
  const relists = [...memory.relists.filter((time) => nowMs - time < policy.relistWindowMs), nowMs]
  step.remember({ relists })
  if (relists.length <= policy.relistLimit) return openList(step)
  const alarm = `${relists.length} relists within ${policy.relistWindowMs / 1000} s: waiting longer`
  step.commands.push({ type: "alarm", detail: alarm })
  step.wait("list", policy.relistPauseMs * (1 + moment.random()), "failing", alarm)
}

/** Begins the list that is due, or begins it anew. */
export const openList = (step: Transition): void => {
  const { listReason, listDetail, streamingList } = step.memory
  const version = versionToAskFor(step)
  begin(step, listReason === "first" ? "first list" : (listDetail ?? listReason))
  const stream = step.newStream()
  if (streamingList) {
    step.phase = { tag: "streaming-list", stream, opened: false }
    step.commands.push({ type: "open-streaming-list", stream, version, timeoutSeconds: step.watchLife() })
  } else {
    step.phase = { tag: "paging", stream, continues: false, whole: false }
    step.commands.push({ type: "open-page", stream, version, continueToken: undefined })
  }
  step.limitSilence(stream, step.policy.responseMs)
}

/** The server does not know `sendInitialEvents`: that is remembered, and the list made in pages. */
export const listInPages = (step: Transition): void => {
  step.remember({ streamingList: false })
  openList(step)
}

/**
 * A continue token has expired: everything in one answer, of the version that the pages were asked for. False when that was
 * done already. See the page size in `policy.ts`.
 */
export const listAtOnce = (step: Transition): boolean => {
  const phase = step.phase
  if (phase.tag !== "paging" || !phase.continues || phase.whole) return false
  begin(step, "a continue token expired before the last page: listing without pages")
  const stream = step.newStream()
  step.phase = { tag: "paging", stream, continues: false, whole: true }
  step.commands.push({ type: "open-whole-list", stream, version: versionToAskFor(step) })
  step.limitSilence(stream, step.policy.responseMs)
  return true
}

const versionToAskFor = ({ memory, moment }: Transition): string | undefined =>
  memory.listFromDelivered ? moment.delivered : undefined

const begin = (step: Transition, detail: string): void => {
  const { listReason, listDetail } = step.memory
  step.commands.push({ type: "state", state: "listing", detail })
  step.commands.push({ type: "list-started", reason: listReason, detail: listDetail })
}

/** 200. Events may take their time from here on. */
export const listAnswered = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "streaming-list" || phase.stream !== stream) return
  step.phase = { ...phase, opened: true }
  step.limitSilence(stream, step.policy.streamingListSilenceMs)
}

/** The end of one page: the next one, or the watch after the list. */
export const pageComplete = (
  step: Transition,
  stream: StreamId,
  version: string,
  continueToken: string | undefined,
): void => {
  const phase = step.phase
  if (phase.tag !== "paging" || phase.stream !== stream) return
  if (continueToken !== undefined && continueToken !== "") {
    const next = step.newStream()
    step.phase = { ...phase, stream: next, continues: true }
    step.commands.push({ type: "open-page", stream: next, version: undefined, continueToken })
    return step.limitSilence(next, step.policy.responseMs)
  }
  if (step.isBehind(version)) return restored(step, step.behind(version))
  complete(step, version)
  openWatch(step, version)
}

/** The bookmark that ends a streaming list: its stream goes on as the watch. */
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
  step.remember({ listPending: false, malformedAt: undefined, overloaded: false, backOffBaseMs: 0 })
}

/** The server no longer has the version: what happened since is lost, the present state is not. */
export const expired = (step: Transition): void => {
  list(step, step.memory.overloaded ? "overload" : "expired")
}

/** The server has another past, or is another (rule 12). */
export const restored = (step: Transition, detail: string): void => {
  step.commands.push({ type: "epoch-started", detail })
  list(step, "cluster-restored")
}

/**
 * Another session of the kind has found the server restored; what this one delivered is of the old history as well. A first list
 * stays one. While something else is being asked or waited for the list is only due: every way from there leads to it.
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
