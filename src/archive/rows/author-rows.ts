/**
 * Who wrote, out of audit logs: the rows, how they are added, found and removed.
 *
 * A row belongs to a change by kind, UID and version, and is joined when it is asked for. So neither has to arrive first, and a recorder that ends in between loses
 * nothing. Rows of one kind are in the order of versions, which is nearly that of time: what is added goes to the end, and what is removed is at the beginning.
 */
import { createHash } from "node:crypto"
import type { Author, AuthoredWrite, WriteEffect } from "../../trace/index.ts"
import type { DiscoveredKind } from "../../wire/index.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import { fieldsOf, isSoundRow, rowWriter } from "../tables/tables.ts"
import type { TrustedDatabase } from "../tables/trusted-database.ts"
import { decodeDiscovery, discoveryKey } from "./discovery.ts"
import type { Metadata } from "./metadata.ts"
import { type FirstUnsent, noteAdded } from "./unsent-writes.ts"

/** Key of the metadata: between which moments audited requests were taken, as JSON `{from, to}`. Absent: none were. */
export const AUDITED_KEY = "audited"

/** µs since the Unix epoch, on the API server's clock: the first and the last request that was logged. */
export interface AuditedRange {
  readonly from: number
  readonly to: number
}

/** `undefined`: no audit log was ever taken. */
export const auditedRangeIn = (metadata: { get(key: string): string | undefined }): AuditedRange | undefined => {
  const text = metadata.get(AUDITED_KEY)
  return text === undefined ? undefined : (JSON.parse(text) as AuditedRange)
}

/** The text of {@link AUDITED_KEY} with more of a log. */
const extendedRange = (metadata: { get(key: string): string | undefined }, range: AuditedRange): string => {
  const { from, to } = auditedRangeIn(metadata) ?? range
  return JSON.stringify({ from: Math.min(from, range.from), to: Math.max(to, range.to) } satisfies AuditedRange)
}

/** Of what is one object under all its versions. Events are the same objects in both of their groups. */
const resourceKey = (group: string, plural: string): string =>
  `${plural}.${plural === "events" && group === "events.k8s.io" ? "" : group}`

/** `apps/v1.Deployment`: `apps`; the core group has no name. */
const groupOf = (gvk: string): string => (gvk.includes("/") ? gvk.slice(0, gvk.indexOf("/")) : "")

/** By resource, the numbers of the kinds that are recorded of it: all its versions. */
const kindsByResource = (
  discovered: ReadonlyArray<DiscoveredKind>,
  idOf: (gvk: string) => number,
): ReadonlyMap<string, ReadonlyArray<number>> => {
  const kinds = new Map<string, ReadonlyArray<number>>()
  for (const { gvk, plural } of discovered) {
    const resource = resourceKey(groupOf(gvk), plural)
    kinds.set(resource, [...(kinds.get(resource) ?? []), idOf(gvk)])
  }
  return kinds
}

/** Of one recording: where rows go, and the numbers of its kinds. */
interface AddingPlace {
  readonly database: Pick<TrustedDatabase, "transaction">
  readonly metadata: Pick<Metadata, "get" | "set">
  readonly idOf: (gvk: string) => number
}

const effectNumbers: Readonly<Record<WriteEffect, number>> = { wrote: 0, bound: 1, removed: 2, requested: 3 }

const hashOf = (text: string): number => createHash("sha256").update(text).digest().readUIntBE(0, 6)

/** Of the rows that say that a write led to this version. */
const versionNumber = (version: string): number =>
  /^[1-9]\d{0,14}$/.test(version) ? Number(version) : -1 - hashOf(version)

/** By kind, the lowest version and the earliest time of these writes: rows of no version, or of an uncertain one, are found by time. */
const firstOf = (
  kinds: ReadonlyMap<string, ReadonlyArray<number>>,
  writes: ReadonlyArray<AuthoredWrite>,
): Readonly<Record<string, FirstUnsent>> => {
  const first: Record<string, FirstUnsent> = {}
  for (const { group, resource, effect, version, received } of writes)
    for (const id of kinds.get(resourceKey(group, resource)) ?? []) {
      const before = first[id] ?? { version: Number.MAX_SAFE_INTEGER, received }
      const own = effect === "wrote" ? versionNumber(version) : 0
      first[id] = {
        version: own > 0 ? Math.min(own, before.version) : before.version,
        received: Math.min(received, before.received),
      }
    }
  return first
}

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/** API servers make UUIDs, which take 22 bytes so instead of 36; clients may send other texts. */
const packed = (auditID: string): string =>
  uuid.test(auditID) ? Buffer.from(auditID.replaceAll("-", ""), "hex").toString("base64url") : `=${auditID}`

