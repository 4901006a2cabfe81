/** Whether a recording matches a server's changes: every version of every object once, in order, and nothing else. */

/** One change as both sides name it. */
export interface NamedChange {
  readonly uid: string
  readonly resourceVersion: string
  readonly isDeleted: boolean
}

export interface KindComparison {
  readonly gvk: string
  readonly done: number
  readonly recorded: number
  /** Describes the first difference; `undefined` if they agree. */
  readonly difference: string | undefined
}

const nameOf = ({ uid, resourceVersion, isDeleted }: NamedChange): string =>
  `${isDeleted ? "deletion" : "version"} ${resourceVersion} of ${uid}`

/**
 * Compares one kind. Both lists are in order. The first `before` of `done` happened before the recorder watched: of those it
 * got the last state of each remaining object, in no order.
 */
export const compareKind = (
  gvk: string,
  all: ReadonlyArray<NamedChange>,
  before: number,
  taken: ReadonlyArray<NamedChange>,
): KindComparison => {
  const found = lastStates(all.slice(0, before))
  const done = [...byVersion(found), ...all.slice(before)]
  const recorded = [...byVersion(taken.slice(0, found.length)), ...taken.slice(found.length)]
  const length = Math.max(done.length, recorded.length)
  let difference: string | undefined
  for (let index = 0; index < length && difference === undefined; index++) {
    const [wanted, told] = [done[index], recorded[index]]
    if (wanted === undefined && told !== undefined) difference = `${nameOf(told)} never happened`
    else if (told === undefined && wanted !== undefined) difference = `${nameOf(wanted)} is missing`
    else if (wanted !== undefined && told !== undefined && nameOf(wanted) !== nameOf(told)) {
      difference = `${nameOf(told)} stands where ${nameOf(wanted)} belongs`
    }
  }
  return { gvk, done: done.length, recorded: recorded.length, difference }
}

const byVersion = (changes: ReadonlyArray<NamedChange>): ReadonlyArray<NamedChange> =>
  changes.toSorted((left, right) => Number(left.resourceVersion) - Number(right.resourceVersion))

const lastStates = (changes: ReadonlyArray<NamedChange>): ReadonlyArray<NamedChange> =>
  [...new Map(changes.map((change) => [change.uid, change])).values()].filter(({ isDeleted }) => !isDeleted)
