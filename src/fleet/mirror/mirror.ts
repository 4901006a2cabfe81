/**
 * A **mirror** of a stream: a data directory that every reader of recordings reads, live up to the last segment.
 *
 * Its database has all rows of the stream, applied segment by segment, for which the end of each segment is read once. Large BLOBs stay in the store, and
 * are read when a question needs them (blob-fetcher.ts). Nothing in it is of value: it can be removed at any time, and is then made anew.
 *
 * Several processes may use one at once: one of them brings it up to date, and all read it meanwhile.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import {
  DirectoryInUseError,
  isArchiveError,
  MIRROR_KEY,
  provideBlobSource,
  RecordingMirror,
  readKeptText,
} from "../../archive/index.ts"
import { addressUrl, openStore, readStorePlace } from "../../blob/index.ts"
import { type Clock, systemClock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { StreamBrokenError, StreamChangedError } from "../fleet-errors.ts"
import { markBehind, type StreamMark } from "../segment/segment-facts.ts"
import { STREAM_KEY, type StreamStore } from "../stream/stream-description.ts"
import { StreamReader } from "../stream/stream-reader.ts"
import { threadsFetcher } from "./blob-fetcher.ts"
import {
  type CachePlace,
  cachePlace,
  type MirrorOrigin,
  mirrorDirectory,
  readOrigin,
  stale,
  trimMirrors,
  writeOrigin,
} from "./mirror-places.ts"

interface MirrorOptions {
  /** Default: that of the environment. */
  readonly cache?: CachePlace
  /** ms for which what is known of the store counts as new, default 20,000: recorders write so often. */
  readonly everyMs?: number
  /** BLOBs up to this size are kept with the rows with which they came: they are not worth a request of their own. Default 4 KiB. */
  readonly keptBytes?: number
  /** Takes what a person should know, a line each: how old the answers are if the store cannot be read, and how far a new mirror is. */
  readonly say?: (line: string) => void
  readonly clock?: Clock
  readonly signal?: AbortSignal
}

/** Behind the last whole segment that was applied, kept with its rows. */
const Mark = Schema.fromJsonString(Schema.Struct({ number: Schema.Number, sha256: Schema.String }))
const encodeMark = Schema.encodeSync(Mark)
const decodeMark = Schema.decodeUnknownOption(Mark)

/** Of {@link MirrorOptions.keptBytes}. */
const keptBytes = 4096

/** Segments after which a person is told how far it is. */
const toldSegments = 800

/** ms between two looks whether another process has finished. */
const lookMs = 250

/** ms to wait for a process that brings a whole mirror up to date; then it is read as it is. */
const patienceMs = 30_000

/** A prefix in an object store, or a directory, as `readStorePlace` reads it. */
type StorePlace = Parameters<typeof openStore>[0]

/** ms for which a request is sent again. */
const storePatienceMs = 10_000

/**
 * The mirror of the stream at an address, up to its last whole segment: `s3://BUCKET/PREFIX`, `gs://`, `azure://`, `file:` or the path of a directory. If the stream
 * cannot be read, what is there counts, and `say` takes how old that is.
 *
 * Rejects with a StreamError, an ArchiveError or a TargetError if nothing is there, and with an Error if it is no address.
 */
export const openMirror = async (address: string | StorePlace, options: MirrorOptions = {}): Promise<Mirror> => {
  const reading = typeof address === "string" ? readStorePlace(address) : { tag: "place" as const, place: address }
  if (reading.tag === "refused") throw new Error(`${reading.path}: ${reading.reason}`)
  const mirror = new Mirror(await openStore(reading.place, { patienceMs: storePatienceMs }), options)
  try {
    await mirror.update()
    return mirror
  } catch (error) {
    mirror.close()
    throw error
  }
}

/** Whether there is a stream at an address, or a mirror of one. What cannot be read is taken for none: there may be a right to read one object only. */
export const isStream = async (place: StorePlace, cache: CachePlace = cachePlace(process.env)): Promise<boolean> => {
  // An address at which nothing was found has an origin as well.
  if (readOrigin(mirrorDirectory(cache, addressUrl(place)))?.stream) return true
  const store = await openStore(place, { patienceMs: storePatienceMs }).catch(() => undefined)
  const found = await store?.read(STREAM_KEY).catch(() => undefined)
  store?.close()
  return found !== undefined
}

type MirroredStore = StreamStore & { readonly close?: () => void }

/** One mirror; {@link openMirror} makes one that can be read. */
export class Mirror {
  /** A data directory; it may grow at any time. */
  readonly directory: string
  readonly #store: MirroredStore
  readonly #options: MirrorOptions
  readonly #cache: CachePlace
  readonly #clock: Clock
  #updating: Promise<boolean> | undefined
  /** When the store was last asked here. */
  #askedMs = Number.NEGATIVE_INFINITY
  /** Has read up to the segment with the hash `#applied`. */
  #stream: StreamReader | undefined
  #applied: string | undefined

  /** From now on this thread can read it. */
  constructor(store: MirroredStore, options: MirrorOptions = {}) {
    this.#store = store
    this.#options = options
    this.#cache = options.cache ?? cachePlace(process.env)
    this.#clock = options.clock ?? systemClock
    this.directory = mirrorDirectory(this.#cache, store.location)
    provideBlobSource(threadsFetcher())
  }

  get #everyMs(): number {
    return this.#options.everyMs ?? 20_000
  }