const unpacked = (text: string): string =>
  text.startsWith("=")
    ? text.slice(1)
    : Buffer.from(text, "base64url")
        .toString("hex")
        .replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")

/** Texts of authors that the writer knows by heart. */
const rememberedAuthors = 4096

const dayMicros = 86_400_000_000

interface KnownAuthor {
  readonly id: number
  readonly lastReceived: number
}

/** Adds rows, inside a transaction of the caller. Every method throws what SQLite throws. */
export class AuthorRows {
  readonly #insertWrite: (row: Readonly<Record<string, unknown>>) => void
  readonly #insertAuthor: (row: Readonly<Record<string, unknown>>) => void
  readonly #known = new Map<string, KnownAuthor>()

  constructor(database: Connection) {
    this.#insertWrite = rowWriter(database, "audited_write", { or: "IGNORE" })
    const end = "ON CONFLICT (id) DO UPDATE SET last_received = max(last_received, excluded.last_received)"
    this.#insertAuthor = rowWriter(database, "author", { end })
  }

  /** One transaction; then the range. What was not added is not in the range. @throws what SQLite throws: nothing was added */
  add({ database, metadata, idOf }: AddingPlace, writes: ReadonlyArray<AuthoredWrite>, range: AuditedRange): number {
    const kinds = kindsByResource(decodeDiscovery(metadata.get(discoveryKey)), idOf)
    let taken = 0
    try {
      database.transaction("authors", () => {
        noteAdded(metadata, () => firstOf(kinds, writes))
        taken = this.addAll(kinds, writes)
      })
    } catch (error) {
      this.forget()
      throw error
    }
    metadata.set(AUDITED_KEY, extendedRange(metadata, range))
    return taken
  }

  /** Adds the writes to these kinds; returns how many they are. */
  addAll(kinds: ReadonlyMap<string, ReadonlyArray<number>>, writes: ReadonlyArray<AuthoredWrite>): number {
    let taken = 0
    for (const write of writes) {
      const ids = kinds.get(resourceKey(write.group, write.resource)) ?? []
      for (const id of ids) this.#add(id, write)
      if (ids.length > 0) taken++
    }
    return taken
  }

  /** A row that is there already stays. */
  #add(kind: number, write: AuthoredWrite): void {
    const { object, effect, version, isCertain, auditID, received, completed, author } = write
    this.#insertWrite({
      ...{ kind, version: effect === "wrote" ? versionNumber(version) : 0, object: hashOf(object) },
      ...{ effect: effectNumbers[effect], author: this.#idOf(author, received), received, took: completed - received },
      ...{ isCertain: isCertain ? 1 : 0, auditId: packed(auditID) },
    })
  }

  /** After a transaction that failed, what it had added is not there. */
  forget(): void {
    this.#known.clear()
  }

  /** An author is written again for the first write of each day, so one that retention has removed meanwhile comes back under the same number. */
  #idOf(author: Author, received: number): number {
    const identity = JSON.stringify(author)
    const known = this.#known.get(identity)
    if (known !== undefined && received <= known.lastReceived + dayMicros) return known.id
    const id = hashOf(identity)
    this.#insertAuthor({ id, identity, lastReceived: received })
    if (this.#known.size >= rememberedAuthors) this.#known.clear()
    this.#known.set(identity, { id, lastReceived: Math.max(received, known?.lastReceived ?? received) })
    return id
  }
}

interface WriteRow {
  readonly author: number
  readonly received: number
  readonly took: number
  readonly isCertain: number
  readonly auditId: string
}

/** A write that may belong to a change, as {@link AuthoredWrite} has it. */
export interface FoundWrite extends Pick<AuthoredWrite, "received" | "completed" | "isCertain" | "auditID"> {
  /** Its number. */
  readonly authorId: number
  readonly author: Author
}

/** µs that a request takes at most: API servers end those that are no watches after a minute. */
const longestRequest = 65_000_000

/** Finds rows. Every method throws what SQLite throws. */
export class FoundAuthors {
  readonly #writes: Statement<WriteRow>
  readonly #author: Statement<{ readonly identity: string }>
  readonly #known = new Map<number, Author>()

