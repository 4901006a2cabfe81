/**
 * Reads a stream: segment after segment, those that count, and checks that all of them are one chain.
 *
 * Partial segments count with the whole one that ends them. Those of a recorder that ended before it are void: the next epoch continues from the last whole one.
 * Segments that were compacted away are not read, but what replaces them.
 *
 * Memory does not grow with the stream: the ends of 32 segments, 256 KiB each at most, and a key and a hash of each partial segment that waits for its whole one.
 */
import { fromTheBeginning, type Position } from "../../archive/index.ts"
import { NoStreamError, SegmentDamagedError, StreamBrokenError, StreamChangedError } from "../fleet-errors.ts"
import { markBehind, type StoredSegment, type StreamMark } from "../segment/segment-facts.ts"
import { openSegment, type ReadableSegment, segmentKey } from "../segment/segment-reader.ts"
import { type CompactedObject, type Manifest, readManifest } from "./manifest.ts"
import { readDescription, type StreamDescription, type StreamStore } from "./stream-description.ts"

const SEGMENTS = "segments/"

/** Ends of segments that are read at once, while what was read before is taken. */
const atOnce = 16

/** Where one object of a stream is, and which segments it is or replaces. */
interface Place {
  readonly key: string
  readonly from: number
  readonly through: number
  /** If it is known. */
  readonly sha256?: string
  /** If it was read already. */
  readonly segment?: ReadableSegment
}

type Rows = NonNullable<CompactedObject["rows"]>

type Placed = readonly [place: Place, segment: ReadableSegment]

interface Opening {
  /** The mark behind a segment that was yielded by a reader before. */
  readonly behind?: StreamMark | undefined
  /** Ends everything that is read. */
  readonly signal?: AbortSignal | undefined
  /** Only `rowsAlone` of segments is asked for: of compacted ones that are one range, what has the rows of all is yielded. Default false. */
  readonly needsRowsAlone?: boolean
}

/** Reads one stream forward, from its beginning or from behind a mark. */
export class StreamReader {
  readonly description: StreamDescription
  /** Where reading began. `undefined`: at the beginning, because no mark was given, or the stream does not have it, or not any more. */
  readonly behind: StreamMark | undefined
  readonly #store: StreamStore
  readonly #signal: AbortSignal | undefined
  readonly #chain: SegmentChain
  readonly #needsRowsAlone: boolean

  private constructor(
    store: StreamStore,
    description: StreamDescription,
    before: StoredSegment | undefined,
    { behind, signal, needsRowsAlone = false }: Opening,
  ) {
    this.#store = store
    this.#signal = signal
    this.#needsRowsAlone = needsRowsAlone
    this.description = description
    this.behind = behind
    this.#chain = new SegmentChain(store.location, description, before)
  }

  /**
   * Rejects with a StreamError, or an error of the store.
   */
  static async open(store: StreamStore, opening: Opening = {}): Promise<StreamReader> {
    const { behind, signal } = opening
    const description = await readDescription(store)
    if (description === undefined) throw new NoStreamError({ location: store.location })
    const before = behind && (await segmentBefore(store, behind, signal))
    return new StreamReader(store, description, before, { ...opening, behind: before && behind })
  }

  /** The last segment that was read, also if it does not count: the next one continues the chain behind it. `undefined`: there is none. */
  get last(): StoredSegment | undefined {
    return this.#chain.last
  }

  /** Where the next epoch continues: of the last whole segment that was yielded. */
  get position(): Position {
    return this.#chain.position
  }

