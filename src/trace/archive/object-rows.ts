/**
 * Names of objects: one row for each object ever seen, written when its number first appears.
 *
 * Readers ask by (kind, number). Numbers are given out in order of appearance, so objects that appear together change
 * together, and rows are fetched and kept in pages of 64 numbers; the pages are bounded, the least recently used goes first.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import { CorruptArchiveError, toArchiveError } from "./archive-errors.ts"

/** What an object is called for as long as it lives. */
export interface ObjectName {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** 64 rows of some 150 bytes are three database pages. */
const PAGE_OBJECTS = 64

/** 256 pages of 64 names are 16,384 objects, some 6 MB. */
const CACHED_PAGES = 256

/** Reads names through one database connection. */
export class ObjectNames {
  readonly #directory: string
  readonly #range: StatementSync
  /** Page key → names by number within the page; least recently used first. */
  readonly #pages = new Map<number, Array<ObjectName | undefined>>()
  #latestKey = -1
  #latest: Array<ObjectName | undefined> | undefined

  constructor(database: DatabaseSync, directory: string) {
    this.#directory = directory
    this.#range = database.prepare(`
      SELECT number, uid, namespace, name FROM object WHERE kind = ? AND number >= ? AND number < ? ORDER BY number`)
  }

  /**
   * The name of an object that an event on disk speaks of.
   *
   * @throws CorruptArchiveError if it has no row, which is stored in the same transaction as its first event.
   */
  nameOf(kind: number, number: number): ObjectName {
    const start = number - (number % PAGE_OBJECTS)
    // Kinds are counted from 1 and number in the hundreds: kind · 2^32 + number stays below 2^53.
    const key = kind * 0x1_0000_0000 + start
    if (key !== this.#latestKey) this.#turnTo(key)
    const name = this.#latest?.[number - start] ?? this.#load(key, kind, start)[number - start]
    if (name === undefined) {
      throw new CorruptArchiveError({
        directory: this.#directory,
        reason: `object ${number} of kind ${kind} has no row`,
      })
    }
    return name
  }

  #turnTo(key: number): void {
    const page = this.#pages.get(key)
    this.#latestKey = key
    this.#latest = page
    if (page === undefined) return
    this.#pages.delete(key)
    this.#pages.set(key, page)
  }

  #load(key: number, kind: number, start: number): Array<ObjectName | undefined> {
    const page = new Array<ObjectName | undefined>(PAGE_OBJECTS).fill(undefined)
    for (const row of this.#rows(kind, start)) page[row.number - start] = row
    if (this.#pages.size >= CACHED_PAGES) this.#pages.delete(this.#pages.keys().next().value ?? 0)
    // A page may be loaded again when objects were added to it.
    this.#pages.delete(key)
    this.#pages.set(key, page)
    this.#latest = page
    return page
  }

  #rows(kind: number, start: number): ReadonlyArray<ObjectName> {
    try {
      return this.#range.all(kind, start, start + PAGE_OBJECTS).map((row) => ({
        number: row.number as number,
        uid: row.uid as string,
        namespace: row.namespace as string,
        name: row.name as string,
      }))
    } catch (error) {
      throw toArchiveError(this.#directory, "read", error)
    }
  }
}
