/**
 * Makes few large objects of a stream's many small segments, and drops what is older than it is to be kept.
 *
 * Guarantee: whoever reads the stream, before, during or after, has the same recording. A process may end at any moment: what counts is what the last manifest
 * says, and each compaction is committed by creating the next one; of two at the same time one is refused. Nothing is removed that a reader may be reading
 * (remove-replaced.ts). The last segment is left alone: recorders look there for the end. Decision 0109 says why.
 *
 * Memory: a segment as it is read and one as it is written, 16 MiB and a block each, and as much for the rows of a range. Disk: a copy
 * of one range, 256 MiB and a segment, beyond that what segments of one moment have; to drop what is old, half a range more, or the states of what is alive at the beginning and a range.
 */
import {
  compactRecording,
  type DeltaRow,
  everyRow,
  kindsIn,
  RecordingCopy,
  type ShippedTable,
  shippedTables,
} from "../../archive/index.ts"
import type { BlobStore } from "../../blob/index.ts"
import { isStreamError, NoStreamError, StreamChangedError } from "../fleet-errors.ts"
import { type EncodedPart, encodeParts, SegmentBody } from "../segment/segment-encoder.ts"
import { markBehind, type SegmentFacts, type StoredSegment, type StreamMark } from "../segment/segment-facts.ts"
import {
  COMPACTED,
  compactedKey,
  openSegment,
  type ReadableSegment,
  type SegmentStore,
  segmentKey,
} from "../segment/segment-reader.ts"
import { type CompactedObject, type Manifest, readManifest } from "../stream/manifest.ts"
import { readDescription } from "../stream/stream-description.ts"
import { lastSegmentNumber } from "../stream/stream-end.ts"
import { StreamReader } from "../stream/stream-reader.ts"
import { commitManifest } from "./commit-manifest.ts"
import { atOnce, joinedWith, overdue, RANGE_BYTES, rangesOf } from "./compaction-plan.ts"
import { copyDirectory } from "./copy-directory.ts"
import { keysBelow, newestSegmentMs, type Removal, removeReplaced } from "./remove-replaced.ts"

/** What is needed of a store to compact a stream in it. */
export type CompactedStore = Pick<BlobStore, "location" | "read" | "list" | "create" | "remove">

interface CompactStreamOptions {
  /** A directory that exists, for copies, each in one of its own that is removed at the end, or by the next compaction. */
  readonly temporaryDirectory: string
  /** µs for which what was received is kept; up to a tenth longer, because it is dropped seldom. Default: for ever. */
  readonly keepMicros?: number | undefined
  /** ms for which replaced objects stay, for those who read them. */
  readonly graceMs: number
  /** µs since the Unix epoch. */
  readonly nowMicros: () => number
  /** Another text each time: letters and digits. */
  readonly randomId: () => string
  readonly signal?: AbortSignal
  /** Sizes that tests make smaller. */
  readonly rangeBytes?: number
  readonly partBytes?: number
}

interface Compacted {
  /** Segments that were replaced, and objects that are in their place or that of objects before. */
  readonly segments: number
  readonly objects: number
  /** Bytes of what was read and of what was written. */
  readonly readBytes: number
  readonly writtenBytes: number
}

/** What is to be compacted at once: so many objects of a manifest, from one on, and what comes behind the last one if there are new segments. */
interface Work {
  readonly manifest: Manifest & { readonly number: number }
  readonly at: number
  readonly count: number
  /** Number of the stream's last segment; `undefined`: only those ranges. */
  readonly last?: number
  /** µs since the Unix epoch; what is older is dropped. */
  readonly olderThan?: number
  /** Whether nothing older is left then. */
  readonly isLast?: boolean
}

/** Segments that were applied to a copy. */
interface Copied {
  /** The first that counts. */
  readonly first: StoredSegment
  /** Behind the segment before the range. Parts that count nowhere may follow it, which are of the range too. `undefined`: the range begins the stream. */
  readonly behind: StreamMark | undefined
  readonly last: StoredSegment
  readonly segments: number
  readonly bytes: number
  /** The directory with all their rows. */
  readonly place: string
}

/** Segments of one range: as many take 20 s each in four days. */
const MOST_SEGMENTS = 16_384

/** BLOBs up to this size are kept with the rows. */
const KEPT_BYTES = 4096

/** Bytes of a range's rows beyond which they are not written once more: they are held in memory until all are known. */
const ROWS_BYTES = 16 * 1024 * 1024

