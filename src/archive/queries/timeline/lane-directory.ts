/**
 * Names and owners of the objects of each kind, kept between the questions of a time line, and shared by its trees.
 *
 * Rows never change but for the owners of an object that is adopted; retention removes rows of objects that have ended, which no state names any more. So
 * what is kept is only added to, until an object is adopted. Memory: some 120 bytes an object; beyond {@link mostBytes} it is kept for one question only.
 *
 * A page of rows comes from SQLite as one text, and what their checksums cover is read from it too: rows one by one, and their checksums by another statement,
 * take twice as long.
 */

import type { LaneOwner, LaneRows } from "../../../timeline/index.ts"
import { gvkOfReference, parseOwnerReferences } from "../../../trace/index.ts"
import { CorruptArchiveError } from "../../directory/archive-errors.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { prepare } from "../../tables/database.ts"
import { columnsOf } from "../../tables/tables.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { type AddedObject, ObjectColumns } from "./object-columns.ts"

const mostBytes = 128 * 1024 * 1024
const pageRows = 4096

/** Between the columns of a row, as in what its checksum covers, and between rows. */
const [unit, record] = [0x1f, 0x1e]
const zero = 0x30

/** What a checksum of an object covers. */
const covered = columnsOf("object")

/** The id of the lane of an object. */
export const laneId = ({ id }: Pick<KeptKind, "id">, number: number): string => `${id}.${number}`

/** The kind's number in the archive, and the object's within it; `undefined`: it is not the lane of an object. */
export const laneNumbers = (id: string): { readonly kind: number; readonly number: number } | undefined => {
  const found = /^([1-9]\d{0,8})\.([1-9]\d{0,9})$/.exec(id)
  return found === null ? undefined : { kind: Number(found[1]), number: Number(found[2]) }
}

/** Rows of one kind, ascending by number. */
interface KindRows {
  readonly gvk: string
  /** Rows of the directory that are next to each other. */
  readonly ranges: Array<{ readonly from: number; to: number }>
  /** Numbers of those in which they are. */
  readonly namespaces: Set<number>
  /** The number of the last one. */
  last: number
  /** Up to this number there are no others. */
  through: number
}

export class LaneDirectory {
  columns = new ObjectColumns()
  /** By number; the first one is that of objects without owners. */
  ownerSets: ReadonlyArray<LaneOwner>[] = [[]]
  namespaces: string[] = []
  readonly #kinds = new Map<number, KindRows>()
  readonly #ownerNumbers = new Map<number, number>([[0, 0]])
  readonly #namespaceNumbers = new Map<string, number>()
  #adoptions = ""

