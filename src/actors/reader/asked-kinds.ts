/** Which kinds a question is about: exact names, or those that discovery gave when they were recorded. */
import { type QueriedRecording, QuestionRefused, recordedKinds } from "../../archive/index.ts"
import { findKind } from "../../kube/index.ts"
import { formatGvk, parseGvk } from "../../kube/offline.ts"

/** A kind, with what has to be known to ask for rights to it. */
export interface AskedKind {
  readonly gvk: string
  /** `deployments`; absent: not recorded. */
  readonly plural?: string
  readonly namespaced?: boolean
  /** In which objects were recorded. Absent: not looked for. */
  readonly namespaces?: ReadonlyArray<string>
}

/**
 * The exact names of kinds; one that was never recorded stays, if it is exact, and the answer says so.
 *
 * @throws QuestionRefused
 */
export const resolveKinds = (
  recording: QueriedRecording,
  names: ReadonlyArray<string> = [],
  recorded: ReturnType<typeof recordedKinds> = recordedKinds(recording),
): ReadonlyArray<string> => {
  const known = recorded.flatMap(({ gvk, discovered }) => {
    const parsed = parseGvk(gvk)
    if (parsed === undefined) return []
    const { plural, singular = "", shortNames = [] } = discovered ?? {}
    return [{ gvk: parsed, plural, singular, shortNames }]
  })
  return names.map((name) => {
    if (recording.kindOf(name) !== undefined) return name
    const found = findKind(name, known)
    if (found !== undefined) return formatGvk(found)
    if (/[.][A-Z][A-Za-z]*$/.test(name) && parseGvk(name) !== undefined) return name
    const all = known.map(({ gvk }) => formatGvk(gvk)).join(", ")
    const problem = `no recorded kind is called ${JSON.stringify(name)}; recorded are ${all || "none"}`
    throw new QuestionRefused({ problem, fault: "not-recorded" })
  })
}

/** The kinds that the names mean, and all others that are recorded. @throws QuestionRefused */
export const askedKinds = (
  recording: QueriedRecording,
  names: ReadonlyArray<string>,
): { readonly named: ReadonlyArray<AskedKind>; readonly others: ReadonlyArray<AskedKind> } => {
  const recorded = recordedKinds(recording)
  const facts = new Map<string, AskedKind>(
    recorded.map(({ gvk, discovered, namespaced }) => [
      gvk,
      { gvk, ...(discovered && { plural: discovered.plural }), ...(namespaced !== undefined && { namespaced }) },
    ]),
  )
  const named = resolveKinds(recording, names, recorded)
  return {
    named: named.map((gvk) => facts.get(gvk) ?? { gvk }),
    others: [...facts.values()].filter(({ gvk }) => !named.includes(gvk)),
  }
}
