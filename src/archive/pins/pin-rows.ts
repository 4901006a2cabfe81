/**
 * The table of pins. A pin without a copy (`bytes` 0) holds the beginning of the recording back; what of it was removed all the same is in `lost_through`.
 */
import { randomBytes } from "node:crypto"
import { type Connection, numberOf, prepare, rowsOf, type Statement } from "../tables/database.ts"
import { fieldsOf, rowWriter } from "../tables/tables.ts"
import {
  maximumPins,
  type Pin,
  PinRefused,
  type PinRequest,
  type PinSource,
  pinSources,
  requirePossible,
} from "./pin.ts"

/** µs after the end of a window for which changes in it are still waited for, if some kind is not known to be complete. */
const GRACE_MICROS = 600_000_000

/** A row; `key` and `note` may be empty. */
export interface PinRow {
  readonly id: string
  readonly fromTime: number
  readonly untilTime: number
  readonly note: string
  readonly source: string
  readonly labels: string
  readonly key: string
  readonly created: number
  readonly lostThrough: number
  readonly bytes: number
  readonly exported: number
}

/** All pins, the earliest window first. @throws what SQLite throws */
export const pinRowsOf = (database: Connection): ReadonlyArray<PinRow> =>
  rowsOf<PinRow>(database, `SELECT ${fieldsOf("pin")} FROM pin ORDER BY from_time, id`)

/**
 * Those whose windows have no copy, and of which something is left, the earliest window first: a kind with another limit may have all of a window of which
 * others have nothing. A kind without events before the end has nothing to be kept. @throws what SQLite throws
 */
export const holdingRowsOf = (database: Connection): ReadonlyArray<PinRow> =>
  rowsOf<PinRow>(
    database,
    `SELECT ${fieldsOf("pin")} FROM pin WHERE bytes = 0 AND (lost_through < until_time OR EXISTS (
      SELECT 1 FROM kind LEFT JOIN retained ON kind = kind.id WHERE recorded_since < until_time AND coalesce(removed_through, 0) < until_time
      AND (through_sequence > 0 OR EXISTS (SELECT 1 FROM block_kind WHERE block_kind.kind = kind.id AND min_time < until_time))
    )) ORDER BY from_time, id`,
  )

/** Makes pins of a copied recording say that the copies of their windows are not there. @throws what SQLite throws */
export const forgetCopies = (database: Connection): void =>
  prepare(database, "UPDATE pin SET lost_through = until_time, bytes = 0 WHERE bytes > 0").run()

/** Whether all of a window that will ever come has been committed, as far as that can be known. @throws what SQLite throws */
export const isWindowOver = (database: Connection, untilTime: number, nowMicros: number): boolean => {
  if (nowMicros < untilTime) return false
  if (nowMicros >= untilTime + GRACE_MICROS) return true
  return numberOf(database, "SELECT coalesce(min(complete_through_time), 0) >= ? AS value FROM kind", untilTime) === 1
}

/** All pins as others see them, the earliest window first. @throws what SQLite throws */
export const pinsIn = (database: Connection, nowMicros: number): ReadonlyArray<Pin> =>
  pinRowsOf(database).map((row) => pinOf(row, isWindowOver(database, row.untilTime, nowMicros)))

const pinOf = (row: PinRow, isOver: boolean): Pin => ({
  ...{ id: row.id, from: row.fromTime, until: row.untilTime, note: row.note, bytes: row.bytes },
  ...{ source: sourceOf(row.source), labels: JSON.parse(row.labels), createdMicros: row.created },
  place: row.bytes > 0 ? "kept" : !isOver ? "open" : row.lostThrough > 0 ? "lost" : "recording",
  ...(row.lostThrough > 0 && { lostThrough: row.lostThrough }),
  ...(row.exported > 0 && { exported: row.exported }),
})

const sourceOf = (text: string): PinSource => pinSources.find((source) => source === text) ?? "command"

/** `20261129t0312-1f2e3d4c` */
const newId = (fromTime: number): string => {
  const stamp = new Date(fromTime / 1000).toISOString().replaceAll(/[-:]/g, "").slice(0, 13).toLowerCase()
  return `${stamp}-${randomBytes(4).toString("hex")}`
}

