/**
 * Makes a recording of a stream, in a directory without one. A process that ends in the middle leaves what it has, and the next one goes on there if the
 * stream still has it; nothing in the directory is a recording before all of it is there and was checked.
 *
 * Memory: one segment, and what {@link StreamReader} takes.
 */
import { randomBytes } from "node:crypto"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Position, RecordingCopy, TENURE_KEY } from "../../archive/index.ts"
import { encodeTenure, newTenure, type Tenure } from "../fence/tenure.ts"
import { RestoredUnsoundError, StreamChangedError } from "../fleet-errors.ts"
import { encodeOpening } from "../segment/segment-encoder.ts"
import { markBehind, type StoredSegment } from "../segment/segment-facts.ts"
import { segmentKey } from "../segment/segment-reader.ts"
import { readManifest } from "./manifest.ts"
import type { CreatingStore, StreamDescription, StreamStore } from "./stream-description.ts"
import { lastSegmentNumber } from "./stream-end.ts"
import { StreamReader } from "./stream-reader.ts"

/** How a stream is restored. */
interface RestoreOptions {
  /** Takes how much has been done, after each segment; those that an earlier process has applied count as done. */
  readonly onProgress?: (progress: RestoreProgress) => void
  readonly signal?: AbortSignal
  /** Called before {@link RestoreOptions.take} with the directory of what was restored. What it throws ends the restoring, with the stream as it was. */
  readonly check?: (place: string) => void
  /**
   * Called when everything is there and was checked, with the last segment. A recorder takes the stream over by it: the recorder before may be alive, so this is
   * right after the end of the stream was read. Returns the tenure for the recording; `undefined`: the stream has gone on meanwhile, and what was added is to be
   * restored as well. Rejects with its own errors. Default: the stream stays as it is.
   */
  readonly take?: (tenure: Tenure, last: StoredSegment) => Promise<Tenure | undefined>
}

interface RestoreProgress {
  /** Number of the segment that was applied last. */
  readonly segments: number
  /** Of the last one that the stream had at the beginning. */
  readonly allSegments: number
  /** Of what was applied. */
  readonly bytes: number
}

/** What was restored. */
export interface Restored {
  readonly description: StreamDescription
  /** The last segment of the stream, also if it does not count: the next one has its hash. `undefined`: it has none. */
  readonly last: StoredSegment | undefined
  /** Where the next segment of the recording continues. */
  readonly position: Position
  /** With which a recorder continues in the directory; the recording has it. */
  readonly tenure: Tenure
  /** Segments that were applied, now or by an earlier process. */
  readonly segments: number
  readonly bytes: number
  readonly blocks: number
  /** Blocks that were damaged when they were sent: what reads the recording names each as a gap. */
  readonly lostBlocks: number
  /** When the last event happened that was restored, µs since the Unix epoch; 0: there is none. */
  readonly until: number
}

/** Tries to take a stream before which all that was restored is checked. A recorder that ships faster than a large copy is checked would win each of them. */
const checkedTries = 4

/**
 * `directory` is created, or has no recording.
 *
 * Rejects with a StreamError, an ArchiveError, an error of the store, or the reason of `signal`.
 */
