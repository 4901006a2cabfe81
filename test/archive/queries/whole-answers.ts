/** Answers without the pauses in which other work may run. */
import type { QueriedRecording } from "../../../src/archive/index.ts"
import { changeSteps } from "../../../src/archive/queries/changes.ts"
import { stateSteps } from "../../../src/archive/queries/state-at.ts"
import { differenceSteps } from "../../../src/archive/queries/state-differences.ts"

function* withoutPauses<Item, End>(steps: Generator<Item | undefined, End, void>): Generator<Item, End, void> {
  for (;;) {
    const next = steps.next()
    if (next.done === true) return next.value
    if (next.value !== undefined) yield next.value
  }
}

export const changes = (recording: QueriedRecording, question: Parameters<typeof changeSteps>[1]) =>
  withoutPauses(changeSteps(recording, question))

export const stateAt = (recording: QueriedRecording, question: Parameters<typeof stateSteps>[1]) =>
  withoutPauses(stateSteps(recording, question))

export const stateDifferences = (recording: QueriedRecording, question: Parameters<typeof differenceSteps>[1]) =>
  withoutPauses(differenceSteps(recording, question))