  constructor(database: Connection) {
    const columns = ["author", "received", "took", "is_certain", "audit_id"]
    this.#writes = prepare(
      database,
      `SELECT ${fieldsOf("audited_write", columns)} FROM audited_write
      WHERE kind = ? AND version = ? AND object = ? AND effect = ? AND received BETWEEN ? AND ? AND ${isSoundRow("audited_write")}
      ORDER BY received`,
    )
    this.#author = prepare(database, `SELECT identity FROM author WHERE id = ? AND ${isSoundRow("author")}`)
  }

  /**
   * What may have had this effect on the object, in the order of time. `version`: of those that wrote one. Authors
   * whose rows are damaged are left out.
   */
  writes(kind: number, uid: string, effect: WriteEffect, version = ""): ReadonlyArray<FoundWrite> {
    const number = effect === "wrote" ? versionNumber(version) : 0
    return this.#found(kind, number, hashOf(uid), effectNumbers[effect], 0, Number.MAX_SAFE_INTEGER)
  }

  /** Requests to what {@link requestedObject} names that were under way at any moment between the two. */
  requests(kind: number, object: string, { from, to }: AuditedRange): ReadonlyArray<FoundWrite> {
    const effect = effectNumbers.requested
    const found = this.#found(kind, 0, hashOf(object), effect, from - longestRequest, to)
    return found.filter(({ completed }) => completed >= from)
  }

  #found(...key: [number, number, number, number, number, number]): ReadonlyArray<FoundWrite> {
    return this.#writes.all(...key).flatMap(({ author: authorId, received, took, isCertain, auditId }) => {
      const author = this.#authorOf(authorId)
      const times = { received, completed: received + took }
      return author === undefined
        ? []
        : [{ ...{ authorId, author, ...times }, isCertain: isCertain === 1, auditID: unpacked(auditId) }]
    })
  }

  #authorOf(id: number): Author | undefined {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const identity = this.#author.get(id)?.identity
    if (identity === undefined) return undefined
    const author = JSON.parse(identity) as Author
    if (this.#known.size >= rememberedAuthors) this.#known.clear()
    this.#known.set(id, author)
    return author
  }
}

/** Rows per transaction. */
const pageRows = 500

/** µs by which the clocks of API server and recorder may differ, as far as it matters to what is removed. */
const clockSlackMicros = 60_000_000

interface RowKey {
  readonly version: number
  readonly object: number
  readonly effect: number
  readonly author: number
  readonly received: number
}

/** Removes what was written before the beginning of its kind. */
export class AuthorRemoval {
  readonly #transaction: (write: () => void) => void
  /** In the order of versions, which is that of time. */
  readonly #ordered: Statement<RowKey>
  /** Those whose version says nothing of when they were written. */
  readonly #timed: Statement<RowKey>
  readonly #delete: Statement<never>
  readonly #deleteAuthors: Statement<never>
  /** By kind, up to when rows have been removed in this life. */
  readonly #done = new Map<number, number>()
  /** Up to when authors have been. */
  #authorsDone = dayMicros

  constructor(database: Connection, transaction: (write: () => void) => void) {
    this.#transaction = transaction
    const page = (condition: string, order: string): Statement<RowKey> =>
      prepare(
        database,
        `SELECT version, object, effect, author, received FROM audited_write WHERE kind = ? AND ${condition} ORDER BY ${order} LIMIT ${pageRows}`,
      )
    this.#ordered = page("version > 0 AND is_certain = 1", "version")
    this.#timed = page("(version <= 0 OR is_certain = 0)", "received")
    this.#delete = prepare(
      database,
      "DELETE FROM audited_write WHERE kind = ? AND version = ? AND object = ? AND effect = ? AND received = ? AND author = ?",
    )
    this.#deleteAuthors = prepare(database, "DELETE FROM author WHERE last_received < ?")
  }

  /** `beginnings`: by kind, of all that are recorded, µs up to which what happened has been removed, 0: nothing. Yields after each transaction. */
  *remove(beginnings: ReadonlyMap<number, number>): Generator<void, void, void> {
    let oldest = Number.POSITIVE_INFINITY
    for (const [kind, removedThrough] of beginnings) {
      const before = removedThrough - clockSlackMicros
      oldest = Math.min(oldest, before)
      if (before <= (this.#done.get(kind) ?? 0)) continue
      for (const rows of [this.#ordered, this.#timed]) {
        while (this.#removePage(kind, rows, before)) yield
      }
      this.#done.set(kind, before)
    }
    // Authors are few. Those of a kind that is kept for ever stay.
    if (beginnings.size === 0 || oldest <= this.#authorsDone) return
    this.#transaction(() => this.#deleteAuthors.run(oldest - dayMicros))
    this.#authorsDone = oldest
    yield
  }

  /** Whether the next page may have some as well. */
  #removePage(kind: number, statement: Statement<RowKey>, before: number): boolean {
    const rows = statement.all(kind)
    const old = rows.filter(({ received }) => received < before)
    if (old.length === 0) return false
    this.#transaction(() => {
      for (const { version, object, effect, author, received } of old)
        this.#delete.run(kind, version, object, effect, received, author)
    })
    return old.length === rows.length && rows.length === pageRows
  }
}
