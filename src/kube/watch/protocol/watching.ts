/**
 * Successive watches: each starts at the version last delivered, and its successor is opened before it ends (rule 6). The old stream is
 * current until the first bytes of its successor.
 */

import { parseResourceVersion } from "../../resource-version.ts"
import type { StreamId } from "./protocol.ts"
import type { Transition } from "./transition.ts"

/** Requests the events after `version`. The state becomes `watching` only when the server has responded. */
export const openWatch = (step: Transition, version: string): void => {
  const stream = step.newStream()
  const timeoutSeconds = step.watchLife()
  countOn(step, stream, version, { heard: false, answered: false })
  step.commands.push({ type: "open-watch", stream, version, timeoutSeconds })
  setTimers(step, stream, timeoutSeconds)
}

/** A streaming list is complete: the same stream continues as the watch. */
export const watchOn = (step: Transition, stream: StreamId, version: string): void => {
  countOn(step, stream, version, { heard: false, answered: true })
  setTimers(step, stream, step.policy.watchLifeSeconds[0])
  sayWatching(step, version)
}

/**
 * Facts about the previous watch that hold for its successor: whether a bookmark or event has arrived, whether the server has responded.
 */
interface Known {
  readonly heard: boolean
  readonly answered: boolean
}

/** Makes `stream` the current watch. */
const countOn = (step: Transition, stream: StreamId, from: string | undefined, known: Known): void => {
  step.phase = { tag: "watching", stream, openedAtMs: step.moment.nowMs, from, ...known, successor: undefined }
}

const setTimers = (step: Transition, stream: StreamId, timeoutSeconds: number): void => {
  step.limitSilence(stream, step.silenceLimit(timeoutSeconds * 1000))
  const overlap = Math.min(step.policy.overlapSeconds, timeoutSeconds / 2)
  step.commands.push({ type: "successor-after", ms: (timeoutSeconds - overlap) * 1000 })
}

const sayWatching = (step: Transition, from: string | undefined): void => {
  if (step.memory.catchUp === undefined) step.report("watching", `from version ${from}`)
  else watchBehind(step)
}

/** The watch has not brought everything yet that happened before it was resumed. */
const watchBehind = (step: Transition): void => {
  sayBehind(step)
  step.commands.push({ type: "look-after", ms: step.policy.catchUp.lookMs })
}

const sayBehind = (step: Transition): void => {
  const { catchUp } = step.memory
  if (catchUp === undefined) return
  const { delivered = "" } = step.moment
  const { from, through, said } = catchUp
  const first = Number(from)
  const share = Math.floor((100 * (Number(delivered) - first)) / (Number(through) - first))
  // Versions count the changes of the whole cluster, so their share is nearly one of time.
  const detail = Number.isFinite(share) ? `at version ${delivered} of ${through} (${share} %)` : `to version ${through}`
  const news = Number.isFinite(share) ? String(share) : through
  if (said === news && step.memory.reported === "catching-up") return
  step.remember({ catchUp: { ...catchUp, said: news } })
  step.report("catching-up", detail)
}

/** The server returned 200. Only now is the kind watched: a request under way may still be refused. */
export const watchAnswered = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "watching" || phase.answered || !step.streams().includes(stream)) return
  step.phase = { ...phase, answered: true }
  sayWatching(step, phase.from)
}

/**
 * The watch is near the end of its life: opens the next one. At most one. `briefly`: for so many s only, to learn how
 * far the server is.
 */
export const openSuccessor = (step: Transition, briefly?: number): void => {
  const phase = step.phase
  const version = step.moment.delivered
  if (phase.tag !== "watching" || phase.successor !== undefined || version === undefined) return
  const successor = step.newStream()
  const timeoutSeconds = briefly ?? step.watchLife()
  step.phase = { ...phase, successor }
  step.commands.push({ type: "open-watch", stream: successor, version, timeoutSeconds })
  if (briefly === undefined) return setTimers(step, successor, timeoutSeconds)
  step.remember({ brief: successor })
  step.limitSilence(successor, step.silenceLimit(timeoutSeconds * 1000))
}

