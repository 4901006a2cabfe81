/**
 * The columns of one kind in a merged block, as they are stored. Each is unpacked when it is first asked for: a history needs numbers of objects and little
 * else.
 */
import { MalformedFrameError } from "../../wire/index.ts"
import type { TimeFloors } from "./block-frame.ts"
import { fromPlanes, indexInPlanes, requirePlanes, sumOfPlanes, valueInPlanes } from "./number-columns.ts"
import type { NumberSet } from "./object-index.ts"

/** By name, the field of `MergedFrame` in proto/archive.proto. */
export const planeFields = {
  ...{ sequences: 6, actions: 7, objects: 8, lengths: 9, timeDeltas: 10 },
  ...{ versionsLow: 11, versionsHigh: 12 },
} as const

export type ColumnName = keyof typeof planeFields

export interface StoredColumnsFields {
  readonly gvk: string
  readonly epoch: number
  readonly count: number
  readonly firstSequence: number
  /** µs since the Unix epoch. */
  readonly timeBase: number
  readonly floors: TimeFloors
  /** Planes by field. */
  readonly planes: ReadonlyMap<number, Uint8Array>
  readonly opaqueVersions: ReadonlyArray<string>
  readonly introduced: ReadonlySet<number>
  /** f64 each; empty: no event is late. */
  readonly lateness: Uint8Array
  /** What the column of objects refers to, by place. */
  readonly numbers: NumberSet
}

/**
 * Of an event: two u32, little-endian. Fingerprints stand behind the objects of a merged block in the same BLOB, and
 * are not compressed, since they are as good as random. Only a process that continues a recording needs them; in the
 * table of contents they were 8 of its 10 bytes an event, read by every question.
 */
export const fingerprintBytes = 8

/** The fingerprints of one kind's events. `dataOf`: the BLOB; `undefined`: it is damaged. `beforeEnd`: bytes from the first of them to its end. */
interface FingerprintPlace {
  readonly dataOf: () => Uint8Array | undefined
  readonly beforeEnd: number
}

const nothing = new Uint8Array(0)

/** Values of a column that are read one by one, and sums that are added up: to unpack it takes as long as some of these. */
const askedAlone = 4

/** Numbers of objects that are looked up one by one: all of a block take as long as 50. */
const numbersAskedAlone = 32

const twoPow32 = 0x1_0000_0000

export class StoredColumns {
  readonly fields: StoredColumnsFields
  readonly isConsecutive: boolean
  readonly #columns: Array<Uint32Array | undefined> = []
  #numbers: Uint32Array | undefined
  #numbersAsked = 0
  readonly #asked: number[] = []
  /** By field, of how many values the sum is known, and what it is. */
  readonly #summed: number[] = []
  readonly #sums: number[] = []
  #sequences: Float64Array | undefined
  #received: Float64Array | undefined
  #versions: readonly [low: Uint32Array, high: Uint32Array] | undefined
  readonly #lateness: DataView
  readonly #place: FingerprintPlace
  #fingerprints: DataView | undefined

  /** @throws RangeError if a column has another length than the others */
  constructor(fields: StoredColumnsFields, place: FingerprintPlace) {
    this.#place = place
    const { count, planes, lateness, opaqueVersions } = fields
    this.fields = fields
    for (const field of Object.values(planeFields)) requirePlanes(planes.get(field) ?? nothing, count)
    if (lateness.length !== 0 && lateness.length !== count * 8)
      throw new RangeError(`lateness has ${lateness.length} bytes for ${count} events`)
    if (opaqueVersions.length !== 0 && opaqueVersions.length !== count)
      throw new RangeError(`${opaqueVersions.length} versions for ${count} events`)
    this.isConsecutive = (planes.get(planeFields.sequences) ?? nothing).length === 0
    this.#lateness = new DataView(lateness.buffer, lateness.byteOffset, lateness.byteLength)
  }

