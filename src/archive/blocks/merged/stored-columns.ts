/**
 * The columns of one kind in a merged block, as they are stored. Each is unpacked when it is first asked for: a history needs numbers of objects and little
 * else.
 */
import type { TimeFloors } from "../block-frame.ts"
import { fromPlanes, indexInPlanes, requirePlanes } from "../byte-planes.ts"

/** By name, the field of `MergedFrame` in proto/archive.proto. */
export const planeFields = {
  ...{ sequences: 6, actions: 7, numbers: 8, lengths: 9, timeDeltas: 10 },
  ...{ versionsLow: 11, versionsHigh: 12, fingerprintsLow: 14, fingerprintsHigh: 15 },
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
}

const nothing = new Uint8Array(0)

export class StoredColumns {
  readonly fields: StoredColumnsFields
  readonly isConsecutive: boolean
  readonly #columns = new Map<ColumnName, Uint32Array>()
  #sequences: Float64Array | undefined
  #received: Float64Array | undefined
  #versions: readonly [low: Uint32Array, high: Uint32Array] | undefined
  readonly #lateness: DataView

  /** @throws RangeError if a column has another length than the others */
  constructor(fields: StoredColumnsFields) {
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

  column(name: ColumnName): Uint32Array {
    let column = this.#columns.get(name)
    if (column === undefined) {
      column = fromPlanes(this.fields.planes.get(planeFields[name]) ?? nothing, this.fields.count)
      this.#columns.set(name, column)
    }
    return column
  }

  /** Index of the first event from `index` on that is of this object; −1: there is none. Unpacks nothing: most blocks have none. */
  indexOfObject(number: number, index: number): number {
    return indexInPlanes(this.fields.planes.get(planeFields.numbers) ?? nothing, this.fields.count, number, index)
  }

  sequence(index: number): number {
    if (this.isConsecutive) return this.fields.firstSequence + index
    this.#sequences ??= sums(this.column("sequences"), this.fields.firstSequence, 1)
    return this.#sequences[index] as number
  }

  received(index: number): number {
    // When a block begins is asked of every block, the rest of few.
    if (index === 0) return this.fields.timeBase
    this.#received ??= sums(this.column("timeDeltas"), this.fields.timeBase, 0)
    return this.#received[index] as number
  }

  lateness(index: number): number {
    return this.fields.lateness.length === 0 ? 0 : this.#lateness.getFloat64(index * 8, true)
  }

  get versions(): readonly [low: Uint32Array, high: Uint32Array] {
    this.#versions ??= versionsOf(this.column("versionsLow"), this.column("versionsHigh"))
    return this.#versions
  }

  /** Bytes of all objects. */
  payloadLength(): number {
    let sum = 0
    for (const length of this.column("lengths")) sum += length
    return sum
  }
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
