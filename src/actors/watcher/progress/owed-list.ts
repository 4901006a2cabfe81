/**
 * Whether a watcher that starts owes a list, although the recording knows a version from which to resume, and the detail of the gap that
 * the list closes.
 *
 * While a list is in progress, the objects in the recording are partly from before and partly from after it. Resuming from the version
 * before it would record what was listed a second time, and restore what the list had found deleted (seen after killing the process during
 * a relist: 1,120 changes recorded twice, no gap). So the next life lists too, and records what is not known.
 */
import type { ListReason } from "../../../kube/watch/protocol/protocol.ts"
import type { GapReason } from "../../../trace/event.ts"
import type { KindResumePoint } from "../../../wire/stored-state.ts"
import { areRedactedAlike } from "../selection.ts"

export interface OwedList {
  readonly reason: GapReason
  readonly detail: string
}

/** `selection`: the current one. */
export const owedList = (resume: KindResumePoint, selection: string): OwedList | undefined => {
  const { listReason, namespaces, nextObjectNumber, resumeVersion } = resume
  // It was watched namespace by namespace and no longer is: there is no version up to which the whole is complete.
  if (namespaces.length > 0) {
    const isNothingKnown = nextObjectNumber === 1 && namespaces.every(({ completeThrough }) => completeThrough === "")
    return isNothingKnown ? undefined : selectionChanged(resume.selection, selection)
  }
  if (listReason !== "" && listReason !== "first") {
    return { reason: listReason as Exclude<ListReason, "first">, detail: interruptedList("the list that followed") }
  }
  if (listReason === "first" && nextObjectNumber > 1)
    return { reason: "stopped", detail: interruptedList("the first list") }
  const isOther = resume.selection !== "" && resume.selection !== selection
  if (resumeVersion !== "" && (isOther || !areRedactedAlike(resume.selection, selection)))
    return selectionChanged(resume.selection, selection)
  return undefined
}

/** The selection has changed. */
export const selectionChanged = (before: string, now: string): OwedList => ({
  reason: "stopped",
  detail: `the selection of this kind's objects was changed from ${before || "an unknown one"} to ${now}; its current state was listed`,
})

/** For a first list that is repeated in the same life, after part of it was recorded. */
export const repeatedFirstList: OwedList = {
  reason: "stopped",
  detail: "the first list was restarted after a part of it had been recorded; the changes in between are unknown",
}

/** A list was not completed in the previous life. */
export const interruptedList = (what: string): string =>
  `the recorder ended before ${what} was complete; the current state was listed afterwards`