/** Fewer new segments are left as they are. */
const LEAST_SEGMENTS = 2

/** Rejects with a StreamError, an ArchiveError, an error of the store, or the reason of `signal`. */
export const compactStream = async (
  store: CompactedStore,
  options: CompactStreamOptions,
): Promise<Compacted & Removal> => {
  if ((await readDescription(store)) === undefined) throw new NoStreamError({ location: store.location })
  const found = await keysBelow(store, COMPACTED)
  const compaction = new Compaction(store, options)
  const removeOld = (): Promise<Removal> =>
    removeReplaced(store, {
      ...{ graceMs: options.graceMs, nowMs: options.nowMicros() / 1000 },
      // Before the first commit, another compaction may be writing what was found and is in no manifest. With the commit it has lost.
      unknown: compaction.done.objects > 0 ? found : [],
    })
  try {
    while (await compaction.step());
  } catch (error) {
    // A disk that is too small must not keep what was replaced for ever. Of a stream with something wrong, everything is kept.
    if (!(options.signal?.aborted ?? false) && !isStreamError(error)) await removeOld().catch(() => undefined)
    throw error
  }
  return { ...compaction.done, ...(await removeOld()) }
}

/** What is older is dropped in steps, each with the first ranges: what is left of them is the first range of the next step. */
interface Dropping {
  /** µs since the Unix epoch. */
  readonly keptFrom: number
  /** Number of the last segment that may be older. */
  readonly through: number
  /** Ranges that the steps before have made of all that they had. */
  readonly left: number
}

class Compaction {
  readonly #store: CompactedStore
  readonly #options: CompactStreamOptions
  readonly #rangeBytes: number
  /** Whether what is new has been compacted, as far as it can be now. */
  #hasNew = true
  #dropping: Dropping | undefined
  done: Compacted = { segments: 0, objects: 0, readBytes: 0, writtenBytes: 0 }

  constructor(store: CompactedStore, options: CompactStreamOptions) {
    this.#store = store
    this.#options = options
    this.#rangeBytes = options.rangeBytes ?? RANGE_BYTES
  }

