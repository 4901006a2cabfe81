/**
 * What is different between two traces, such as of a cluster and of its replay, or of two days: objects, their states at the end, their changes, and when these happened.
 *
 * Objects are told apart by kind, namespace and name, because two clusters give different UIDs. Times are compared as offsets from the start of each trace. Each trace is read
 * twice, one after the other; memory is that of {@link ChangeLog}, eight bytes for each change that both have, and 64 MiB of last states for each trace.
 */
import type { GapEvent, ObjectEvent } from "../event.ts"
import { differencesBetween, type FieldDifference } from "../json/difference.ts"
import type { JsonValue } from "../json/exact-json.ts"
import type { IncompletePart, TraceItem } from "../trace-item.ts"
import {
  ChangeLog,
  type ComparedFields,
  type ComparedName,
  comparedObject,
  GrowingColumn,
  gone,
  ObjectNumbers,
} from "./change-log.ts"

// One reading of a trace from its beginning to its end: its items, chunk by chunk, and which events count.

/** A trace that is read once. */
interface TracePass {
  readonly items: AsyncIterable<Iterable<TraceItem>>
  /** Events that are left out do not exist for the comparison. */
  readonly isSelected: (event: ObjectEvent) => boolean
  /** Takes what is no event of an object. */
  readonly onOther?: (item: TraceItem) => void
}

/** The events that count, in order. Their bytes are valid until the next one is taken. */
async function* objectEvents({ items, isSelected, onOther }: TracePass): AsyncGenerator<ObjectEvent, void, void> {
  for await (const chunk of items)
    for (const item of chunk) {
      if (item.type !== "event" || item.event.type !== "object") onOther?.(item)
      else if (isSelected(item.event)) yield item.event
    }
}

// By how much the same changes are at other times in two traces: how the shifts are distributed, and the largest. Memory: eight bytes for each change.

/** One change at two times. */
interface TimeShift {
  readonly object: ComparedName
  /** µs after the start of the first trace. */
  readonly offset: number
  /** µs by which it is later in the second trace; negative: earlier. */
  readonly shift: number
}

/** All of them. Times are µs. */
interface TimeShiftSummary {
  /** Changes that both traces have. */
  readonly pairs: number
  /** Those whose times differ by more than the tolerance, by direction. */
  readonly earlier: number
  readonly later: number
  /** Of the amounts of all pairs; 0 without any. */
  readonly median: number
  readonly percentile90: number
  readonly percentile99: number
  readonly maximum: number
  /** The largest of those beyond the tolerance, largest first. */
  readonly largest: ReadonlyArray<TimeShift>
}

const mostLargest = 20

/** Collects shifts. `tolerance`: µs up to which times count as the same. */
class TimeShifts {
  readonly #tolerance: number
  readonly #amounts = new GrowingColumn()
  #earlier = 0
  #later = 0
  readonly #largest: TimeShift[] = []

  constructor(tolerance: number) {
    this.#tolerance = tolerance
  }

