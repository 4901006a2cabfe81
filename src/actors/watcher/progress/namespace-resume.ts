/**
 * From where each namespace of a kind goes on when a watcher starts that watches it namespace by namespace: from what the life before
 * said of it, or from the version of a kind that was watched as a whole, which holds for each of its namespaces.
 *
 * So a namespace can be added or taken away and the others resume. What is new is listed, and a gap says that it was not recorded
 * before.
 */
import type { KindResumePoint, StoredObject } from "../../../wire/stored-state.ts"
import { isSelected, withoutNamespaces } from "../selection.ts"
import { isByNamespace, type NamespaceState, parseNamespaces } from "./namespace-text.ts"
import { interruptedList, type OwedList, selectionChanged } from "./owed-list.ts"

/** One namespace that a watcher is about to watch. */
export interface NamespaceResume {
  readonly state: NamespaceState
  /** A list is due although something is recorded, and its gap is to say this; `undefined` also for a first list. */
  readonly owed: OwedList | undefined
}

/** Whether a kind is to be watched namespace by namespace: it has several, or was until now. */
export const isWatchedByNamespace = (
  namespaces: ReadonlyArray<string> | undefined,
  { resumeVersion, listReason }: Pick<KindResumePoint, "resumeVersion" | "listReason">,
): namespaces is ReadonlyArray<string> =>
  namespaces !== undefined && (namespaces.length > 1 || isByNamespace(resumeVersion) || isByNamespace(listReason))

/** In the order of `namespaces`. `selection`: what is asked for now. */
export const resumeByNamespace = (
  namespaces: ReadonlyArray<string>,
  selection: string,
  resume: KindResumePoint,
  objects: ReadonlyArray<Pick<StoredObject, "namespace">>,
): ReadonlyArray<NamespaceResume> => {
  const populated = new Set(objects.map(({ namespace }) => namespace))
  // A kind without namespaces is watched as if it were in the first of them.
  const isPopulated = (namespace: string): boolean => populated.has(namespace) || populated.has("")
  const before = statesBefore(resume)
  const isOther = resume.selection !== "" && withoutNamespaces(resume.selection) !== withoutNamespaces(selection)
  return namespaces.map((namespace) => {
    const known = before(namespace)
    const { version = "", owes = "", time = resume.completeTime } = known ?? {}
    const due = (reason: OwedList): NamespaceResume => ({
      state: { namespace, version, time, owes: reason.reason },
      owed: reason,
    })
    const isNew = known === undefined && (resume.completeTime > 0 || resume.nextObjectNumber > 1)
    if (isNew) return due(selectionChanged(resume.selection, selection))
    if (owes !== "" && owes !== "first") return due({ reason: owes, detail: interruptedList("the list that followed") })
    if (version === "") {
      if (isPopulated(namespace)) return due({ reason: "stopped", detail: interruptedList("the first list") })
      return { state: { namespace, version, time, owes: "first" }, owed: undefined }
    }
    if (isOther) return due(selectionChanged(resume.selection, selection))
    return { state: { namespace, version, time, owes: "" }, owed: undefined }
  })
}

type StateBefore = (namespace: string) => Pick<NamespaceState, "version" | "time" | "owes"> | undefined

const statesBefore = (resume: KindResumePoint): StateBefore => {
  const { resumeVersion, listReason, selection } = resume
  // What a list under way left is newer than the version before it.
  const newest = isByNamespace(listReason) ? listReason : resumeVersion
  const owes = isByNamespace(listReason) ? "" : wholeListReason(listReason)
  if (isByNamespace(newest)) {
    const states = new Map((parseNamespaces(newest) ?? []).map((state) => [state.namespace, state]))
    return (namespace) => {
      const state = states.get(namespace)
      return state && owes !== "" ? { ...state, owes } : state
    }
  }
  return (namespace) =>
    isSelected(selection, namespace) ? { version: resumeVersion, time: resume.completeTime, owes } : undefined
}

/** Of a kind that was watched as a whole. */
const wholeListReason = (listReason: string): NamespaceState["owes"] => {
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
