/**
 * The file of a checkpoint: one SQLite database for one controller, held by the one thread that runs it.
 *
 * Guaranteed:
 * - What {@link CheckpointFile.write} returned from is there after a crash of the process, however it ended (write-ahead log; each write is one
 *   transaction). A power failure cannot damage the file, but may take the last writes: the log is not synced with each of them.
 * - No other process or thread has the file open at the same time: SQLite's exclusive lock, which the system frees with the process.
 * - A file that is damaged, of another program or of a later format is set aside under a name that says so; a new one begins empty.
 */
import { existsSync, mkdirSync, renameSync, utimesSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import * as Schema from "effect/Schema"
import { messageOf } from "../../message-of.ts"
import { readKnown } from "./known-objects.ts"

/** The file cannot be read or written now. Retryable: nothing is lost, and the controller waits. */
export class CheckpointUnavailable extends Schema.TaggedError<CheckpointUnavailable>()("CheckpointUnavailable", {
  path: Schema.String,
  /** `disk-full`: free space, or raise the limit. `in-use`: another process or controller has it. `failed`: see `reason`. */
  problem: Schema.Literals(["disk-full", "in-use", "failed"]),
  reason: Schema.String,
}) {
  override get message(): string {
    const advice = {
      "disk-full": "there is no space for it; free some",
      "in-use":
        "another process, or another controller of this name, has it open; end that one or use another directory",
      failed: `it cannot be read or written (${this.reason}); check the disk and the permissions`,
    }
    return `checkpoint ${this.path}: ${advice[this.problem]}`
  }
}

interface CheckpointFileOptions {
  readonly path: string
  /** Seconds since the Unix epoch. */
  readonly nowSeconds: number
  /** Upper limit in bytes. Default: the disk's. */
  readonly maximumBytes?: number | undefined
  /** Gets why a file was set aside. */
  readonly say: (detail: string) => void
}

/** Seconds for which the rows of a selection are kept that the controller does not watch any more: 30 days, so that a release can be rolled back. */
export const keptSeconds = 30 * 24 * 3600

/** "rlcp" in ASCII. */
const applicationId = 0x726c6370
const format = 1
const pageBytes = 4096

/** SQLite's primary result codes, https://www.sqlite.org/rescode.html. */
const busy = 5
const corrupt = 11
const full = 13
const notADatabase = 26

/** `used`: seconds since the Unix epoch at which a controller last watched the selection, to the day. */
const tables = `
  CREATE TABLE selection (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, used INTEGER NOT NULL) STRICT;
  CREATE TABLE object (
    selection INTEGER NOT NULL,
    uid TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (selection, uid)
  ) STRICT, WITHOUT ROWID;
`

/** Rows to write by selection; `undefined` removes. */
type Unwritten = ReadonlyArray<{
  readonly selection: string
  readonly rows: Iterable<readonly [uid: string, text: string | undefined]>
}>

export class CheckpointFile {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #put: StatementSync
  readonly #remove: StatementSync
  readonly #ids = new Map<string, number>()

  private constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.#path = path
    this.#put = database.prepare("INSERT OR REPLACE INTO object (selection, uid, state) VALUES (?, ?, ?)")
    this.#remove = database.prepare("DELETE FROM object WHERE selection = ? AND uid = ?")
  }

  /** Throws {@link CheckpointUnavailable}. */
  static open(options: CheckpointFileOptions): CheckpointFile {
    const { path, say } = options
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const problem = existsSync(path) ? problemOf(path) : undefined
      if (problem !== undefined) {
        const aside = setAside(path, problem.name, options.nowSeconds)
        say(
          `checkpoint ${path}: ${problem.text}; it was set aside as ${aside}, so deletions since its last use may be missed`,
        )
      }
      const database = opened(path)
      try {
        prepare(database, options)
        return new CheckpointFile(database, path)
      } catch (cause) {
        database.close()
        throw cause
      }
    } catch (cause) {
      throw unavailable(path, cause)
    }
  }

  /** All rows, by the name of their selection. Throws {@link CheckpointUnavailable}. */
  load(): Map<string, Array<readonly [uid: string, text: string]>> {
    try {
      const loaded = new Map<string, Array<readonly [uid: string, text: string]>>()
      const rows = this.#database
        .prepare("SELECT name, uid, state FROM object JOIN selection ON id = selection")
        .iterate()
      for (const { name, uid, state } of rows) {
        const ofSelection = loaded.get(String(name)) ?? []
        loaded.set(String(name), ofSelection)
        ofSelection.push([String(uid), String(state)])
      }
      return loaded
    } catch (cause) {
      throw unavailable(this.#path, cause)
    }
  }

  /** In one transaction. Throws {@link CheckpointUnavailable}; then the file is as before. */
  write(unwritten: Unwritten, nowSeconds: number): void {
    try {
      this.#database.exec("BEGIN IMMEDIATE")
      for (const { selection, rows } of unwritten) {
        const id = this.#idOf(selection, nowSeconds)
        for (const [uid, text] of rows) {
          if (text === undefined) this.#remove.run(id, uid)
          else this.#put.run(id, uid, text)
        }
      }
      this.#database.exec("COMMIT")
    } catch (cause) {
      // An identifier that was given in the transaction is undone with it.
      this.#ids.clear()
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK")
      throw unavailable(this.#path, cause)
    }
  }

  /** Keeps these selections, and the file itself, from being taken for unused. Throws {@link CheckpointUnavailable}. */
  touch(selections: Iterable<string>, nowSeconds: number): void {
    try {
      const touch = this.#database.prepare("UPDATE selection SET used = ? WHERE name = ?")
      for (const name of selections) touch.run(nowSeconds, name)
      utimesSync(this.#path, nowSeconds, nowSeconds)
    } catch (cause) {
      throw unavailable(this.#path, cause)
    }
  }

  close(): void {
    this.#database.close()
  }

  #idOf(selection: string, nowSeconds: number): number {
    const known = this.#ids.get(selection)
    if (known !== undefined) return known
    const upsert =
      "INSERT INTO selection (name, used) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET used = excluded.used"
    this.#database.prepare(upsert).run(selection, nowSeconds)
    const id = Number(this.#database.prepare("SELECT id FROM selection WHERE name = ?").get(selection)?.id)
    this.#ids.set(selection, id)
    return id
  }
}

const opened = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Before anything is read: with it the log needs no shared memory, so the file may be on a network file system.
    database.exec("PRAGMA locking_mode = EXCLUSIVE")
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

const prepare = (database: DatabaseSync, { path, maximumBytes, nowSeconds }: CheckpointFileOptions): void => {
  database.exec(`
    PRAGMA page_size = ${pageBytes};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    ${maximumBytes === undefined ? "" : `PRAGMA max_page_count = ${Math.ceil(maximumBytes / pageBytes)};`}
    BEGIN IMMEDIATE;
  `)
  if (numberOf(database, "user_version") === 0)
    database.exec(`${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format};`)
  database.exec(`
    DELETE FROM object WHERE selection IN (SELECT id FROM selection WHERE used < ${nowSeconds - keptSeconds});
    DELETE FROM selection WHERE used < ${nowSeconds - keptSeconds};
    COMMIT;
  `)
  utimesSync(path, nowSeconds, nowSeconds)
}

interface FileProblem {
  /** Part of the name under which the file is set aside. */
  readonly name: string
  readonly text: string
}

/** Why an existing file cannot be used as a checkpoint, whatever is done about it; `undefined` if it can. */
const problemOf = (path: string): FileProblem | undefined => {
  const database = opened(path)
  try {
    const version = numberOf(database, "user_version")
    const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined
    if (isEmpty && version === 0) return undefined
    if (numberOf(database, "application_id") !== applicationId)
      return { name: "foreign", text: "it was not written by kubereel" }
    if (version !== format)
      return { name: `format-${version}`, text: `it has format ${version}, and this program reads ${format}` }
    const [verdict] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {})
    if (verdict !== "ok") return { name: "damaged", text: `it is damaged (${verdict})` }
    for (const { state } of database.prepare("SELECT state FROM object").iterate()) readKnown(String(state))
    return undefined
  } catch (cause) {
    const code = codeOf(cause)
    if (code !== corrupt && code !== notADatabase && !(cause instanceof SyntaxError)) throw cause
    return { name: "damaged", text: `it is damaged (${messageOf(cause)})` }
  } finally {
    database.close()
  }
}

/** With its log, which belongs to it. Returns the new path. */
const setAside = (path: string, name: string, nowSeconds: number): string => {
  const time = new Date(nowSeconds * 1000).toISOString().slice(0, 19).replaceAll(":", "")
  let aside = `${path}.${name}-${time}Z`
  for (let number = 2; existsSync(aside); number++) aside = `${path}.${name}-${time}Z-${number}`
  renameSync(path, aside)
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${aside}-wal`)
  return aside
}

const numberOf = (database: DatabaseSync, name: "application_id" | "user_version"): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name])

/** SQLite's primary result code, `undefined` if SQLite did not throw it. */
const codeOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" ? cause.errcode & 0xff : undefined

const unavailable = (path: string, cause: unknown): CheckpointUnavailable => {
  const code = codeOf(cause)
  const isFull =
    code === full || (cause instanceof Error && "code" in cause && ["ENOSPC", "EDQUOT"].includes(String(cause.code)))
  const problem = isFull ? "disk-full" : code === busy ? "in-use" : "failed"
  return new CheckpointUnavailable({ path, problem, reason: messageOf(cause) })
}
