/**
 * Reads BLOBs of mirrors through the cache of ranges.
 *
 * What is expected is fetched ahead, so that a question about hundreds of blocks does not wait for hundreds of requests one after the other. Memory: one BLOB
 * for each request under way.
 */
import type { FarBlob } from "../../archive/index.ts"
import { type BlobStore, openRangeCache, openStore, readStorePlace, TargetError } from "../../blob/index.ts"
import { messageOf } from "../../message-of.ts"
import { locationOf } from "../segment/segment-reader.ts"
import type { FetchAnswer } from "./blob-fetcher.ts"
import { type MirrorOrigin, markStale, readOrigin } from "./mirror-places.ts"

/** Bytes of a page: tables of contents have some 10 to 100 KB, and objects of a block some hundred. */
const pageBytes = 64 * 1024

/** ms for which a request is sent again: a question waits, and what is in the mirror can be asked for without the store. */
const patienceMs = 10_000

/** BLOBs that are fetched ahead at once. */
const aheadAtOnce = 16

/** BLOBs that may wait for that; those that were expected longest ago are forgotten. */
const mostExpected = 256

type Ranges = Awaited<ReturnType<typeof openRangeCache>>

type ReadStore = Pick<BlobStore, "location" | "read">

interface Opened {
  readonly store: ReadStore
  readonly ranges: Ranges
}

const openOrigin = ({ location }: MirrorOrigin): Promise<ReadStore> => {
  const reading = readStorePlace(location)
  return reading.tag === "refused"
    ? Promise.reject(new Error(reading.message))
    : openStore(reading.place, { patienceMs })
}

export class RangeFetcher {
  readonly #open: (origin: MirrorOrigin) => Promise<ReadStore>
  /** By the directory of the mirror and its stream. */
  readonly #opened = new Map<string, Promise<Opened>>()
  #expected: Array<readonly [directory: string, blob: FarBlob]> = []
  #ahead = 0

  /** `open`: default, the store at the address. */
  constructor(open: (origin: MirrorOrigin) => Promise<ReadStore> = openOrigin) {
    this.#open = open
  }

  async read(directory: string, blob: FarBlob): Promise<FetchAnswer> {
    let location = blob.key
    try {
      const { store, ranges } = await this.#of(directory)
      location = locationOf(store, blob.key)
      const [bytes] = (await ranges.readRanges(blob.key, [{ from: blob.at, until: blob.at + blob.bytes }])) ?? []
      if (bytes !== undefined) return { bytes }
      markStale(directory)
      return { location, reason: "it is not there any more: segments were compacted or removed meanwhile. Ask again" }
    } catch (error) {
      return { location, reason: error instanceof TargetError ? error.message : messageOf(error) }
    }
  }

  expect(directory: string, blobs: ReadonlyArray<FarBlob>): void {
    this.#expected.push(...blobs.map((blob) => [directory, blob] as const))
    this.#expected = this.#expected.slice(-mostExpected)
    while (this.#ahead < aheadAtOnce && this.#expected.length > 0) void this.#fetchAhead()
  }

  async #fetchAhead(): Promise<void> {
    this.#ahead++
    // Whoever reads it is told what is wrong.
    for (let next = this.#expected.shift(); next !== undefined; next = this.#expected.shift()) await this.read(...next)
    this.#ahead--
  }

  #of(directory: string): Promise<Opened> {
    const origin = readOrigin(directory)
    if (origin === undefined) return Promise.reject(new Error(`${directory} does not say what it is a mirror of`))
    const name = `${directory} ${origin.stream}`
    const known = this.#opened.get(name)
    if (known !== undefined) return known
    const opening = this.#openOf(origin)
    this.#opened.set(name, opening)
    // It is tried again.
    opening.catch(() => this.#opened.delete(name))
    return opening
  }

  async #openOf(origin: MirrorOrigin): Promise<Opened> {
    const store = await this.#open(origin)
    const { stream, ranges: directory, maximumBytes } = origin
    // What was read of another stream at this address is not this one's.
    const ofStream = { location: `${store.location} ${stream}`, read: store.read.bind(store) }
    // A page that cannot be kept is requested again.
    const options = { directory, maximumBytes, pageBytes, onTrouble: () => undefined }
    return { store, ranges: await openRangeCache(ofStream, options) }
  }
}
