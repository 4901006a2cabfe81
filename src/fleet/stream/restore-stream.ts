/**
 * Makes a recording of a stream, in a directory without one. A process that ends in the middle leaves what it has, and the next one goes on there if the
 * stream still has it; nothing in the directory is a recording before all of it is there and was checked.
 *
 * Memory: one segment, and the facts of all.
 */
import type { Position } from "../../archive/index.ts"
import { RecordingCopy } from "../../archive/index.ts"
import { RestoredUnsoundError, StreamBrokenError } from "../fleet-errors.ts"
import type { StoredSegment } from "../segment/segment-facts.ts"
import { readSegment } from "../segment/segment-reader.ts"
import { type StreamDescription, StreamReader, type StreamStore } from "./stream-reader.ts"

/** How a stream is restored. */
export interface RestoreOptions {
  /** Takes how much has been done, after each segment; those that an earlier process has applied count as done. */
  readonly onProgress?: (progress: RestoreProgress) => void
  readonly signal?: AbortSignal
}

/** A stream as far as it was restored. */
export type RestoredStream = Pick<Restored, "description" | "last" | "position">

interface Taken {
  /** What the metadata of the recording are to have. */
  readonly metadata: Readonly<Record<string, string>>
}

interface RestoreProgress {
  readonly segments: number
  readonly allSegments: number
  readonly bytes: number
  readonly allBytes: number
}

/** What was restored. */
export interface Restored {
  readonly description: StreamDescription
  /** The last segment of the stream, also if it does not count: the next one has its hash. `undefined`: it has none. */
  readonly last: StoredSegment | undefined
  /** Where the next segment of the recording continues. */
  readonly position: Position
  /** Segments that were applied, now or by an earlier process. */
  readonly segments: number
  readonly bytes: number
  readonly blocks: number
  /** When the last event happened that was restored, µs since the Unix epoch; 0: there is none. */
  readonly until: number
}

/**
 * `directory` is created, or has no recording.
 *
 * Rejects with a StreamError, an ArchiveError, an error of the store, or the reason of `signal`.
 */
export const restoreStream = async (
  store: StreamStore,
  directory: string,
  options: RestoreOptions = {},
): Promise<Restored> => {
  const [restored] = await restoreAndTake(store, directory, async () => ({ metadata: {} }), options)
  return restored
}

/**
 * The same for a recorder that continues the stream. `take` is called when everything is there and was checked: the recorder before may be alive, so the stream
 * is taken over right after it was read, and only if what is there can be continued. It answers `undefined` if the stream has gone on meanwhile: then what was
 * added is restored as well, and it is called again. Rejects with its errors, too.
 */
export const restoreAndTake = async <Own extends Taken>(
  store: StreamStore,
  directory: string,
  take: (stream: RestoredStream) => Promise<Own | undefined>,
  { onProgress, signal }: RestoreOptions = {},
): Promise<readonly [restored: Restored, taken: Own]> => {
  const reader = new StreamReader(store)
  let stream = await reader.read()
  const copy = new RecordingCopy(directory)
  try {
    const mark = copy.mark()
    let applied = stream.counted.findIndex(({ sha256 }) => sha256 === mark) + 1
    if (applied === 0) copy.beginAnew()
    let bytes = bytesOf(stream.counted.slice(0, applied))
    const applyNew = async (): Promise<void> => {
      const { counted } = stream
      const allBytes = bytesOf(counted)
      for (const [index, segment] of counted.entries()) {
        if (index < applied) continue
        signal?.throwIfAborted()
        await apply(store, copy, segment, signal)
        bytes += segment.bytes
        onProgress?.({ segments: index + 1, allSegments: counted.length, bytes, allBytes })
      }
      applied = counted.length
    }
    await applyNew()
    let blocks = soundBlocks(store, copy)
    const checked = applied
    let taken = await take(stream)
    while (taken === undefined) {
      stream = await reader.read()
      await applyNew()
      taken = await take(stream)
    }
    if (applied > checked) blocks = soundBlocks(store, copy)
    copy.finish(taken.metadata)
    const { description, counted, last, position } = stream
    const until = counted.reduce((latest, { facts }) => Math.max(latest, facts.toTime), 0)
    return [{ description, last, position, segments: counted.length, bytes, blocks, until }, taken]
  } finally {
    copy.close()
  }
}

const bytesOf = (segments: ReadonlyArray<StoredSegment>): number => segments.reduce((sum, { bytes }) => sum + bytes, 0)

/** Returns how many blocks it has. @throws RestoredUnsoundError, ArchiveError */
const soundBlocks = ({ location }: StreamStore, copy: RecordingCopy): number => {
  const { faults, damagedBlocks, blocks, isSound } = copy.verify()
  if (isSound) return blocks
  const reason = [...faults, ...damagedBlocks.map(({ fault }) => fault)].slice(0, 3).join("; ")
  throw new RestoredUnsoundError({ location, reason })
}

const apply = async (
  store: StreamStore,
  copy: RecordingCopy,
  { facts, sha256 }: StoredSegment,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const segment = await readSegment(store, facts.number, signal)
  if (segment?.sha256 !== sha256) {
    const reason = `it was ${segment === undefined ? "removed" : "replaced"} while the stream was read. Try again`
    throw new StreamBrokenError({ location: store.location, number: facts.number, reason })
  }
  copy.apply(facts, segment.rows, sha256)
}