  /** Compacts a range. Returns whether there was one. */
  async step(): Promise<boolean> {
    this.#options.signal?.throwIfAborted()
    const manifest = await readManifest(this.#store)
    const added = this.#hasNew ? await this.#newSegments(manifest) : undefined
    if (added !== undefined && (await this.#compact(added))) return true
    if (this.#hasNew) this.#dropping = await this.#overdue(manifest)
    this.#hasNew = false
    const dropped = this.#dropped(manifest)
    return dropped !== undefined && (await this.#compact(dropped))
  }

  async #compact(work: Work): Promise<boolean> {
    const { signal, temporaryDirectory, nowMicros } = this.#options
    using directory = copyDirectory(temporaryDirectory, nowMicros() / 1000)
    const copied = await this.#copy(work, directory.path)
    if (copied === undefined) return false
    const written = await this.#write(work, copied)
    await commitManifest(this.#store, work.manifest.number, this.#next(work, copied, written), copied, signal)
    const { segments, objects, readBytes, writtenBytes } = this.done
    this.done = {
      segments: segments + copied.segments,
      objects: objects + written.length,
      readBytes: readBytes + copied.bytes,
      writtenBytes: writtenBytes + written.reduce((sum, { bytes }) => sum + bytes, 0),
    }
    return true
  }

  async #newSegments(manifest: Work["manifest"]): Promise<Work | undefined> {
    const { compactedThrough, compacted } = manifest
    const last = await lastSegmentNumber(this.#store)
    let [segments, newBytes] = [0, 0]
    for await (const { key, bytes } of this.#store.list("segments/", { after: segmentKey(compactedThrough) })) {
      const isFull = newBytes >= this.#rangeBytes || segments >= MOST_SEGMENTS
      if ((isFull && segments >= LEAST_SEGMENTS) || key >= segmentKey(last)) break
      segments++
      newBytes += bytes
    }
    if (segments < LEAST_SEGMENTS) return undefined
    const ranges = rangesOf(compacted)
    const joined = ranges.slice(ranges.length - joinedWith(ranges, newBytes, this.#rangeBytes))
    const count = joined.flatMap(({ objects }) => objects).length
    return { manifest, at: compacted.length - count, count, last }
  }

  /** Decided once in a run: blocks that are younger in part stay, so what is dropped may change nothing. */
  async #overdue(manifest: Work["manifest"]): Promise<Dropping | undefined> {
    const { keepMicros, nowMicros } = this.#options
    if (keepMicros === undefined) return undefined
    const ranges = rangesOf(manifest.compacted)
    // A clock that is ahead must not drop anything.
    const now = Math.min(nowMicros(), 1000 * (await newestSegmentMs(this.#store)))
    const last = ranges[overdue(ranges, manifest.keptFrom ?? 0, { nowMicros: now, keepMicros }) - 1]?.objects.at(-1)
    return last && { keptFrom: now - keepMicros, through: last.through, left: 0 }
  }

  /** Few ranges at once, so that a disk for them is enough, and at least one that the step before did not have. */
  #dropped(manifest: Work["manifest"]): Work | undefined {
    if (this.#dropping === undefined) return undefined
    const { keptFrom, through, left } = this.#dropping
    const old = rangesOf(manifest.compacted).filter(
      ({ objects: [first] }) => first !== undefined && first.from <= through,
    )
    const most = Math.max(left + 1, atOnce(old, this.#rangeBytes))
    const isLast = most >= old.length
    this.#dropping = isLast ? undefined : { keptFrom, through, left: 1 }
    const count = old.slice(0, most).flatMap(({ objects }) => objects).length
    return count === 0 ? undefined : { manifest, at: 0, count, olderThan: keptFrom, isLast }
  }

  /** `undefined`: there are new segments, of which the whole one that ends them is the last one or still to come. */
  async #copy({ manifest: { compacted }, at, count, last: end }: Work, directory: string): Promise<Copied | undefined> {
    const before = compacted[at - 1]
    const behind = before && markBehind(await this.#open(before.key, before.sha256))
    const copy = new RecordingCopy(directory)
    const applied: { first?: StoredSegment; last?: StoredSegment; bytes: number } = { bytes: 0 }
    let segments = 0
    const apply = async (segment: ReadableSegment): Promise<void> => {
      const rows = await segment.rows(this.#options.signal)
      if (rows === undefined) throw this.#changed()
      copy.apply(segment.facts, rows, "")
      applied.first ??= segment
      applied.last = segment
      applied.bytes += segment.bytes
    }
    try {
      for (const { key, sha256 } of compacted.slice(at, at + count)) await apply(await this.#open(key, sha256))
      if (end !== undefined) {
        const mark = applied.last === undefined ? behind : markBehind(applied.last)
        for await (const { parts, whole } of this.#groups(mark)) {
          if (whole.facts.number >= end) break
          for (const { facts, sha256 } of parts) await apply(await this.#open(segmentKey(facts.number), sha256))
          await apply(whole)
          segments += parts.length + 1
          if (applied.bytes >= this.#rangeBytes || segments >= MOST_SEGMENTS) break
        }
        if (segments === 0) return undefined
      }
      const { first, last, bytes } = applied
      if (first === undefined || last === undefined) return undefined
      return { first, behind, last, segments, bytes, place: copy.place }
    } finally {
      copy.close()
    }
  }

  /** Behind a mark, whole segments with the partial ones that count with them. */
  async *#groups(
    behind: StreamMark | undefined,
  ): AsyncGenerator<{ parts: ReadonlyArray<StoredSegment>; whole: ReadableSegment }, void, void> {
    const reader = await StreamReader.open(this.#store, { behind, signal: this.#options.signal })
    if (behind !== undefined && reader.behind === undefined) throw this.#changed()
    let parts: StoredSegment[] = []
    for await (const segment of reader.segments()) {
      const { facts, sha256, bytes } = segment
      // Not the segment itself, which may have its content with it: there may be hundreds.
      if (!facts.isWhole) parts.push({ facts, sha256, bytes })
      else {
        yield { parts, whole: segment }
        parts = []
      }
    }
  }

  async #open(key: string, sha256: string): Promise<ReadableSegment> {
    const segment = await openSegment(this.#store, key, this.#options.signal)
    if (segment?.sha256 !== sha256) throw this.#changed()
    return segment
  }

  async #write(work: Work, { first, behind, last, place }: Copied): Promise<ReadonlyArray<CompactedObject>> {
    const { randomId, partBytes, signal } = this.#options
    const { after } = first.facts
    const { number: through, through: sequence, position, ...facts } = last.facts
    const from = (behind?.number ?? 0) + 1
    const id = randomId()
    const written: CompactedObject[] = []
    let mark = behind?.sha256 ?? ""
    const factsOf = (part: number, isWhole: boolean, bodySha256: string): SegmentFacts => {
      const kinds = isWhole ? kindsIn(place) : []
      const times = kinds.filter(({ events }) => events > 0)
      const follows = mark
      mark = isWhole ? markBehind(last).sha256 : bodySha256
      return {
        ...facts,
        ...{ after, isWhole, kinds, previous: follows, replaces: { from: from + part, sha256: mark } },
        number: isWhole ? through : from + part,
        through: isWhole ? sequence : after,
        position: isWhole ? position : { ...position, sequence: after },
        fromTime: times.length === 0 ? 0 : Math.min(...times.map(({ fromTime }) => fromTime)),
        toTime: Math.max(0, ...times.map(({ toTime }) => toTime)),
      }
    }
    let rows: SegmentBody | undefined = new SegmentBody()
    for (const part of encodeParts(this.#rows(work, last, place), factsOf, through - from + 1, partBytes)) {
      const object = objectOf(part, id)
      // Nobody else has this id: one that exists is this one, and its answer was lost.
      await this.#store.create(object.key, part.parts, signal)
      written.push(object)
      for (const row of await rowsAloneOf(part, object.key)) if ((rows?.take(row) ?? 0) > ROWS_BYTES) rows = undefined
    }
    const [whole, ...others] = written.toReversed()
    // One object of a range is read as fast.
    if (rows === undefined || whole === undefined || others.length === 0) return written
    const replaces = { from, sha256: mark }
    const { parts, sha256 } = rows.finish(() => ({
      ...factsOf(0, true, ""),
      ...{ previous: behind?.sha256 ?? "", replaces },
    }))
    const key = compactedKey(from, through, `${id}-rows`)
    await this.#store.create(key, parts, signal)
    return [...written.slice(0, -1), { ...whole, rows: { key, sha256 } }]
  }

  /**
   * Names of objects and owners are taken before retention removes some: ranges that are dropped next may name them, and so may a recorder that keeps more than
   * the stream, which does not send them again. An object that leaves a selection and is in it again is one of them.
   */
  *#rows({ olderThan }: Work, { facts: { position } }: StoredSegment, place: string) {
    if (olderThan === undefined) return yield* everyRow(place)
    const kept: ReadonlyArray<ShippedTable> = ["object", "owner_set", "owner"]
    yield* everyRow(place, kept)
    const now = this.#options.nowMicros()
    const policy = { forMicros: now - olderThan, kinds: new Map() }
    compactRecording(place, policy, { heldAfter: position.sealedThrough, now: () => now })
    yield* everyRow(
      place,
      shippedTables.filter((table) => !kept.includes(table)),
    )
  }

  #next(work: Work, { last }: Copied, written: ReadonlyArray<CompactedObject>): Manifest {
    const { compactedThrough, compacted, keptFrom } = work.manifest
    const kept = (work.isLast === true ? work.olderThan : undefined) ?? keptFrom
    return {
      compactedThrough: Math.max(compactedThrough, last.facts.number),
      ...(kept !== undefined && { keptFrom: kept }),
      compacted: compacted.toSpliced(work.at, work.count, ...written),
    }
  }

  #changed(): StreamChangedError {
    return new StreamChangedError({ location: this.#store.location })
  }
}

/** Rows of a part, with references to its BLOBs that readers will fetch. */
const rowsAloneOf = async ({ parts }: EncodedPart, key: string): Promise<Iterable<DeltaRow>> => {
  const bytes = Buffer.concat(parts)
  const read: SegmentStore["read"] = () => Promise.resolve({ bytes, size: bytes.length, version: "" })
  const segment = await openSegment({ location: "", read }, key)
  return (await segment?.rowsAlone(KEPT_BYTES)) ?? []
}

const objectOf = ({ facts, sha256, bytes }: EncodedPart, id: string): CompactedObject => {
  const { number: through, isWhole, kinds, fromTime, toTime } = facts
  const from = facts.replaces?.from ?? through
  const gaps = kinds.reduce((sum, kind) => sum + kind.gaps, 0)
  return { key: compactedKey(from, through, id), from, through, sha256, isWhole, bytes, gaps, fromTime, toTime }
}