export const restoreStream = async (
  store: StreamStore,
  directory: string,
  { onProgress, signal, check, take = async (tenure) => tenure }: RestoreOptions = {},
): Promise<Restored> => {
  const copy = new RecordingCopy(directory)
  try {
    const known = Option.getOrUndefined(decodeApplied(copy.mark()))
    const stream = await StreamReader.open(store, { behind: known, signal })
    let applied: Applied = nothing
    if (known !== undefined && stream.behind !== undefined) applied = known
    else copy.beginAnew()
    const allSegments = await lastSegmentNumber(store)
    const applyNew = async (): Promise<void> => {
      for await (const segment of stream.segments()) {
        signal?.throwIfAborted()
        const rows = await segment.rows(signal)
        if (rows === undefined) throw new StreamChangedError({ location: store.location })
        applied = {
          ...markBehind(segment),
          segments: applied.segments + 1,
          bytes: applied.bytes + segment.bytes,
          until: Math.max(applied.until, segment.facts.toTime),
        }
        copy.apply(segment.facts, rows, encodeApplied(applied))
        const { number, bytes } = applied
        onProgress?.({ segments: number, allSegments: Math.max(number, allSegments), bytes })
      }
    }
    const taken = async (): Promise<Tenure | undefined> =>
      stream.last === undefined ? tenureBehind(stream) : await take(tenureBehind(stream), stream.last)
    await applyNew()
    let verification = soundness(copy, stream, store)
    let checked = applied.number
    const checkNew = (): void => {
      if (applied.number > checked) verification = soundness(copy, stream, store)
      checked = applied.number
    }
    check?.(copy.place)
    let tenure = await taken()
    for (let tries = 1; tenure === undefined; tries++) {
      await applyNew()
      if (tries < checkedTries) checkNew()
      tenure = await taken()
    }
    checkNew()
    copy.finish({ [TENURE_KEY]: encodeTenure(tenure) })
    const { description, last, position } = stream
    const { blocks, lostBlocks } = verification
    const { segments, bytes, until } = applied
    return { description, last, position, tenure, segments, bytes, blocks, lostBlocks, until }
  } finally {
    copy.close()
  }
}

/**
 * Restores as {@link restoreStream} does, and creates the opening segment of the next epoch behind what was restored: nobody else can add to the stream then, unless it
 * is taken over again. The recorder before finds its next number taken, however fast it ships: what it adds meanwhile is restored as well, and the next number is tried.
 * Rejects as that does.
 *
 * The opening segment has no rows. So an answer that is lost, or a creation that arrives late, costs an epoch and nothing else, and no intent need be kept.
 */
export const takeOverStream = (
  store: CreatingStore,
  directory: string,
  options: Omit<RestoreOptions, "take"> = {},
): Promise<Restored> =>
  restoreStream(store, directory, {
    ...options,
    take: async (tenure, last) => {
      const { shipped, owner } = tenure
      if (shipped === undefined) return tenure
      const opening = encodeOpening(last, shipped.position, owner)
      const { number } = opening.facts
      if ((await store.create(segmentKey(number), opening.parts)) === "exists") return undefined
      // It can be created again if it has been compacted away, and no reader counts what is there then.
      if ((await readManifest(store)).compactedThrough >= number) return undefined
      return { ...tenure, shipped: { ...shipped, ...markBehind(opening), isWhole: false } }
    },
  })

/** Of the next epoch, behind everything that was read. */
const tenureBehind = ({
  description,
  last,
  position,
}: Pick<StreamReader, "description" | "last" | "position">): Tenure => {
  const shipped = last && { ...markBehind(last), isWhole: true, position, heldAfter: position.sealedThrough }
  return newTenure(description.stream, randomBytes(16).toString("hex"), shipped)
}

/** @throws RestoredUnsoundError, ArchiveError */
const soundness = (copy: RecordingCopy, { position }: Pick<StreamReader, "position">, { location }: StreamStore) => {
  const verification = copy.verify(position.sealedThrough)
  if (verification.isSound) return verification
  const { faults, damagedBlocks } = verification
  const reason = [...faults, ...damagedBlocks.map(({ fault }) => fault)].slice(0, 3).join("; ")
  throw new RestoredUnsoundError({ location, reason })
}

/** What has been applied, as the copy keeps it: the mark behind the last segment, and what is told of all. */
const Applied = Schema.Struct({
  number: Schema.Number,
  sha256: Schema.String,
  segments: Schema.Number,
  bytes: Schema.Number,
  until: Schema.Number,
})
type Applied = typeof Applied.Type

const AppliedText = Schema.fromJsonString(Applied)
const encodeApplied = Schema.encodeSync(AppliedText)
const decodeApplied = Schema.decodeUnknownOption(AppliedText)

const nothing: Applied = { number: 0, sha256: "", segments: 0, bytes: 0, until: 0 }