  /** Forgets everything if an object was adopted meanwhile, or if it is too much; returns whether it did. */
  forgetIfOutdated({ database }: Pick<QueriedRecording, "database">): boolean {
    const { adoptions } = prepare<{ adoptions: string }>(
      database,
      "SELECT count(*) || ' ' || coalesce(max(until_received), 0) AS adoptions FROM former_owner_set",
    ).get() ?? { adoptions: "" }
    if (adoptions === this.#adoptions && this.columns.bytes <= mostBytes) return false
    this.#adoptions = adoptions
    this.columns = new ObjectColumns()
    this.ownerSets = [[]]
    this.namespaces = []
    for (const map of [this.#kinds, this.#namespaceNumbers]) map.clear()
    this.#ownerNumbers.clear()
    this.#ownerNumbers.set(0, 0)
    return true
  }

  /** Reads what is not known yet of a kind, up to the cut. With pauses. @throws CorruptArchiveError if a row is damaged */
  *read(recording: QueriedRecording, kind: KeptKind): Generator<undefined, void, void> {
    const rows = this.#rowsOf(kind)
    const through = kind.nextObjectNumber - 1
    if (rows.through >= through) return
    recording.requireSoundObjectTrees()
    const page = prepare<{ readonly count: number; readonly text: string | null }>(
      recording.database,
      `SELECT count(*) AS count, group_concat(concat_ws(char(${unit}), checksum, ${covered.join(", ")}), char(${record})) AS text
      FROM (SELECT * FROM object WHERE kind = ? AND number > ? ORDER BY number LIMIT ${pageRows})`,
    )
    // Several questions may read in turn: each goes on where the last of them has stopped.
    while (rows.through < through) {
      const found = recording.reading(() => page.get(kind.id, rows.last))
      const count = found?.count ?? 0
      const isWhole = count === 0 || this.#take(recording, rows, Buffer.from(found?.text ?? ""), count)
      if (!isWhole) return
      if (count < pageRows) rows.through = through
      yield undefined
    }
    recording.noteSoundObjects(kind, rows.last)
  }

  /** Rows of the columns that are of a kind, as far as they were read, ascending by number. */
  *rowsOf(kind: KeptKind): Generator<number, void, void> {
    for (const { from, to } of this.#rowsOf(kind).ranges) for (let row = from; row < to; row++) yield row
  }

  /** Those in which objects of a kind are, as far as they were read. */
  namespacesOf(kind: KeptKind): ReadonlyArray<string> {
    return Array.from(this.#rowsOf(kind).namespaces, (number) => this.namespaces[number] ?? "")
  }

  /** The row of an object; −1: there is none. */
  rowOf(kind: number, number: number): number {
    const { numbers } = this.columns
    for (const { from, to } of this.#kinds.get(kind)?.ranges ?? []) {
      let [low, high] = [from, to]
      while (low < high) {
        const middle = (low + high) >>> 1
        if ((numbers[middle] ?? 0) < number) low = middle + 1
        else high = middle
      }
      if (low < to && numbers[low] === number) return low
    }
    return -1
  }

  gvkOf(row: number): string {
    return this.#kinds.get(this.columns.kinds[row] ?? 0)?.gvk ?? ""
  }

  #rowsOf({ id, gvk }: KeptKind): KindRows {
    const rows = this.#kinds.get(id) ?? { gvk, ranges: [], namespaces: new Set<number>(), last: 0, through: 0 }
    this.#kinds.set(id, rows)
    return rows
  }

  /** Adds a page of rows; `false`: one of them is after the cut. */
  #take(recording: QueriedRecording, rows: KindRows, page: Buffer, count: number): boolean {
    const { database, directory, cut } = recording
    const added = { ...noObject, bytes: page }
    // Where columns end: an array that is taken apart for each row costs as much as the statement.
    const ends = new Uint32Array(covered.length)
    const { length } = page
    let at = 0
    let taken = 0
    while (at < length) {
      const first = at
      while (at < length && page[at] !== unit) at++
      const checksum = integerIn(page, first, at)
      const start = ++at
      let columns = 0
      let crc = -1
      for (; at < length; at++) {
        const byte = page[at] ?? 0
        if (byte === record) break
        if (byte === unit) ends[columns++] = at
        crc = (checksums[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8)
      }
      at++
      const [kindEnd, numberEnd, uidEnd] = [ends[0] ?? 0, ends[1] ?? 0, ends[2] ?? 0]
      const [namespaceEnd, nameEnd, sequenceEnd] = [ends[3] ?? 0, ends[4] ?? 0, ends[5] ?? 0]
      added.number = integerIn(page, kindEnd + 1, numberEnd)
      if (columns !== covered.length - 1 || ~crc >>> 0 !== checksum || added.number <= rows.last)
        throw new CorruptArchiveError({ directory, reason: "table object: a row has a wrong checksum" })
      added.firstSequence = integerIn(page, nameEnd + 1, sequenceEnd)
      if (added.firstSequence > cut) return false
      added.kind = integerIn(page, start, kindEnd)
      added.owners = this.#ownersOf(database, integerIn(page, sequenceEnd + 1, at - 1))
      added.namespace = this.#numberOf(page.toString("utf8", uidEnd + 1, namespaceEnd))
      added.uidStart = numberEnd + 1
      added.uidEnd = uidEnd
      added.nameStart = namespaceEnd + 1
      added.nameEnd = nameEnd
      this.#add(rows, added)
      taken++
    }
    if (taken === count) return true
    throw new CorruptArchiveError({ directory, reason: `table object: ${taken} rows in place of ${count}` })
  }

  #add(rows: KindRows, added: AddedObject): void {
    const row = this.columns.count
    this.columns.add(added)
    rows.last = added.number
    rows.namespaces.add(added.namespace)
    const range = rows.ranges.at(-1)
    if (range?.to === row) range.to++
    else rows.ranges.push({ from: row, to: row + 1 })
  }

  #numberOf(namespace: string): number {
    const known = this.#namespaceNumbers.get(namespace)
    if (known !== undefined) return known
    this.#namespaceNumbers.set(namespace, this.namespaces.length)
    return this.namespaces.push(namespace) - 1
  }

  #ownersOf(database: QueriedRecording["database"], set: number): number {
    const known = this.#ownerNumbers.get(set)
    if (known !== undefined) return known
    const row = prepare<{ readonly text: string }>(
      database,
      "SELECT owner_references AS text FROM owner_set WHERE id = ?",
    ).get(set)
    const owners = parseOwnerReferences(row?.text ?? "")
      .toSorted((one, other) => Number(other.controller) - Number(one.controller))
      .map((each) => ({ gvk: gvkOfReference(each), name: each.name, uid: each.uid }))
    const number = owners.length === 0 ? 0 : this.ownerSets.push(owners) - 1
    this.#ownerNumbers.set(set, number)
    return number
  }
}

/** CRC-32 of one byte. That of `node:zlib` takes longer to be called than to run, for a hundred bytes. */
const checksums = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

const noObject: AddedObject = {
  ...{ kind: 0, number: 0, firstSequence: 0, namespace: 0, owners: 0, bytes: Buffer.alloc(0) },
  ...{ uidStart: 0, uidEnd: 0, nameStart: 0, nameEnd: 0 },
}

/** Decimal digits as a number; another one if they are none. */
const integerIn = (bytes: Buffer, from: number, to: number): number => {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + (bytes[at] ?? 0) - zero
  return value
}

/** Some rows of a directory as those of a tree: 4 bytes each. `rows`: ascending. */
export const directoryRows = (directory: LaneDirectory, rows: Uint32Array): LaneRows => {
  const { columns, namespaces, ownerSets } = directory
  const rowAt = (index: number): number => rows[index] ?? 0
  const indexOf = (row: number): number => {
    let [low, high] = [0, rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (rowAt(middle) < row) low = middle + 1
      else high = middle
    }
    return rows[low] === row ? low : -1
  }
  return {
    ...{ count: rows.length, namespaces, ownerSets },
    namespaceAt: (index) => columns.namespaces[rowAt(index)] ?? 0,
    ownersAt: (index) => columns.owners[rowAt(index)] ?? 0,
    nameAt: (index) => columns.nameOf(rowAt(index)),
    objectAt: (index) => {
      const row = rowAt(index)
      return {
        id: laneId({ id: columns.kinds[row] ?? 0 }, columns.numbers[row] ?? 0),
        ...{ gvk: directory.gvkOf(row), namespace: namespaces[columns.namespaces[row] ?? 0] ?? "" },
        ...{ name: columns.nameOf(row), uid: columns.uidOf(row) },
      }
    },
    indexOf: (id) => {
      const found = laneNumbers(id)
      return found === undefined ? -1 : indexOf(directory.rowOf(found.kind, found.number))
    },
    indexOfUid: (uid) => {
      let first = -1
      for (const row of columns.rowsWithUid(uid)) {
        const index = indexOf(row)
        if (index >= 0 && (first < 0 || index < first)) first = index
      }
      return first
    },
  }
}