  add(shift: TimeShift): void {
    const amount = Math.abs(shift.shift)
    this.#amounts.push(amount)
    if (amount <= this.#tolerance) return
    if (shift.shift < 0) this.#earlier++
    else this.#later++
    const last = this.#largest.at(-1)
    if (this.#largest.length === mostLargest && last !== undefined && amount <= Math.abs(last.shift)) return
    const place = this.#largest.findIndex((other) => Math.abs(other.shift) < amount)
    this.#largest.splice(place < 0 ? this.#largest.length : place, 0, shift)
    this.#largest.length = Math.min(this.#largest.length, mostLargest)
  }

  summary(): TimeShiftSummary {
    const sorted = this.#amounts.sorted()
    const percentile = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
    return {
      ...{ pairs: sorted.length, earlier: this.#earlier, later: this.#later },
      ...{ median: percentile(0.5), percentile90: percentile(0.9), percentile99: percentile(0.99) },
      maximum: sorted.at(-1) ?? 0,
      largest: this.#largest,
    }
  }
}

// Which changes of an object two traces have in common: the nth time that it became a certain state, or went, in one and in the other. What has no counterpart is in one trace
// only. Linear in the number of changes, and independent of times.

/** Places of changes in the lists that were compared. */
interface PairedChanges {
  readonly pairs: ReadonlyArray<readonly [number, number]>
  readonly onlyInFirst: ReadonlyArray<number>
  readonly onlyInSecond: ReadonlyArray<number>
}

/** Both lists are hashes, in the order of the changes. */
const pairedChanges = (first: ReadonlyArray<number>, second: ReadonlyArray<number>): PairedChanges => {
  const waiting = new Map<number, number[]>()
  for (const [place, hash] of first.entries()) {
    const places = waiting.get(hash)
    if (places === undefined) waiting.set(hash, [place])
    else places.push(place)
  }
  /** How many of those with a hash have a counterpart. */
  const taken = new Map<number, number>()
  const pairs: (readonly [number, number])[] = []
  const onlyInSecond: number[] = []
  for (const [place, hash] of second.entries()) {
    const count = taken.get(hash) ?? 0
    const other = waiting.get(hash)?.[count]
    if (other === undefined) {
      onlyInSecond.push(place)
      continue
    }
    taken.set(hash, count + 1)
    pairs.push([other, place])
  }
  const onlyInFirst = [...waiting].flatMap(([hash, places]) => places.slice(taken.get(hash) ?? 0))
  return { pairs, onlyInFirst: onlyInFirst.sort((one, other) => one - other), onlyInSecond }
}

// The last states of some objects of a trace, read in a second pass: of as many as fit into memory.

/** bytes of recorded objects that are kept of a trace. */
const mostBytes = 64 * 1024 * 1024

interface WantedStates {
  /** By the place of its event among those that are taken: the number of the object. */
  readonly wanted: ReadonlyMap<number, number>
  readonly fields: ComparedFields
}

/** By number of object. Objects beyond the limit are missing. Rejects as the pass does. */
const finalStates = async (
  pass: TracePass,
  { wanted, fields }: WantedStates,
): Promise<ReadonlyMap<number, JsonValue>> => {
  const states = new Map<number, JsonValue>()
  let left = mostBytes
  let place = 0
  for await (const event of objectEvents(pass)) {
    const number = wanted.get(place++)
    if (number === undefined || event.object.length > left) continue
    left -= event.object.length
    states.set(number, comparedObject(event.gvk, event.object, fields))
  }
  return states
}

/** A trace that can be read repeatedly. */
export interface ComparedTrace {
  /** Its items from the beginning. Rejects, and throws, as opening and reading a trace does. */
  readonly open: () => Promise<AsyncIterable<Iterable<TraceItem>>>
}

export interface TraceComparisonOptions {
  readonly fields: ComparedFields
  /** µs by which times of a change may differ. */
  readonly tolerance: number
  /** Default: all events. */
  readonly isSelected?: (event: ObjectEvent) => boolean
}

/** What one trace has. */
export interface ComparedTraceFacts {
  /** µs since the Unix epoch: the start of its window, or its first event; `undefined`: it has none. */
  readonly start: number | undefined
  readonly events: number
  /** Events after which an object is different in what is compared. */
  readonly changes: number
  readonly objects: number
  readonly gaps: number
  readonly firstGap: GapEvent | undefined
  readonly incomplete: ReadonlyArray<IncompletePart>
}

/** An object that is different at the end of the traces. */
export interface ChangedObject {
  readonly object: ComparedName
  /** `deleted`: it exists at the end of the first trace only; `created`: of the second only. */
  readonly type: "changed" | "deleted" | "created"
  /** Of `changed`, at most {@link mostDifferences}; empty: the order of lists is all that differs. `undefined`: there were too many objects to compare them. */
  readonly differences?: ReadonlyArray<FieldDifference>
  readonly hasMoreDifferences?: boolean
}

/** An object of both traces with changes that only one of them has. */
export interface DifferentChanges {
  readonly object: ComparedName
  /** µs after the start of the trace that has them. */
  readonly onlyInFirst: ReadonlyArray<number>
  readonly onlyInSecond: ReadonlyArray<number>
}

export interface TraceComparison {
  readonly traces: readonly [ComparedTraceFacts, ComparedTraceFacts]
  /** Objects of which the other trace has nothing, not even a deletion. */
  readonly onlyInFirst: ReadonlyArray<ComparedName>
  readonly onlyInSecond: ReadonlyArray<ComparedName>
  readonly changed: ReadonlyArray<ChangedObject>
  readonly changes: ReadonlyArray<DifferentChanges>
  readonly times: TimeShiftSummary
  /** Nothing differs, and no time by more than the tolerance. */
  readonly isSame: boolean
}

/** Fields of one object that are listed. */
const mostDifferences = 100

interface LoggedTrace {
  readonly log: ChangeLog
  readonly facts: ComparedTraceFacts
}

/** Rejects as opening and reading a trace does. */
export const compareTraces = async (
  first: ComparedTrace,
  second: ComparedTrace,
  options: TraceComparisonOptions,
): Promise<TraceComparison> => {
  const numbers = new ObjectNumbers()
  const one = await logged(first, numbers, options)
  const other = await logged(second, numbers, options)
  const [ones, others] = [one.log.byObject(), other.log.byObject()]
  const onlyInFirst: ComparedName[] = []
  const onlyInSecond: ComparedName[] = []
  const different: number[] = []
  const changes: DifferentChanges[] = []
  const shifts = new TimeShifts(options.tolerance)
  for (const number of inOrderOfNames(numbers)) {
    const object = numbers.nameOf(number)
    if (!other.log.has(number)) {
      onlyInFirst.push(object)
      continue
    }
    if (!one.log.has(number)) {
      onlyInSecond.push(object)
      continue
    }
    if (one.log.lastHash(number) !== other.log.lastHash(number)) different.push(number)
    const [offsets, otherOffsets] = [offsetsOf(one, ones.of(number)), offsetsOf(other, others.of(number))]
    const paired = pairedChanges(hashesOf(one.log, ones.of(number)), hashesOf(other.log, others.of(number)))
    for (const [place, otherPlace] of paired.pairs) {
      const offset = offsets[place] ?? 0
      shifts.add({ object, offset, shift: (otherOffsets[otherPlace] ?? 0) - offset })
    }
    if (paired.onlyInFirst.length + paired.onlyInSecond.length === 0) continue
    changes.push({
      object,
      onlyInFirst: paired.onlyInFirst.map((place) => offsets[place] ?? 0),
      onlyInSecond: paired.onlyInSecond.map((place) => otherOffsets[place] ?? 0),
    })
  }
  const changed = await changedObjects([first, second], [one.log, other.log], { numbers, different, options })
  const times = shifts.summary()
  const count = onlyInFirst.length + onlyInSecond.length + changed.length + changes.length + times.earlier + times.later
  return {
    ...{ traces: [one.facts, other.facts], onlyInFirst, onlyInSecond, changed, changes, times },
    isSame: count === 0,
  }
}

const all = (): boolean => true

const logged = async (
  trace: ComparedTrace,
  numbers: ObjectNumbers,
  { fields, isSelected = all }: TraceComparisonOptions,
): Promise<LoggedTrace> => {
  const log = new ChangeLog(numbers, fields)
  let start: number | undefined
  let gaps = 0
  let firstGap: GapEvent | undefined
  let incomplete: ReadonlyArray<IncompletePart> = []
  const onOther = (item: TraceItem): void => {
    if (item.type === "header") {
      start = item.window?.start
      incomplete = item.incomplete
    } else if (item.type === "batch") start ??= item.time
    else if (item.type === "event" && item.event.type === "gap") {
      gaps++
      firstGap ??= item.event
    }
  }
  for await (const event of objectEvents({ items: await trace.open(), isSelected, onOther })) {
    start ??= event.time
    log.take(event)
  }
  const { events, changes, objects } = log
  return { log, facts: { start, events, changes, objects, gaps, firstGap, incomplete } }
}

const inOrderOfNames = (numbers: ObjectNumbers): ReadonlyArray<number> => {
  const keyed = Array.from({ length: numbers.count }, (_, number) => {
    const { gvk, namespace, name } = numbers.nameOf(number)
    return [`${gvk}\n${namespace}\n${name}`, number] as const
  })
  return keyed.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, number]) => number)
}