  /** `field`: one of {@link planeFields}. */
  column(field: number): Uint32Array {
    let column = this.#columns[field]
    if (column === undefined) {
      column = fromPlanes(this.#planes(field), this.fields.count)
      this.#columns[field] = column
    }
    return column
  }

  /** Index of the first event from `index` on that is of this object; −1: there is none. Unpacks nothing: most blocks have none. */
  indexOfObject(number: number, index: number): number {
    const { count, numbers } = this.fields
    const object = numbers.rankOf(number)
    return object < 0 ? -1 : indexInPlanes(this.#planes(planeFields.objects), count, object, index)
  }

  value(field: number, index: number): number {
    return this.#isAskedOften(field)
      ? (this.column(field)[index] as number)
      : valueInPlanes(this.#planes(field), this.fields.count, index)
  }

  /** The number of an event's object. @throws MalformedFrameError if it is an object that the index lacks */
  objectNumber(index: number): number {
    if (this.#numbers !== undefined) return this.#numbers[index] as number
    const { numbers } = this.fields
    if (this.#numbersAsked++ < numbersAskedAlone) return numberAt(numbers, this.value(planeFields.objects, index))
    this.#numbers ??= numbersOf(this.column(planeFields.objects), numbers)
    return this.#numbers[index] as number
  }

  sequence(index: number): number {
    const { firstSequence } = this.fields
    if (this.isConsecutive) return firstSequence + index
    this.#sequences ??= sums(this.column(planeFields.sequences), firstSequence, 1)
    return this.#sequences[index] as number
  }

  received(index: number): number {
    const { timeBase } = this.fields
    // When a block begins is asked of every block, the rest of few. Event 0 has no step.
    if (index === 0) return timeBase
    if (this.#received !== undefined) return this.#received[index] as number
    const sum = this.#sum(planeFields.timeDeltas, index)
    if (sum !== undefined) return timeBase + sum
    this.#received ??= sums(this.column(planeFields.timeDeltas), timeBase, 0)
    return this.#received[index] as number
  }

  lateness(index: number): number {
    return this.fields.lateness.length === 0 ? 0 : this.#lateness.getFloat64(index * 8, true)
  }

  versionLow(index: number): number {
    const sum = this.#versions === undefined ? this.#sum(planeFields.versionsLow, index) : undefined
    return sum === undefined ? (this.#allVersions()[0][index] as number) : sum % twoPow32
  }

  versionHigh(index: number): number {
    const low = this.#versions === undefined ? this.#sum(planeFields.versionsLow, index) : undefined
    const high = low === undefined ? undefined : this.#sum(planeFields.versionsHigh, index)
    if (low === undefined || high === undefined) return this.#allVersions()[1][index] as number
    return (high + Math.floor(low / twoPow32)) % twoPow32
  }

  /** 0 if the BLOB is damaged: the object's next state counts as a change. */
  fingerprintLow(index: number): number {
    this.#fingerprints ??= this.#readFingerprints()
    return this.#fingerprints.getUint32(index * fingerprintBytes, true)
  }

  fingerprintHigh(index: number): number {
    this.#fingerprints ??= this.#readFingerprints()
    return this.#fingerprints.getUint32(index * fingerprintBytes + 4, true)
  }

  #readFingerprints(): DataView {
    const length = this.fields.count * fingerprintBytes
    const { dataOf, beforeEnd } = this.#place
    const data = dataOf()
    if (data === undefined || data.length < beforeEnd) return new DataView(new ArrayBuffer(length))
    const start = data.length - beforeEnd
    // A copy: the BLOB is many times as large.
    return new DataView(Uint8Array.prototype.slice.call(data, start, start + length).buffer)
  }

  #allVersions(): readonly [low: Uint32Array, high: Uint32Array] {
    this.#versions ??= versionsOf(this.column(planeFields.versionsLow), this.column(planeFields.versionsHigh))
    return this.#versions
  }

  #planes(field: number): Uint8Array {
    return this.fields.planes.get(field) ?? nothing
  }

  /** Of the values up to and including an event's, from where the last one ended; `undefined`: it pays to unpack all. */
  #sum(field: number, index: number): number | undefined {
    let [before, sum] = [this.#summed[field] ?? 0, this.#sums[field] ?? 0]
    if (index + 1 < before) {
      if (this.#isAskedOften(field)) return undefined
      ;[before, sum] = [0, 0]
    }
    sum += sumOfPlanes(this.#planes(field), this.fields.count, before, index + 1)
    this.#summed[field] = index + 1
    this.#sums[field] = sum
    return sum
  }

  #isAskedOften(field: number): boolean {
    if (this.#columns[field] !== undefined) return true
    const asked = (this.#asked[field] ?? 0) + 1
    this.#asked[field] = asked
    return asked > askedAlone
  }

  payloadLength(): number {
    let sum = 0
    for (const length of this.column(planeFields.lengths)) sum += length
    return sum
  }
}

const numberAt = (set: NumberSet, place: number): number => {
  return place >= set.count ? raiseLacking(place, set) : set.at(place)
}

const raiseLacking = (place: number, { count }: NumberSet): never => {
  throw new MalformedFrameError({ reason: `object ${place} of ${count}`, byteLength: 0 })
}

const numbersOf = (objects: Uint32Array, set: NumberSet): Uint32Array => {
  const all = set.all()
  const numbers = new Uint32Array(objects.length)
  for (let index = 0; index < objects.length; index++) {
    const number = all[objects[index] as number]
    if (number === undefined) return raiseLacking(objects[index] as number, set)
    numbers[index] = number
  }
  return numbers
}

/** The sums of all steps up to each; the first counts from `first`, the others with `more` each. */
const sums = (steps: Uint32Array, first: number, more: number): Float64Array => {
  const all = new Float64Array(steps.length)
  for (let index = 0, sum = first; index < steps.length; index++) {
    if (index > 0) sum += (steps[index] as number) + more
    all[index] = sum
  }
  return all
}

/** Of differences modulo 2^64. */
const versionsOf = (lowSteps: Uint32Array, highSteps: Uint32Array): readonly [Uint32Array, Uint32Array] => {
  const [low, high] = [new Uint32Array(lowSteps.length), new Uint32Array(lowSteps.length)]
  for (let index = 0, lastLow = 0, lastHigh = 0; index < lowSteps.length; index++) {
    const sum = lastLow + (lowSteps[index] as number)
    lastHigh = (lastHigh + (highSteps[index] as number) + (sum > 0xffff_ffff ? 1 : 0)) >>> 0
    lastLow = sum >>> 0
    low[index] = lastLow
    high[index] = lastHigh
  }
  return [low, high]
}
