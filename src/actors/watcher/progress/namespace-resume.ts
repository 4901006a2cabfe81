/**
 * Determines where each namespace of a kind resumes when a watcher starts that watches it namespace by namespace: from the state that the
 * previous life stored for it, or from the version of a kind that was watched as a whole, which holds for each of its namespaces.
 *
 * So a namespace can be added or removed, and the others resume. A new namespace is listed, and a gap says that it was not recorded before.
 */
import type { NamespaceListReason, NamespaceProgress } from "../../../wire/namespace-progress.ts"
import type { KindResumePoint, StoredObject } from "../../../wire/stored-state.ts"
import { areRedactedAlike, isSelected, withoutNamespaces } from "../selection.ts"
import { interruptedList, type OwedList, selectionChanged } from "./owed-list.ts"

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
