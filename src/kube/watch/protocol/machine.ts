/**
 * The list/watch protocol as one step function: (state, input, moment) → (state, commands). No I/O, no clock, no
 * randomness of its own; every error path is a transition. State machine after kube-rs, policies after client-go (rule 1).
 *
 * The rule numbers in comments and tests here refer to docs/facts/watch-protocol.md.
 *
 * The caller must carry out the commands in order and feed every result back, exactly once per request. Inputs of streams that the machine
 * has closed are ignored here.
 */

import { ended, errorEvent, malformed, refused, silent, stalled } from "./failures.ts"
import {
  changesBegin,
  initialEventsEnd,
  listAnswered,
  objectsBegin,
  outOfOrder,
  pageComplete,
  restoredElsewhere,
} from "./listing.ts"
import type { WatchPolicy } from "./policy.ts"
import type { Command, Input, Moment, WatchState } from "./protocol.ts"
import { absent, discover, discovered, probed, probeFailed, retry, stop } from "./resuming.ts"
import { Transition } from "./transition.ts"
import { bookmark, caughtUp, firstBytes, look, openSuccessor, watchAnswered } from "./watching.ts"

export { initialState } from "./protocol.ts"

/** One step. Pure: equal arguments give equal results; no argument is changed. */
export const step = (
  policy: WatchPolicy,
  state: WatchState,
  input: Input,
  moment: Moment,
): readonly [WatchState, ReadonlyArray<Command>] => {
  if (state.phase.tag === "stopped") return [state, []]
  const transition = new Transition(policy, state, moment)
  take(transition, input)
  return transition.result()
}

const take = (step: Transition, input: Input): void => {
  const { tag } = step.phase
  switch (input.type) {
    case "start":
      if (tag !== "idle") return
      step.remember({ clusterUid: input.clusterUid, suspicious: input.resumeVersion !== undefined })
      step.remember({ tellsCatchUp: input.tellsCatchUp === true })
      if (input.isExpected === true) step.remember({ hurriedLooks: step.policy.expectedLooks })
      if (input.listsInPages === true) step.remember({ pagesUntilMs: Number.POSITIVE_INFINITY })
      return discover(step)
    case "stop":
      return stop(step)
    case "discovered":
      if (tag === "discovering") discovered(step, input.clusterUid)
      return
    case "not-installed":
      if (tag === "discovering") absent(step)
      return
    case "discovery-failed":
      if (tag === "discovering") step.fail(input.status, "discover", "discovery")
      return
    case "probed":
      if (tag === "probing") probed(step, input.version, input.clusterUid)
      return
    case "probe-failed":
      if (tag === "probing") probeFailed(step, input.status)
      return
    case "opened":
      listAnswered(step, input.stream)
      return watchAnswered(step, input.stream)
    case "refused":
      return refused(step, input.stream, input.status)
    case "first-bytes":
      objectsBegin(step, input.stream)
      return firstBytes(step, input.stream)
    case "changes-begin":
      return changesBegin(step, input.stream)
    case "out-of-order":
      return outOfOrder(step, input.stream)
    case "page-complete":
      return pageComplete(step, input.stream, input.version, input.continueToken)
    case "initial-events-end":
      return initialEventsEnd(step, input.stream, input.version)
    case "bookmark":
      return bookmark(step, input.stream)
    case "error-event":
      return errorEvent(step, input.stream, input.status)
    case "malformed-line":
      return malformed(step, input.stream, input.description)
    case "ended":
      return ended(step, input)
    case "silent":
      return silent(step, input.stream)
    case "stalled":
      return stalled(step, input.stream)
    case "restored-elsewhere":
      return restoredElsewhere(step, input.detail, input.clusterUid)
    case "retry":
      return retry(step)
    case "successor-due":
      return openSuccessor(step)
    case "look":
      return look(step, input.hasMoved)
    case "caught-up":
      return caughtUp(step)
  }
}