  /** Has it reach up to the last whole segment, unless it did a moment ago. Returns whether it may have grown since the last call: false if this one asked nobody. Rejects as {@link openMirror} does. */
  update(): Promise<boolean> {
    const isNew = this.#clock.monotonicMs() - this.#askedMs < this.#everyMs
    // A reader may have found that an object is gone, and the mirror may have been removed.
    if (isNew && (readOrigin(this.directory)?.checked ?? 0) > 0) return Promise.resolve(false)
    this.#updating ??= this.#update().finally(() => {
      this.#updating = undefined
    })
    return this.#updating
  }

  /** Ends requests to the store. What is there can be read further on. */
  close(): void {
    this.#store.close?.()
  }

  async #update(): Promise<boolean> {
    const now = this.#clock.wallMicros()
    const { checked } = this.#note()
    // Another process may have asked.
    if (Math.abs(now - checked) < this.#everyMs * 1000) return true
    const sayAge = (reason: string): void => {
      const age = Math.round((now - checked) / 1_000_000)
      this.#options.say?.(`answers are from a copy of the stream's rows that is ${age} s old: ${reason}`)
    }
    try {
      if (await this.#catchUp(checked > 0)) this.#note({ checked: now })
      else sayAge("another process is bringing it up to date")
      trimMirrors(this.#cache, this.directory, now / 1000)
    } catch (error) {
      this.#options.signal?.throwIfAborted()
      // What is there may be a beginning only.
      if (checked <= 0 || readOrigin(this.directory)?.checked === 0) throw error
      sayAge(messageOf(error))
    }
    this.#askedMs = this.#clock.monotonicMs()
    return true
  }

  /** Writes down what is new, and that it is in use. */
  #note(more: Partial<MirrorOrigin> = {}): MirrorOrigin {
    const { directory, maximumBytes } = this.#cache
    const known = readOrigin(this.directory) ?? { stream: "", checked: 0 }
    const place = { location: this.#store.location, ranges: `${directory}/ranges`, maximumBytes }
    const origin = { ...known, ...place, ...more }
    writeOrigin(this.directory, origin)
    return origin
  }

  /** Returns whether it did; false: another process is doing it. */
  async #catchUp(isWhole: boolean): Promise<boolean> {
    const writer = await this.#writer(isWhole)
    if (writer === undefined) return false
    try {
      // The process that held it may have read everything again.
      const isStale = readOrigin(this.directory)?.checked === stale
      await this.#apply(writer, isStale).catch((error: unknown) => {
        // What is known is no part of the stream any more: it was compacted, or another one took its place.
        if (!(error instanceof StreamChangedError || error instanceof StreamBrokenError)) throw error
        writer.giveUp()
        return this.#apply(writer, isStale)
      })
      return true
    } finally {
      writer.close()
    }
  }

  /**
   * Applies what is behind the last segment that was applied; everything, in place of what is there, if the stream does not have that. Then what is there is
   * read until all is. Where nothing is, each whole segment is kept, so that the next process goes on behind it, and none reads it before all is there.
   */
  async #apply(writer: RecordingMirror, isStale: boolean): Promise<void> {
    const found = readMark(this.directory)
    const known = isStale ? undefined : found
    let stream = this.#applied === known?.sha256 ? this.#stream : undefined
    // It is not used again after an error.
    this.#stream = undefined
    if (stream === undefined) {
      stream = await StreamReader.open(this.#store, {
        behind: known,
        signal: this.#options.signal,
        needsRowsAlone: true,
      })
      this.#note({ stream: stream.description.stream })
      if (stream.behind === undefined) writer.beginAnew()
      if (found === undefined) {
        this.#note({ checked: 0 })
        writer.endAnew()
      }
    }
    let segments = 0
    for await (const segment of stream.segments()) {
      const { number, sha256 } = markBehind(segment)
      const rows = await segment.rowsAlone(this.#options.keptBytes ?? keptBytes, this.#options.signal)
      if (rows === undefined) throw new StreamChangedError({ location: this.#store.location })
      writer.apply(segment.facts, rows, encodeMark({ number, sha256 }))
      this.#applied = sha256
      if (++segments % toldSegments === 0) this.#options.say?.(`read the rows of ${segments} segments`)
    }
    writer.endAnew()
    this.#stream = stream
  }

  /** `undefined`: another process is bringing it up to date, and it can be read meanwhile. */
  async #writer(isWhole: boolean): Promise<RecordingMirror | undefined> {
    for (let waited = 0; ; waited += lookMs) {
      this.#options.signal?.throwIfAborted()
      try {
        return new RecordingMirror(this.directory)
      } catch (error) {
        if (!(error instanceof DirectoryInUseError)) throw error
      }
      if (isWhole && waited >= patienceMs) return undefined
      await new Promise<void>((resolve) => this.#clock.after(lookMs, resolve))
    }
  }
}

/** `undefined`: nothing is there, or it cannot be read. */
const readMark = (directory: string): StreamMark | undefined => {
  try {
    return Option.getOrUndefined(decodeMark(readKeptText(directory, MIRROR_KEY)))
  } catch (error) {
    if (!isArchiveError(error)) throw error
    return undefined
  }
}
