/**
 * Reads what a stream is: which segments it has, that they are one chain, and which of them count.
 *
 * Partial segments count with the whole one that ends them. Those of a recorder that ended before it are void: the next epoch continues from the last whole one.
 *
 * Memory: the facts of each segment, some 2 KB with 50 kinds.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { fromTheBeginning, type Position } from "../../archive/index.ts"
import type { BlobStore } from "../../blob/index.ts"
import { NewerStreamError, NoStreamError, SegmentDamagedError, StreamBrokenError } from "../fleet-errors.ts"
import type { StoredSegment } from "../segment/segment-facts.ts"
import { locationOf, readSegmentEnd, type SegmentStore, segmentKey } from "../segment/segment-reader.ts"

/** The only format of streams that this program reads and writes. */
const STREAM_FORMAT = 1

export const STREAM_KEY = "stream.json"

const SEGMENTS = "segments/"

/** What a stream is of; created once. */
const StreamDescription = Schema.Struct({
  format: Schema.Literal(STREAM_FORMAT),
  /** Random id. */
  stream: Schema.String,
  /** UID of the namespace kube-system of the cluster. */
  clusterUid: Schema.String,
})
export type StreamDescription = typeof StreamDescription.Type

/** What is needed of a store to read a stream, and to begin one. */
export type StreamStore = Pick<BlobStore, "location" | "read" | "list">
export type CreatingStore = Pick<BlobStore, "location" | "read" | "list" | "create">

/** `undefined`: there is no stream. Rejects with SegmentDamagedError, NewerStreamError, or an error of the store. */
export const readDescription = async (store: SegmentStore): Promise<StreamDescription | undefined> => {
  const found = await store.read(STREAM_KEY)
  if (found === undefined) return undefined
  const location = locationOf(store, STREAM_KEY)
  const text = Buffer.from(found.bytes).toString("utf8")
  const description = Schema.decodeUnknownResult(Schema.fromJsonString(StreamDescription))(text)
  if (Result.isSuccess(description)) return description.success
  const format = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({ format: Schema.Number })))(text)
  if (Result.isSuccess(format) && format.success.format > STREAM_FORMAT)
    throw new NewerStreamError({ location, found: format.success.format, supported: STREAM_FORMAT })
  throw new SegmentDamagedError({ location, reason: "it is not what this version writes" })
}

/** The stream below this prefix, which is begun with this description if there is none. Rejects as {@link readDescription} does. */
export const beginStream = async (
  store: CreatingStore,
  description: Omit<StreamDescription, "format">,
): Promise<StreamDescription> => {
  const known = await readDescription(store)
  if (known !== undefined) return known
  const own = { format: STREAM_FORMAT, ...description } satisfies StreamDescription
  await store.create(STREAM_KEY, [Buffer.from(`${JSON.stringify(own)}\n`)])
  // Another may have begun it in that moment, or this one with an answer that was lost.
  return (await readDescription(store)) ?? own
}

/** A stream as it is now. */
interface Stream {
  readonly description: StreamDescription
  /** All, in order. */
  readonly segments: ReadonlyArray<StoredSegment>
  /** Those that count: applied in order they are the recording up to the last whole one. */
  readonly counted: ReadonlyArray<StoredSegment>
  /** The last one, whether it counts or not: the next continues its chain. `undefined`: there is none. */
  readonly last: StoredSegment | undefined
  /** Where the next epoch continues: of the last whole segment. */
  readonly position: Position
}

/** Footers that are read at once. */
const atOnce = 16

/** Reads one stream as often as it is asked for; segments that are known are not read again. */
export class StreamReader {
  readonly #store: StreamStore
  readonly #chain: SegmentChain

  constructor(store: StreamStore) {
    this.#store = store
    this.#chain = new SegmentChain(store.location)
  }