/** µs after the start. What existed before it is at 0. */
const offsetsOf = ({ log, facts }: LoggedTrace, changes: Uint32Array): ReadonlyArray<number> =>
  Array.from(changes, (change) => Math.max(0, log.time(change) - (facts.start ?? 0)))

const hashesOf = (log: ChangeLog, changes: Uint32Array): ReadonlyArray<number> =>
  Array.from(changes, (change) => log.hash(change))

interface Different {
  readonly numbers: ObjectNumbers
  readonly different: ReadonlyArray<number>
  readonly options: TraceComparisonOptions
}

const changedObjects = async (
  traces: readonly [ComparedTrace, ComparedTrace],
  logs: readonly [ChangeLog, ChangeLog],
  { numbers, different, options }: Different,
): Promise<ReadonlyArray<ChangedObject>> => {
  const { fields, isSelected = all } = options
  const changed = different.filter((number) => logs.every((log) => log.lastHash(number) !== gone))
  const statesOf = async (trace: ComparedTrace, log: ChangeLog) => {
    if (changed.length === 0) return new Map()
    const wanted = new Map(changed.map((number) => [log.lastEvent(number), number]))
    return finalStates({ items: await trace.open(), isSelected }, { wanted, fields })
  }
  const before = await statesOf(traces[0], logs[0])
  const after = await statesOf(traces[1], logs[1])
  return different.map((number): ChangedObject => {
    const object = numbers.nameOf(number)
    if (logs[0].lastHash(number) === gone) return { object, type: "created" }
    if (logs[1].lastHash(number) === gone) return { object, type: "deleted" }
    if (!before.has(number) || !after.has(number)) return { object, type: "changed" }
    const found = differencesBetween(before.get(number), after.get(number), { maximum: mostDifferences + 1 })
    const hasMoreDifferences = found.length > mostDifferences
    return {
      ...{ object, type: "changed", differences: found.slice(0, mostDifferences) },
      ...(hasMoreDifferences && { hasMoreDifferences }),
    }
  })
}