/** Writes rows, each call in a transaction of the caller. Every method throws what SQLite throws. */
export class PinRows {
  readonly #database: Connection
  readonly #put: (row: Readonly<Record<string, unknown>>) => void
  readonly #delete: Statement<unknown>
  readonly #lose: Statement<never>
  readonly #kept: Statement<never>
  readonly #exported: Statement<unknown>
  readonly #ofKey: Statement<PinRow>
  readonly #keptUntil: Statement<{ readonly value: number }>
  readonly #removedThrough: Statement<{ readonly value: number }>

  constructor(database: Connection) {
    this.#database = database
    this.#put = rowWriter(database, "pin", { or: "REPLACE" })
    this.#delete = prepare(database, "DELETE FROM pin WHERE id = ? RETURNING 1")
    this.#lose = prepare(
      database,
      "UPDATE pin SET lost_through = max(lost_through, min(?1, until_time)) WHERE bytes = 0 AND from_time <= ?1",
    )
    this.#kept = prepare(database, "UPDATE pin SET bytes = ?2 WHERE id = ?1")
    this.#exported = prepare(database, "UPDATE pin SET exported = ?2 WHERE id = ?1 RETURNING 1")
    this.#ofKey = prepare(
      database,
      `SELECT ${fieldsOf("pin")} FROM pin WHERE key = ? AND key <> '' ORDER BY from_time DESC LIMIT 1`,
    )
    this.#keptUntil = prepare(
      database,
      "SELECT coalesce(max(until_time), 0) AS value FROM pin WHERE key = ? AND key <> '' AND bytes > 0",
    )
    this.#removedThrough = prepare(
      database,
      `SELECT coalesce(max(removed_through), 0) AS value FROM retained JOIN kind ON id = kind WHERE recorded_since < removed_through`,
    )
  }

  /** Adds a pin, or changes the window of the one with the same key. @throws PinRefused */
  add(request: PinRequest, nowMicros: number): Pin {
    requirePossible(request, nowMicros)
    const { from, until, note = "", source, labels = {}, key = "" } = request
    const known = this.#ofKey.get(key)
    const fresh = { note, source, labels: JSON.stringify(labels) }
    const kept = known !== undefined && known.bytes > 0
    // A copy stays as it is: what follows its window is a pin of its own.
    const keptUntil = this.#keptUntil.get(key)?.value ?? 0
    const start = Math.max(from, keptUntil)
    const fromTime = kept ? start : Math.min(start, known?.fromTime ?? start)
    if (kept && until <= keptUntil) return pinOf(known, true)
    if (known === undefined || kept) {
      if (numberOf(this.#database, "SELECT count(*) AS value FROM pin") >= maximumPins)
        throw new PinRefused({ problem: `the recording has ${maximumPins} pins, which is the limit`, fault: "limit" })
    }
    const removedThrough = this.#removedThrough.get()?.value ?? 0
    const untilTime = Math.max(until, fromTime + 1)
    const row: PinRow = {
      ...{ id: known === undefined || kept ? newId(fromTime) : known.id, created: nowMicros, exported: 0 },
      ...{ fromTime, untilTime, key, ...fresh, bytes: 0 },
      lostThrough: removedThrough >= fromTime ? Math.min(removedThrough, untilTime) : 0,
    }
    this.#put({ ...row })
    return pinOf(row, isWindowOver(this.#database, untilTime, nowMicros))
  }

  /** Whether there was one. */
  remove(id: string): boolean {
    return this.#delete.get(id) !== undefined
  }

  /** Whether there is one. `atMicros`: when its window was exported. */
  noteExported(id: string, atMicros: number): boolean {
    return this.#exported.get(id, atMicros) !== undefined
  }

  /** The window has a copy of so many bytes. */
  noteKept(id: string, bytes: number): void {
    this.#kept.run(id, bytes)
  }

  /** Everything that was received up to this moment has been removed of some kinds. */
  noteLost(throughMicros: number): void {
    this.#lose.run(throughMicros)
  }
}