  /** Rejects with a StreamError, or an error of the store. `onSegment` takes how many of how many are known. */
  async read(onSegment?: (known: number, all: number) => void): Promise<Stream> {
    const { location } = this.#store
    const description = await readDescription(this.#store)
    if (description === undefined) throw new NoStreamError({ location })
    const numbers = await segmentNumbers(this.#store, this.#chain.segments.length)
    for (let from = 0; from < numbers.length; from += atOnce) {
      const some = numbers.slice(from, from + atOnce)
      const ends = await Promise.all(
        some.map(async (number) => [number, await readSegmentEnd(this.#store, number)] as const),
      )
      for (const [number, end] of ends) {
        if (end === undefined)
          throw brokenAt(location, number, "it was listed, and is not there; another process removes segments")
        this.#chain.add(number, { facts: end.facts, sha256: end.sha256, bytes: end.bytes }, description)
      }
      onSegment?.(from + some.length, numbers.length)
    }
    const { segments, counted, position } = this.#chain
    return { description, segments: [...segments], counted: [...counted], last: segments.at(-1), position }
  }
}

/** The numbers of the segments after that one, in order. Rejects with an error of the store. */
export const segmentNumbers = async (store: StreamStore, last: number): Promise<ReadonlyArray<number>> => {
  const numbers: number[] = []
  for await (const { key } of store.list(SEGMENTS, last === 0 ? {} : { after: segmentKey(last) })) {
    const [, digits] = /^segments\/(\d{12})\.segment$/.exec(key) ?? []
    if (digits !== undefined) numbers.push(Number(digits))
  }
  return numbers
}

const brokenAt = (location: string, number: number, reason: string): StreamBrokenError =>
  new StreamBrokenError({ location, number, reason })

/** Checks segments one after the other. */
export class SegmentChain {
  readonly #location: string
  /** A whole segment, after which it begins. */
  readonly #before: StoredSegment | undefined
  readonly segments: StoredSegment[] = []
  readonly counted: StoredSegment[] = []
  /** Partial ones that wait for a whole one. */
  #waiting: StoredSegment[] = []

  /** `before`: a whole segment that is known; `undefined`: it begins with the first. */
  constructor(location: string, before?: StoredSegment) {
    this.#location = location
    this.#before = before
  }

  get position(): Position {
    return (this.counted.at(-1) ?? this.#before)?.facts.position ?? fromTheBeginning
  }

  /** Returns whether it takes the stream over, so that partial ones before it are void. @throws StreamBrokenError if it does not continue those before */
  add(number: number, segment: StoredSegment, { stream, clusterUid }: StreamDescription): boolean {
    const { facts } = segment
    const before = this.segments.at(-1) ?? this.#before
    const expected = (before?.facts.number ?? 0) + 1
    const refuse = (reason: string): never => {
      throw brokenAt(this.#location, number, reason)
    }
    if (number !== expected)
      refuse(`segment ${expected} is missing. Restore that object from a copy, or read the stream before it`)
    if (facts.number !== number) refuse(`it says that it is segment ${facts.number}: it was copied or renamed`)
    if (facts.stream !== stream || facts.clusterUid !== clusterUid)
      refuse(`it is of stream ${facts.stream} of cluster ${facts.clusterUid}. Each cluster needs a prefix of its own`)
    if (facts.previous !== (before?.sha256 ?? ""))
      refuse("it follows another segment than the one before it: the store let two recorders write one number")
    const epoch = before?.facts.epoch ?? 0
    const isTakenOver = facts.epoch > epoch
    if (facts.epoch < epoch) refuse(`its epoch ${facts.epoch} is lower than ${epoch}, that of the segment before`)
    if (!isTakenOver && facts.owner !== before?.facts.owner)
      refuse(`its owner ${facts.owner} is not that of the segment before, in the same epoch ${epoch}`)
    const waiting = isTakenOver ? [] : this.#waiting
    const { sequence } = waiting.at(-1)?.facts.position ?? this.position
    if (facts.after !== sequence)
      refuse(`it continues after event ${facts.after}, and what is before it ends with event ${sequence}`)
    this.segments.push(segment)
    this.#waiting = [...waiting, segment]
    if (!facts.isWhole) return isTakenOver
    this.counted.push(...this.#waiting)
    this.#waiting = []
    return isTakenOver
  }
}