/** The first bytes of a stream: if it is the successor, the old stream is no longer needed. */
export const firstBytes = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "watching" || phase.successor !== stream) return
  step.commands.push({ type: "close", stream: phase.stream })
  countOn(step, stream, step.moment.delivered, { heard: true, answered: phase.answered })
  // It lasts some seconds only: its successor, which is to last, is due.
  if (step.memory.brief === stream) step.commands.push({ type: "successor-after", ms: step.policy.catchUp.lookMs })
}

/** The old stream has ended; the successor has everything after what was delivered. */
export const succeed = (step: Transition, successor: StreamId, answered: boolean): void => {
  countOn(step, successor, step.moment.delivered, { heard: false, answered })
}

/** True if `stream` was the successor: it is forgotten, and the old stream continues alone. */
export const dropSuccessor = (step: Transition, stream: StreamId): boolean => {
  const phase = step.phase
  if (phase.tag !== "watching" || phase.successor !== stream) return false
  step.phase = { ...phase, successor: undefined }
  return true
}

/** Learns the interval of bookmarks, and from it how long a silence means a dead stream (rule 7). */
export const bookmark = (step: Transition, stream: StreamId): void => {
  const phase = step.phase
  if (phase.tag !== "watching" || !step.streams().includes(stream)) return
  const { nowMs } = step.moment
  const { lastBookmark, bookmarkIntervalMs } = step.memory
  // An outage may separate bookmarks of two streams; and a server's last bookmark before it closes a watch comes early, so only intervals
  // of at least a second are counted.
  const interval = lastBookmark?.stream === stream ? nowMs - lastBookmark.atMs : 0
  const isRhythm = interval >= 1000
  step.remember({ lastBookmark: { stream, atMs: nowMs } })
  if (isRhythm) step.remember({ bookmarkIntervalMs: Math.max(interval, bookmarkIntervalMs ?? 0) })
  if (phase.stream === stream) step.phase = { ...phase, heard: true }
  if (isRhythm) step.limitSilence(stream, step.silenceLimit(undefined))
}

// Catching up: a stream that is resumed brings what happened meanwhile, and until all of it has arrived the kind is not known as of now, whatever
// comes in the meantime (rule 15). How far that is, is known from the version that the server names before the stream is resumed.

/** Before the stream is resumed, the server has named its present version: what happened up to it is still to come. */
export const fallBehind = (step: Transition, through: string): void => {
  const { delivered } = step.moment
  if (!step.memory.tellsCatchUp || delivered === undefined) return
  if (through === delivered) return catchUpEnds(step)
  const from = step.memory.catchUp?.from ?? delivered
  step.remember({ catchUp: { from, through, numeric: parseResourceVersion(through), quietLooks: 0, said: "" } })
  step.commands.push({ type: "behind", isBehind: true })
}

/** Regularly while something is still to come. `hasMoved`: changes have arrived since the last look, or the reader is blocked. */
export const look = (step: Transition, hasMoved: boolean): void => {
  const { catchUp } = step.memory
  const phase = step.phase
  if (catchUp === undefined || phase.tag !== "watching" || !phase.answered) return
  const { quietLooks: quiet, briefEveryLooks, enoughLooks, briefSeconds } = step.policy.catchUp
  const quietLooks = hasMoved ? 0 : catchUp.quietLooks + 1
  if (quietLooks >= enoughLooks) return caughtUp(step)
  step.remember({ catchUp: { ...catchUp, quietLooks } })
  if (quietLooks >= quiet && (quietLooks - quiet) % briefEveryLooks === 0) openSuccessor(step, briefSeconds)
  watchBehind(step)
}

/** A brief watch has ended in order: what it did not bring in its time is not there. */
export const briefEnded = (step: Transition): void => {
  const { quietLooks = 0 } = step.memory.catchUp ?? {}
  if (quietLooks >= step.policy.catchUp.provenLooks) caughtUp(step)
}

/** Everything up to the version has arrived. */
export const caughtUp = (step: Transition): void => {
  if (step.memory.catchUp === undefined) return
  catchUpEnds(step)
  const { phase } = step
  if (phase.tag === "watching" && phase.answered) step.report("watching", `from version ${step.moment.delivered}`)
}

/** Nothing is to come any more that is not known, also because a list has replaced it. */
export const catchUpEnds = (step: Transition): void => {
  if (step.memory.catchUp === undefined) return
  step.remember({ catchUp: undefined })
  step.commands.push({ type: "behind", isBehind: false })
}
