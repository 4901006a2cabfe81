/**
 * Catching up: a stream that is resumed brings what happened meanwhile, and until all of it has arrived the kind is not known as of now, whatever
 * comes in the meantime (rule 15). How far that is, is known from the version that the server names before the stream is resumed.
 *
 * It ends with a change or a bookmark at or above that version. A quiet kind has neither for a minute. So when changes no longer come, a successor with a life
 * of some seconds is opened, because servers send a bookmark two seconds before the end of a watch. If that bookmark is missing, or below the version
 * because the server was not told of it, it has to do that such a watch has ended in order without a change. Silence alone proves nothing: a stalled
 * connection is silent too.
 */
import { parseResourceVersion } from "../../resource-version.ts"
import type { Transition } from "./transition.ts"
import { openSuccessor, watchBehind } from "./watching.ts"

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
