/**
 * What is different between two moments: the objects of some kinds that exist at only one of them, or with another state. What happened in between and was
 * undone is not; {@link changeSteps} has it.
 */
import type { ObjectEvent } from "../../trace/index.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import { DamageFound } from "./damage-found.ts"
import { contentMatcher, type ObjectSelection } from "./objects/object-selection.ts"
import { namedNumbers, type QueriedRecording } from "./queried-recording.ts"
import { type Shortcomings, shortcomingsOf, shortcomingsTogether } from "./shortcomings.ts"
import { aliveAt } from "./state-at.ts"

interface DifferencesQuestion extends ObjectSelection {
  /** Default: all that are recorded. */
  readonly kinds?: ReadonlyArray<string> | undefined
  /** µs since the Unix epoch: the states after everything that happened up to and including these moments. */
  readonly from: number
  readonly to: number
}

/** One object that differs. At least one of both states is there; with different UIDs it was deleted and made again. */
export interface StateDifference {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  /** Its bytes are a copy. */
  readonly before: ObjectEvent | undefined
  /** Its bytes are valid until the next difference is taken. */
  readonly after: ObjectEvent | undefined
}

/** Kind by kind, in the order of names; `undefined`: a pause. Memory: the names of what differs. @throws ArchiveError */
export function* differenceSteps(
  recording: QueriedRecording,
  question: DifferencesQuestion,
): Generator<StateDifference | undefined, Shortcomings, void> {
  const { from, to, namespace } = question
  const gvks = question.kinds ?? recording.objectKinds
  const damage = new DamageFound(recording)
  const matches = contentMatcher(question)
  for (const kind of gvks.flatMap((gvk) => recording.kindOf(gvk) ?? [])) {
    for (const { namespace: within, name, before: first, after: last } of pairsOf(recording, kind, damage, question)) {
      const former = first === undefined ? undefined : damage.event(kind, first)
      const before = former && { ...former, object: Uint8Array.from(former.object) }
      const after = last === undefined ? undefined : damage.event(kind, last)
      // Without one of them, which is damaged, the object would pass for created or deleted.
      if ((first !== undefined && before === undefined) || (last !== undefined && after === undefined)) continue
      const isSelected = [before, after].some((each) => each !== undefined && matches(each.object))
      if (!isSelected) yield undefined
      else yield { gvk: kind.gvk, namespace: within, name, before, after }
    }
  }
  const states = [from, to].map((time) => shortcomingsOf(recording, { kinds: gvks, namespace, from: time, to: time }))
  return shortcomingsTogether([...states, { gaps: damage.gaps, unrecorded: [], late: [], selected: [] }])
}

/** By name the sequence numbers of both states. */
interface Pair {
  readonly namespace: string
  readonly name: string
  before?: number
  after?: number
}

const pairsOf = (
  recording: QueriedRecording,
  kind: KeptKind,
  damage: DamageFound,
  question: DifferencesQuestion,
): ReadonlyArray<Pair> => {
  const { cut } = recording
  const [before, after] = [question.from, question.to].map(
    (time) => new Map(aliveAt(recording, kind, damage, { cut, time }).lastEvents()),
  )
  const numbers = new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])
  const wanted = namedNumbers(recording, kind, question)
  const pairs = new Map<string, Pair>()
  for (const number of numbers) {
    const [first, last] = [before?.get(number), after?.get(number)]
    if (first === last || wanted?.has(number) === false) continue
    const { namespace, name } = recording.names.nameOf(kind.id, number)
    const place = `${namespace}/${name}`
    const pair = pairs.get(place) ?? { namespace, name }
    if (first !== undefined) pair.before = first
    if (last !== undefined) pair.after = last
    pairs.set(place, pair)
  }
  return [...pairs].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, pair]) => pair)
}
