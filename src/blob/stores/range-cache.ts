/**
 * Ranges of immutable objects, kept on disk: a reader that asks many small questions about large objects requests each page of them once.
 *
 * Guaranteed: what is returned are the bytes of the object. A file that is torn or damaged has a wrong checksum, and its page is requested again. The
 * directory is bounded by bytes, the pages used least recently go first; each process may exceed the bound by a sixteenth of it. Several processes may
 * share the directory, for one store or for several: a file is written under another name and then renamed. Trouble with the disk costs requests, not
 * answers, and is reported. Not for objects that are replaced.
 */
import { createHash, randomUUID } from "node:crypto"
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { crc32 } from "node:zlib"
import { type Clock, systemClock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { inParallel, joined } from "../requests/requests.ts"
import { hasCode } from "../requests/target-error.ts"
import type { BlobStore } from "./open-store.ts"

export interface RangeCacheOptions {
  /** Is made if it does not exist, for this user only. */
  readonly directory: string
  /** Default 1 GiB. */
  readonly maximumBytes?: number
  /** 64 KiB to 1 MiB, default 256 KiB. Readers with other pages do not find each other's. */
  readonly pageBytes?: number
  /** The disk could not be used; called for each failure. */
  readonly onTrouble: (message: string) => void
  readonly clock?: Clock
}

/** What is read. Stores with one location have the same objects. */
type RangedStore = Pick<BlobStore, "location" | "read">

/** From a byte on, up to before another. */
interface Range {
  readonly from: number
  readonly until: number
}

/** The store behind it is the caller's to close. */
interface RangeCache {
  /**
   * The bytes of each range, in this order, without what lies past the object's end. `undefined`: there is no such object, unless pages of it are still here.
   * Pages that are missing and adjacent are one request. Rejects with the store's TargetError.
   */
  readRanges(key: string, ranges: ReadonlyArray<Range>): Promise<ReadonlyArray<Uint8Array> | undefined>
}

/** Files read at once, and requests under way, for one call. */
const filesAtOnce = 16
const requestsAtOnce = 8

/** ms after which a page that is used is marked as used again: less often than each use, as it is a write to the disk. */
const touchedMs = 60_000

/** ms after which a file that was not renamed is one of a process that was killed. */
const draftMs = 3_600_000

/** Of a file: CRC-32 of its name and of what follows, which are the bytes of the page. */
const headBytes = 4

/** Trims what earlier processes left. */
export const openRangeCache = async (store: RangedStore, options: RangeCacheOptions): Promise<RangeCache> => {
  const files = new PageFiles(options)
  await files.trim()
  return new Cache(store, files, options.pageBytes ?? 256 * 1024)
}

/** By their numbers; those past the object's end have no bytes. */
type Pages = ReadonlyMap<number, Uint8Array>

class Cache implements RangeCache {
  readonly #store: RangedStore
  readonly #files: PageFiles
  readonly #pageBytes: number
  /** Requests under way, by each page that they bring: two questions at once request a page once. */
  readonly #coming = new Map<string, Promise<Pages | undefined>>()

  constructor(store: RangedStore, files: PageFiles, pageBytes: number) {
    this.#store = store
    this.#files = files
    this.#pageBytes = pageBytes
  }

  async readRanges(key: string, ranges: ReadonlyArray<Range>): Promise<ReadonlyArray<Uint8Array> | undefined> {
    const wanted = new Set<number>()
    for (const { from, until } of ranges)
      for (let page = Math.floor(from / this.#pageBytes); page * this.#pageBytes < until; page++) wanted.add(page)
    const pages = await this.#load(key, [...wanted])
    return (
      pages &&
      ranges.map(({ from, until }) => {
        const first = Math.floor(from / this.#pageBytes)
        const pieces: Uint8Array[] = []
        for (let page = first; page * this.#pageBytes < until; page++) pieces.push(pages.get(page) ?? none)
        return joined(pieces).subarray(from - first * this.#pageBytes, until - first * this.#pageBytes)
      })
    )
  }

  #name(key: string, page: number): string {
    const object = createHash("sha256").update(`${this.#store.location}\n${key}\n${this.#pageBytes}`).digest("hex")
    return `${object.slice(0, 40)}-${page}`
  }

  /** From files or from the store. `undefined`: there is no such object. */
  async #load(key: string, wanted: ReadonlyArray<number>): Promise<Pages | undefined> {
    const pages = new Map<number, Uint8Array>()
    const missing: number[] = []
    await inParallel(wanted, filesAtOnce, async (page) => {
      const found = await this.#files.read(this.#name(key, page))
      if (found === undefined) missing.push(page)
      else pages.set(page, found)
    })
    const coming = missing.flatMap((page) => this.#coming.get(this.#name(key, page)) ?? [])
    const ours = missing.filter((page) => !this.#coming.has(this.#name(key, page))).sort((one, other) => one - other)
    const runs: Array<{ readonly first: number; last: number }> = []
    for (const page of ours) {
      const run = runs.at(-1)
      if (run?.last === page - 1) run.last = page
      else runs.push({ first: page, last: page })
    }
    const arrived: Array<Pages | undefined> = []
    await inParallel(runs, requestsAtOnce, async (run) => {
      const names = Array.from({ length: run.last + 1 - run.first }, (_, index) => this.#name(key, run.first + index))
      const request = this.#request(key, run.first, run.last)
      for (const name of names) this.#coming.set(name, request)
      try {
        arrived.push(await request)
      } finally {
        for (const name of names) this.#coming.delete(name)
      }
    })
    arrived.push(...(await Promise.all(coming)))
    for (const part of arrived) for (const [page, found] of part ?? []) pages.set(page, found)
    return arrived.includes(undefined) ? undefined : pages
  }

  /** Pages one behind the other, which are also kept. */
  async #request(key: string, first: number, last: number): Promise<Pages | undefined> {
    const from = first * this.#pageBytes
    const found = await this.#store.read(key, { from, until: (last + 1) * this.#pageBytes })
    if (found === undefined) return undefined
    const pages = new Map<number, Uint8Array>()
    for (let at = 0; at < found.bytes.length; at += this.#pageBytes)
      pages.set((from + at) / this.#pageBytes, found.bytes.subarray(at, at + this.#pageBytes))
    await inParallel([...pages], filesAtOnce, ([page, bytes]) => this.#files.write(this.#name(key, page), bytes))
    return pages
  }
}

const none = new Uint8Array(0)

/** The files of a directory, of all stores that use it. No call rejects: trouble is reported. */
class PageFiles {
  readonly #directory: string
  readonly #maximumBytes: number
  readonly #clock: Clock
  readonly #onTrouble: (message: string) => void
  /** Since the directory was trimmed last. */
  #written = 0
  /** Names of files that were marked as used since {@link #touchedAt}. */
  readonly #touched = new Set<string>()
  #touchedAt: number

  constructor({ directory, maximumBytes = 1024 ** 3, clock = systemClock, onTrouble }: RangeCacheOptions) {
    this.#directory = directory
    this.#maximumBytes = maximumBytes
    this.#clock = clock
    this.#onTrouble = onTrouble
    this.#touchedAt = clock.monotonicMs()
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    const file = await this.#report(`read ${name}`, () => readFile(join(this.#directory, name)))
    if (file === undefined) return undefined
    if (file.length < headBytes || file.readUInt32LE(0) !== checksum(name, file.subarray(headBytes))) {
      this.#onTrouble(`${join(this.#directory, name)} is damaged; its page is requested again`)
      return undefined
    }
    await this.#touch(name)
    return file.subarray(headBytes)
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    const file = Buffer.concat([Buffer.alloc(headBytes), bytes])
    file.writeUInt32LE(checksum(name, bytes))
    const draft = join(this.#directory, `${name}.${randomUUID()}.draft`)
    await this.#report(`write ${name}`, async () => {
      try {
        await writeFile(draft, file, { mode: 0o600 })
        await rename(draft, join(this.#directory, name))
      } finally {
        await rm(draft, { force: true })
      }
    })
    this.#written += file.length
    if (this.#written * 16 > this.#maximumBytes) await this.trim()
  }

  /** Removes the pages used least recently until a sixteenth of the bound is free, which may then be written. */
  async trim(): Promise<void> {
    this.#written = 0
    await this.#report("trim it", async () => {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 })
      const found: Array<{ readonly path: string; readonly bytes: number; readonly usedMs: number }> = []
      await inParallel(await readdir(this.#directory), filesAtOnce, async (name) => {
        const path = join(this.#directory, name)
        const file = await this.#report(`look at ${name}`, () => stat(path))
        if (file?.isFile()) found.push({ path, bytes: file.size, usedMs: file.mtimeMs })
      })
      let total = found.reduce((sum, { bytes }) => sum + bytes, 0)
      const oldest = this.#clock.wallMicros() / 1000 - draftMs
      for (const { path, bytes, usedMs } of found.sort((one, other) => one.usedMs - other.usedMs)) {
        const isLeft = path.endsWith(".draft") && usedMs < oldest
        if (total <= (this.#maximumBytes * 15) / 16 && !isLeft) continue
        await rm(path, { force: true })
        total -= bytes
      }
    })
  }

  async #touch(name: string): Promise<void> {
    const now = this.#clock.monotonicMs()
    if (now - this.#touchedAt > touchedMs) {
      this.#touched.clear()
      this.#touchedAt = now
    }
    if (this.#touched.has(name)) return
    this.#touched.add(name)
    const time = this.#clock.wallMicros() / 1_000_000
    await this.#report(`mark ${name} as used`, () => utimes(join(this.#directory, name), time, time))
  }

  /** `undefined` if the file is gone, which another process may have removed, or if there was trouble. */
  async #report<A>(what: string, work: () => Promise<A>): Promise<A | undefined> {
    try {
      return await work()
    } catch (cause) {
      if (!hasCode(cause, "ENOENT"))
        this.#onTrouble(`the cache ${this.#directory}: cannot ${what}: ${messageOf(cause)}`)
      return undefined
    }
  }
}

const checksum = (name: string, bytes: Uint8Array): number => crc32(bytes, crc32(name))
