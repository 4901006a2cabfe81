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
import type { ComparedObject, ComparedWrite } from "./target-reading.ts"

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

/** The worst writes; those that were as they should be are not among them unless they were late. */
export const worstWrites = (objects: ReadonlyArray<ComparedObject>): ReadonlyArray<WorstWrite> => {
  function* ranked(): Generator<Ranked<readonly [ComparedObject, ComparedWrite]>> {
    for (const object of objects)
      for (const compared of object.writes) yield { value: [object, compared], ...rankOf(compared) }
  }
  return worstFirst(ranked(), worstKept)
    .filter(({ weight, lateness }) => weight > 0 || lateness > 0)
    .map(({ value: [object, compared] }) => worstOf(object, compared))
}

/** Those with the worst writes first. */
export const detailsOf = (objects: ReadonlyArray<ComparedObject>): ReadonlyArray<ObjectDetail> => {
  function* ranked(): Generator<Ranked<ComparedObject>> {
    for (const value of objects) {
      const ranks = value.writes.map(rankOf)
      const weight = ranks.reduce((most, rank) => Math.max(most, rank.weight), value.extraStates > 0 ? 1 : 0)
      yield { value, weight, lateness: ranks.reduce((most, rank) => Math.max(most, rank.lateness), 0) }
    }
  }
  return worstFirst(ranked(), mostDetails).map(({ value }) => detailOf(value))
}

/** Memory is that of what is kept: a replay may have a million writes. */
const worstFirst = <T>(ranked: Iterable<Ranked<T>>, most: number): ReadonlyArray<Ranked<T>> => {
  let kept: ReadonlyArray<Ranked<T>> = []
  for (const one of ranked) {
    const last = kept.length === most ? kept.at(-1) : undefined
    if (last === undefined || byRank(last, one) > 0) kept = [...kept, one].toSorted(byRank).slice(0, most)
  }
  return kept
}

const byRank = (left: Ranked<unknown>, right: Ranked<unknown>): number =>
  right.weight - left.weight || right.lateness - left.lateness

const rankOf = (compared: ComparedWrite): Omit<Ranked<unknown>, "value"> => ({
  weight: weightOf(compared),
  lateness: lateOf(compared) ?? 0,
})

const weightOf = ({ result, isInOrder }: ComparedWrite): number => (isInOrder ? weights[result] : 2)

const lateOf = ({ write, observed }: ComparedWrite): number | undefined =>
  write.due === undefined || observed === undefined ? undefined : observed - write.due

const worstOf = ({ object }: ComparedObject, compared: ComparedWrite): WorstWrite => {
  const { gvk, namespace, name } = object.place
  const { write, result } = compared
  const { time, verb } = write
  const late = lateOf(compared)
  const observedMs = late === undefined ? null : rounded(late)
  return { gvk, namespace, name, time, verb, result, observedMs, reason: reasonOf(compared) }
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
  const besides = extra.map(({ at, ...rest }) => ({ at: rounded(at), ...rest }))
  return { gvk, namespace, name, isEqual, total: writes.length, states: shown.map(stateOf), extra: besides }
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