  /**
   * Yields the segments that count, in order, up to those that are there now. After it has ended, it may be called again for what was added since.
   *
   * Rejects with a StreamError, or an error of the store; with StreamChangedError if what was to be read has been compacted away.
   */
  async *segments(): AsyncGenerator<ReadableSegment, void, void> {
    const manifest = await readManifest(this.#store)
    try {
      for await (const [place, segment] of this.#opened(this.#placesIn(manifest))) {
        const parts = this.#chain.add(place, segment)
        if (parts === undefined) continue
        for await (const [, part] of this.#opened(parts)) yield part
        yield segment
      }
    } catch (error) {
      if (!(error instanceof StreamBrokenError)) throw error
      const { number } = await readManifest(this.#store)
      throw number > manifest.number ? new StreamChangedError({ location: this.#store.location }) : error
    }
  }

  /** What is behind the last segment that was read. */
  async *#placesIn({ compactedThrough, compacted }: Manifest): AsyncGenerator<Place, void, void> {
    const last = this.last?.facts.number ?? 0
    const isLast = ({ sha256 }: Rows | CompactedObject): boolean => sha256 === this.last?.sha256
    const read = compacted.findIndex((each) => isLast(each) || (each.rows !== undefined && isLast(each.rows)))
    /** Objects up to a whole one, which replace segments together: the numbers of those before it say nothing of what they replace. */
    let range: Place[] = []
    for (const { key, from, through, sha256, isWhole, rows } of compacted.slice(read + 1)) {
      range.push({ key, from, through, sha256 })
      if (!isWhole) continue
      const isBehind = read >= 0 || (range[0]?.from ?? from) > last
      if (!isBehind && through > last) throw new StreamChangedError({ location: this.#store.location })
      const alone = isBehind && this.#needsRowsAlone && rows && (await this.#rowsAlone(range, rows))
      if (isBehind) yield* alone ? [alone] : range
      range = []
    }
    const options = {
      after: segmentKey(Math.max(last, compactedThrough)),
      ...(this.#signal && { signal: this.#signal }),
    }
    for await (const { key } of this.#store.list(SEGMENTS, options)) {
      const number = Number(/^segments\/(\d{12})\.segment$/.exec(key)?.[1] ?? Number.NaN)
      if (!Number.isNaN(number)) yield { key, from: number, through: number }
    }
  }

  /** What has the rows of a range, which are read once; `undefined`: it is not there as it was written, and what it has is in the range. */
  async #rowsAlone([first]: ReadonlyArray<Place>, rows: Rows): Promise<Place | undefined> {
    try {
      const segment = await openSegment(this.#store, rows.key, this.#signal)
      const found = await segment?.rows(this.#signal)
      if (first === undefined || segment?.sha256 !== rows.sha256 || found === undefined) return undefined
      const place = { key: rows.key, from: first.from, through: segment.facts.number, sha256: rows.sha256 }
      return { ...place, segment: { ...segment, rowsAlone: () => Promise.resolve(found) } }
    } catch (error) {
      if (!(error instanceof SegmentDamagedError)) throw error
      return undefined
    }
  }

  async *#opened(places: AsyncIterable<Place> | Iterable<Place>): AsyncGenerator<Placed, void, void> {
    const ahead: Array<Promise<Placed>> = []
    for await (const place of places) {
      const opening = this.#open(place)
      // Its error is thrown when its turn comes, or never if an earlier one is.
      opening.catch(() => undefined)
      ahead.push(opening)
      const first = ahead.length < atOnce ? undefined : ahead.shift()
      if (first !== undefined) yield await first
    }
    for (const opening of ahead) yield await opening
  }

  async #open(place: Place): Promise<Placed> {
    const segment = place.segment ?? (await openSegment(this.#store, place.key, this.#signal))
    if (segment === undefined || (place.sha256 !== undefined && place.sha256 !== segment.sha256)) {
      const reason = `${place.key} was ${segment === undefined ? "removed" : "replaced by another object"}`
      throw new StreamBrokenError({ location: this.#store.location, number: place.through, reason })
    }
    return [place, segment]
  }
}

/** The segment with this mark behind it; `undefined`: the stream does not have it, or not any more. */
const segmentBefore = async (
  store: StreamStore,
  mark: StreamMark,
  signal: AbortSignal | undefined,
): Promise<StoredSegment | undefined> => {
  const { compactedThrough, compacted } = await readManifest(store)
  const object = compacted.find(({ through }) => through === mark.number)
  // Within what was compacted, nothing is known to continue there.
  if (object === undefined && mark.number <= compactedThrough) return undefined
  const key = object?.key ?? segmentKey(mark.number)
  const found = await openSegment(store, key, signal)
  return found !== undefined && markBehind(found).sha256 === mark.sha256 ? found : undefined
}

/** Checks segments one after the other. */
class SegmentChain {
  readonly #location: string
  readonly #description: StreamDescription
  last: StoredSegment | undefined
  /** Behind the last one that counts. */
  position: Position
  /** Partial ones that wait for a whole one. */
  #waiting: Place[] = []

  constructor(location: string, description: StreamDescription, before: StoredSegment | undefined) {
    this.#location = location
    this.#description = description
    this.last = before
    this.position = before?.facts.position ?? fromTheBeginning
  }

  /** Returns the partial ones that count with it; `undefined`: it is a partial one. @throws StreamBrokenError if it does not continue those before */
  add({ key, from, through }: Place, { facts, sha256, bytes }: StoredSegment): ReadonlyArray<Place> | undefined {
    const { stream, clusterUid } = this.#description
    const before = this.last
    const refuse = (reason: string): never => {
      throw new StreamBrokenError({ location: this.#location, number: from, reason })
    }
    const next = (before?.facts.number ?? 0) + 1
    if (from !== next)
      refuse(`segment ${next} is missing. Restore that object from a copy, or read the stream before it`)
    if (facts.number !== through || (facts.replaces?.from ?? facts.number) !== from)
      refuse(`it says that it is segment ${facts.number}: it was copied or renamed`)
    if (facts.stream !== stream || facts.clusterUid !== clusterUid)
      refuse(`it is of stream ${facts.stream} of cluster ${facts.clusterUid}. Each cluster needs a prefix of its own`)
    if (facts.previous !== (before === undefined ? "" : markBehind(before).sha256))
      refuse("it follows another segment than the one before it: the store let two recorders write one number")
    const epoch = before?.facts.epoch ?? 0
    const isTakenOver = facts.epoch > epoch
    if (facts.epoch < epoch) refuse(`its epoch ${facts.epoch} is lower than ${epoch}, that of the segment before`)
    if (!isTakenOver && facts.owner !== before?.facts.owner)
      refuse(`its owner ${facts.owner} is not that of the segment before, in the same epoch ${epoch}`)
    const waiting = isTakenOver ? [] : this.#waiting
    const { sequence } = (waiting.length > 0 ? before?.facts.position : undefined) ?? this.position
    if (facts.after !== sequence)
      refuse(`it continues after event ${facts.after}, and what is before it ends with event ${sequence}`)
    this.last = { facts, sha256, bytes }
    this.#waiting = facts.isWhole ? [] : [...waiting, { key, from, through, sha256 }]
    if (!facts.isWhole) return undefined
    this.position = facts.position
    return waiting
  }
}
