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
import type { ByteRange } from "../providers/provider.ts"
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

/** The store behind it is the caller's to close. */
interface RangeCache {
  /**
   * The bytes of each range, in this order. `undefined`: there is no such object, unless pages of it are still here. Pages that are missing and adjacent
   * are one request. Rejects with the store's TargetError.
   */
  readRanges(key: string, ranges: ReadonlyArray<ByteRange>): Promise<ReadonlyArray<Uint8Array> | undefined>
}

/** Files read at once, and requests under way, for one call. */
const filesAtOnce = 16
const requestsAtOnce = 8

/** ms after which a page that is used is marked as used again: less often than each use, as it is a write to the disk. */
const touchedMs = 60_000

/** ms after which a file that was not renamed is one of a process that was killed. */
const draftMs = 3_600_000

/** Of a file: CRC-32 of its name and of what follows, 4 bytes; size of the whole object, 8 bytes; then the bytes of the page. */
const headBytes = 12

/** Trims what earlier processes left. */
export const openRangeCache = async (store: RangedStore, options: RangeCacheOptions): Promise<RangeCache> => {
  const files = new PageFiles(options)
  await files.trim()
  return new Cache(store, files, options.pageBytes ?? 256 * 1024)
}

interface Page {
  readonly bytes: Uint8Array
  /** Of the whole object. */
  readonly size: number
}

type Pages = ReadonlyMap<number, Page>

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

  async readRanges(key: string, ranges: ReadonlyArray<ByteRange>): Promise<ReadonlyArray<Uint8Array> | undefined> {
    const isOpen = (range: ByteRange): boolean => "last" in range || range.until === undefined
    let pages = new Map<number, Page>()
    let size = (await this.#files.read(this.#name(key, "size")))?.size
    if (size === undefined && ranges.some(isOpen)) {
      const tail = await this.#readTail(key, Math.max(0, ...ranges.map((range) => ("last" in range ? range.last : 0))))
      if (tail === undefined) return undefined
      pages = tail.pages
      size = tail.size
    }
    const limits = ranges.map((range) => limitsIn(range, size ?? Number.POSITIVE_INFINITY))
    const wanted = new Set<number>()
    for (const { from, until } of limits)
      for (let page = Math.floor(from / this.#pageBytes); page * this.#pageBytes < until; page++)
        if (!pages.has(page)) wanted.add(page)
    if (!(await this.#load(key, [...wanted], pages))) return undefined
    return limits.map(({ from, until }) => {
      const first = Math.floor(from / this.#pageBytes)
      const pieces: Uint8Array[] = []
      for (let page = first; page * this.#pageBytes < until; page++) pieces.push(pages.get(page)?.bytes ?? none)
      return joined(pieces).subarray(from - first * this.#pageBytes, until - first * this.#pageBytes)
    })
  }

  #name(key: string, page: number | "size"): string {
    const object = createHash("sha256").update(`${this.#store.location}\n${this.#pageBytes}\n${key}`).digest("hex")
    return `${object.slice(0, 40)}-${page}`
  }

  /** Adds pages of an object, from files or from the store; those past its end have no bytes. False: there is no such object. */
  async #load(key: string, wanted: ReadonlyArray<number>, pages: Map<number, Page>): Promise<boolean> {
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
    return !arrived.includes(undefined)
  }

  async #request(key: string, first: number, last: number): Promise<Pages | undefined> {
    const from = first * this.#pageBytes
    const found = await this.#store.read(key, { from, until: (last + 1) * this.#pageBytes })
    return found && this.#keep(key, from, found)
  }

  /** The last bytes of an object of unknown size, as far as they are whole pages, and its size. */
  async #readTail(key: string, bytes: number): Promise<{ pages: Map<number, Page>; size: number } | undefined> {
    const found = await this.#store.read(key, { last: bytes + this.#pageBytes })
    if (found === undefined) return undefined
    const from = found.size - found.bytes.length
    const whole = Math.ceil(from / this.#pageBytes) * this.#pageBytes
    const kept = { bytes: found.bytes.subarray(whole - from), size: found.size }
    return { pages: await this.#keep(key, whole, kept), size: found.size }
  }

  /** Writes what was read from the beginning of a page on as pages. */
  async #keep(key: string, from: number, { bytes, size }: Page): Promise<Map<number, Page>> {
    const pages = new Map<number, Page>()
    for (let at = 0; at < bytes.length; at += this.#pageBytes)
      pages.set((from + at) / this.#pageBytes, { bytes: bytes.subarray(at, at + this.#pageBytes), size })
    await this.#files.write(this.#name(key, "size"), { bytes: none, size })
    await inParallel([...pages], filesAtOnce, ([page, found]) => this.#files.write(this.#name(key, page), found))
    return pages
  }
}

const none = new Uint8Array(0)

const limitsIn = (range: ByteRange, size: number): { readonly from: number; readonly until: number } =>
  "last" in range
    ? { from: Math.max(0, size - range.last), until: size }
    : { from: range.from, until: Math.min(size, range.until ?? size) }

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

  async read(name: string): Promise<Page | undefined> {
    const file = await this.#report(`read ${name}`, () => readFile(join(this.#directory, name)))
    if (file === undefined) return undefined
    if (file.length < headBytes || file.readUInt32LE(0) !== checksum(name, file.subarray(4))) {
      this.#onTrouble(`${join(this.#directory, name)} is damaged; its page is requested again`)
      return undefined
    }
    await this.#touch(name)
    return { bytes: file.subarray(headBytes), size: file.readDoubleLE(4) }
  }

  async write(name: string, { bytes, size }: Page): Promise<void> {
    const head = Buffer.alloc(headBytes)
    head.writeDoubleLE(size, 4)
    const file = Buffer.concat([head, bytes])
    file.writeUInt32LE(checksum(name, file.subarray(4)))
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

const checksum = (name: string, rest: Uint8Array): number => crc32(rest, crc32(name))
