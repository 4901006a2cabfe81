/**
 * Whether a watcher that starts owes a list, although the recording knows a version from which to resume, and the detail of the gap that
 * the list closes.
 *
 * While a list is in progress, the objects in the recording are partly from before and partly from after it. Resuming from the version
 * before it would record what was listed a second time, and restore what the list had found deleted (seen after killing the process during
 * a relist: 1,120 changes recorded twice, no gap). So the next life lists too, and records what is not known.
 */
import type { ListReason } from "../../kube/index.ts"
import type { GapReason } from "../../trace/index.ts"
import type { KindResumePoint, NamespaceListReason, NamespaceProgress, StoredObject } from "../../wire/index.ts"
import { areRedactedAlike, isSelected, withoutNamespaces } from "./selection.ts"

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
const selectionChanged = (before: string, now: string): OwedList => ({
  reason: "stopped",
  detail: `the selection of this kind's objects was changed from ${before || "an unknown one"} to ${now}; its current state was listed`,
})

/** For a first list that is repeated in the same life, after part of it was recorded. */
export const repeatedFirstList: OwedList = {
  reason: "stopped",
  detail: "the first list was restarted after a part of it had been recorded; the changes in between are unknown",
}

/** A list was not completed in the previous life. */
const interruptedList = (what: string): string =>
  `the recorder ended before ${what} was complete; the current state was listed afterwards`

// Determines where each namespace of a kind resumes when a watcher starts that watches it namespace by namespace: from the state that the
// previous life stored for it, or from the version of a kind that was watched as a whole, which holds for each of its namespaces.
// So a namespace can be added or removed, and the others resume. A new namespace is listed, and a gap says that it was not recorded before.

/** One namespace to be watched. */
export interface NamespaceResume {
  readonly state: NamespaceProgress
  /** A list is due although something is recorded, and this is the detail of its gap; `undefined` also for a first list. */
  readonly owed: OwedList | undefined
}

/** Whether to watch a kind namespace by namespace: it has several, or was watched so before. */
export const isWatchedByNamespace = (
  namespaces: ReadonlyArray<string> | undefined,
  before: Pick<KindResumePoint, "namespaces">,
): namespaces is ReadonlyArray<string> =>
  namespaces !== undefined && (namespaces.length > 1 || before.namespaces.length > 0)

/** In the order of `namespaces`. `selection`: the current one. */
export const resumeByNamespace = (
  namespaces: ReadonlyArray<string>,
  selection: string,
  resume: KindResumePoint,
  objects: ReadonlyArray<Pick<StoredObject, "namespace">>,
): ReadonlyArray<NamespaceResume> => {
  const populated = new Set(objects.map(({ namespace }) => namespace))
  // A cluster-scoped kind is watched as if it were in the first of them.
  const isPopulated = (namespace: string): boolean => populated.has(namespace) || populated.has("")
  const before = statesBefore(resume)
  const isOther =
    (resume.selection !== "" && withoutNamespaces(resume.selection) !== withoutNamespaces(selection)) ||
    !areRedactedAlike(resume.selection, selection)
  return namespaces.map((namespace) => {
    const known = before(namespace)
    const { completeThrough = "", listReason = "" } = known ?? {}
    const completeTime = known?.completeTime || resume.completeTime
    const state = { namespace, completeThrough, completeTime }
    const due = (owed: OwedList): NamespaceResume => ({ state: { ...state, listReason: owed.reason }, owed })
    const isNew = known === undefined && (resume.completeTime > 0 || resume.nextObjectNumber > 1)
    if (isNew) return due(selectionChanged(resume.selection, selection))
    if (listReason !== "" && listReason !== "first")
      return due({ reason: listReason, detail: interruptedList("the list that followed") })
    if (completeThrough === "") {
      if (isPopulated(namespace)) return due({ reason: "stopped", detail: interruptedList("the first list") })
      return { state: { ...state, listReason: "first" }, owed: undefined }
    }
    if (isOther) return due(selectionChanged(resume.selection, selection))
    return { state: { ...state, listReason: "" }, owed: undefined }
  })
}

type StateBefore = (namespace: string) => Omit<NamespaceProgress, "namespace"> | undefined

const statesBefore = ({
  resumeVersion,
  namespaces,
  completeTime,
  listReason,
  selection,
}: KindResumePoint): StateBefore => {
  const owed = wholeListReason(listReason)
  if (namespaces.length > 0) {
    const states = new Map(namespaces.map((state) => [state.namespace, state]))
    return (namespace) => {
      const state = states.get(namespace)
      // Since then the whole cluster was to be listed.
      return state && owed !== "" ? { ...state, listReason: owed } : state
    }
  }
  return (namespace) =>
    isSelected(selection, namespace) ? { completeThrough: resumeVersion, completeTime, listReason: owed } : undefined
}

/** The state of a kind that was watched as a whole. */
const wholeListReason = (listReason: string): NamespaceListReason => {
  switch (listReason) {
    case "":
    case "first":
    case "expired":
    case "overload":
    case "cluster-restored":
      return listReason
    default:
      return "stopped"
  }
}
