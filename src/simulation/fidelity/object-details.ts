/** Selects what people look at first: the worst writes with their reasons, and the objects in detail. */

import {
  type FieldDifference,
  mostDetails,
  mostStates,
  type ObjectDetail,
  type StateDetail,
  type WorstWrite,
} from "../report/fidelity-report.ts"
import { rounded } from "./pod-times.ts"
import type { ComparedObject, ComparedWrite } from "./state-comparison.ts"

const worstKept = 10

/** Anything that went wrong is worse than any lateness; this is the order among those. */
const weights = {
  missing: 5,
  early: 4,
  different: 4,
  refused: 3,
  unwritten: 3,
  equal: 0,
  skipped: 0,
  unmeasured: 0,
} as const

interface Ranked<T> {
  readonly value: T
  readonly weight: number
  readonly lateness: number
}

/** Collects from compared objects in any order. Memory is that of what is kept: the rest is forgotten at once. */
export class ObjectDetails {
  #worst: Array<Ranked<() => WorstWrite>> = []
  #kept: Array<Ranked<() => ObjectDetail>> = []

  add(object: ComparedObject): void {
    let [weight, lateness] = [object.extraStates > 0 ? 1 : 0, 0]
    for (const compared of object.writes) {
      const own = { weight: weightOf(compared), lateness: lateOf(compared) ?? 0 }
      weight = Math.max(weight, own.weight)
      lateness = Math.max(lateness, own.lateness)
      this.#worst = withRanked(this.#worst, { ...own, value: () => worstOf(object, compared) }, worstKept)
    }
    this.#kept = withRanked(this.#kept, { weight, lateness, value: () => detailOf(object) }, mostDetails)
  }

  /** Writes that were as they should be are not among them unless they were late. */
  get worst(): ReadonlyArray<WorstWrite> {
    return this.#worst.filter(({ weight, lateness }) => weight > 0 || lateness > 0).map(({ value }) => value())
  }

  get kept(): ReadonlyArray<ObjectDetail> {
    return this.#kept.map(({ value }) => value())
  }
}

/** The list with one more, the worst first, at most `most`. */
const withRanked = <T>(list: Array<Ranked<T>>, one: Ranked<T>, most: number): Array<Ranked<T>> => {
  const last = list.at(-1)
  if (list.length === most && last !== undefined && !precedes(one, last)) return list
  const at = list.findIndex((other) => precedes(one, other))
  return list.toSpliced(at === -1 ? list.length : at, 0, one).slice(0, most)
}

const precedes = <T>(left: Ranked<T>, right: Ranked<T>): boolean =>
  left.weight > right.weight || (left.weight === right.weight && left.lateness > right.lateness)

const weightOf = ({ result, isInOrder }: ComparedWrite): number => (isInOrder ? weights[result] : 2)

const lateOf = ({ write, observed }: ComparedWrite): number | undefined =>
  write.due === undefined || observed === undefined ? undefined : observed - write.due

const worstOf = ({ object }: ComparedObject, compared: ComparedWrite): WorstWrite => {
  const { gvk, namespace, name } = object.place
  const { write, result } = compared
  const late = lateOf(compared)
  return {
    gvk,
    namespace,
    name,
    time: write.time,
    verb: write.verb,
    result,
    observedMs: late === undefined ? null : rounded(late),
    reason: reasonOf(compared),
  }
}

const reasonOf = (compared: ComparedWrite): string => {
  const { write, result, isInOrder, observed, differences } = compared
  if (result === "early") return `the object was gone ${secondsBefore(compared)} before its deletion was due`
  if (write.outcome !== "accepted") return write.outcome.reason
  if (result === "missing")
    return write.verb === "delete"
      ? "its deletion was accepted, but it was still there when the recording ended"
      : "it was accepted, but the recording of the cluster never had it"
  if (result === "different") return differences.map(describeDifference).join("; ")
  if (!isInOrder) return "it was observed after a later state of the same object"
  if (observed === undefined || write.due === undefined) return ""
  const { due, sent = due, settled = observed } = write
  const answered = Math.min(settled, observed)
  const parts = [
    [sent - due, "before it was sent"],
    [answered - sent, "for the response of the cluster"],
    [
      observed - answered,
      `from the response until ${write.verb === "delete" ? "it was gone" : "a watch delivered it"}`,
    ],
  ] as const
  const [ms, where] = parts.reduce((longest, part) => (part[0] > longest[0] ? part : longest))
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms passed ${where}`
}

const secondsBefore = (compared: ComparedWrite): string => `${(-(lateOf(compared) ?? 0) / 1000).toFixed(2)} s`

/** For people: one difference. */
export const describeDifference = ({ path, applied, observed }: FieldDifference): string => {
  if (applied === undefined) return `${path} should be gone, but is ${observed}`
  return observed === undefined
    ? `${path} should be ${applied}, but is missing`
    : `${path} is ${observed} instead of ${applied}`
}

const detailOf = ({ object, writes, extra, isEqual }: ComparedObject): ObjectDetail => {
  const { gvk, namespace, name } = object.place
  // The first states, unless something went wrong later.
  const wrong = writes.filter((compared) => weightOf(compared) > 0).slice(0, mostStates)
  const fine = writes.filter((compared) => weightOf(compared) === 0).slice(0, mostStates - wrong.length)
  const shown = [...wrong, ...fine].toSorted((left, right) => left.write.number - right.write.number)
  const states = shown.map(stateOf)
  return {
    gvk,
    namespace,
    name,
    isEqual,
    total: writes.length,
    states,
    extra: extra.map(({ at, ...rest }) => ({ at: rounded(at), ...rest })),
  }
}

const stateOf = ({ write, result, isInOrder, observed, differences }: ComparedWrite): StateDetail => {
  const hasSchedule = write.due !== undefined
  const ms = (value: number | undefined): number | null => (value === undefined || !hasSchedule ? null : rounded(value))
  return {
    time: write.time,
    verb: write.verb,
    result,
    isInOrder,
    due: ms(write.due),
    sent: ms(write.sent),
    answered: write.sent === undefined ? null : ms(write.settled),
    observed: ms(observed),
    reason: write.outcome === "accepted" ? "" : write.outcome.reason,
    differences,
  }
}
