/**
 * The archivist: reads what is new in the recording from a read-only connection, encodes it as segments, and creates them in an object store, in its own
 * thread. It decides nothing: which segment may be created, and what an answer means, is the fence's (src/fleet/fence), which the recorder's main thread
 * drives; the store keeps the state. So a life that ends anywhere costs at most the segment that it had built.
 *
 * Memory: one segment of 8 MiB, and what reading it takes.
 */
import { randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import {
  DeltaReader,
  fromTheBeginning,
  isArchiveError,
  RECORDER_KEY,
  readKeptText,
  setAsideReplaced,
  TENURE_KEY,
} from "../../archive/index.ts"
import { type BlobStore, openStore, readStorePlace, TargetError } from "../../blob/index.ts"
import type { Clock } from "../../clock.ts"
import {
  beginStream,
  compactedThrough,
  decodeTenure,
  type EncodedSegment,
  encodeSegment,
  isOpening,
  isStreamError,
  lastSegment,
  markBehind,
  nextNumber,
  readDescription,
  readSegmentEnd,
  requireConditions,
  type Shipment,
  type StoredSegment,
  StreamBrokenError,
  type StreamDescription,
  segmentKey,
  type Tenure,
  takeOverStream,
} from "../../fleet/index.ts"
import { messageOf } from "../../message-of.ts"
import type { ActorBody } from "../../runtime/index.ts"
import {
  ArchivingFailed,
  type ArchivistConfig,
  type ArchivistControl,
  type ArchivistReport,
  RecordedState,
  StreamOfAnotherShard,
} from "./archivist-interface.ts"

/** Bytes of a segment at which it is cut. */
const segmentBytes = 8 * 1024 * 1024

/** ms for which a request is sent again before the trouble is told. */
const patienceMs = 10_000

export const archivistBody: ActorBody<ArchivistConfig, ArchivistControl, ArchivistReport> = ({
  clock,
  config,
  report,
}) =>
  Effect.gen(function* () {
    const archivist = yield* Effect.acquireRelease(
      Effect.sync(() => new Archivist(config, clock, report)),
      (ending) => Effect.sync(() => ending.close()),
    )
    const attempt = <A>(work: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, ArchivingFailed> =>
      Effect.tryPromise({ try: work, catch: failureOf })
    return {
      find: ({ clusterUid }) => attempt(() => archivist.find(clusterUid)),
      restore: ({ shard }) =>
        Effect.tryPromise({
          try: (signal) => archivist.restore(shard, signal),
          catch: (cause) => (cause instanceof StreamOfAnotherShard ? cause : failureOf(cause)),
        }),
      build: ({ tenure, isForced }) => attempt(() => archivist.build(tenure, isForced)),
      create: ({ sha256 }) => attempt((signal) => archivist.create(sha256, signal)),
      look: (number) => attempt((signal) => archivist.look(number, signal)),
      compacted: () => attempt(() => archivist.compacted()),
    }
  })

/** What was read last: which rows a reader has sent is known only as long as each delta was shipped. */
interface Reading {
  readonly reader: DeltaReader
  /** Of the segment that the next one follows; the empty string: it is the first. */
  readonly after: string
}

class Archivist {
  readonly #config: ArchivistConfig
  readonly #clock: Clock
  readonly #report: (progress: ArchivistReport) => void
  #opening: Promise<BlobStore> | undefined
  #description: StreamDescription | undefined
  #reading: Reading | undefined
  #built: EncodedSegment | undefined
  /** Where the recording is that was in the directory: an attempt to restore that fails has moved it already. */
  #setAside = ""

  constructor(config: ArchivistConfig, clock: Clock, report: (progress: ArchivistReport) => void) {
    this.#config = config
    this.#clock = clock
    this.#report = report
  }

  close(): void {
    this.#forget()
    void this.#opening?.then(
      (store) => store.close(),
      // It never opened, which its caller was told.
      () => undefined,
    )
  }

  async find(clusterUid: string) {
    const store = await this.#store()
    // Segments say of which stream they are, also when stream.json was lost.
    const before = await lastSegment(store)
    const { stream, clusterUid: uid } = before?.facts ?? { stream: randomBytes(16).toString("hex"), clusterUid }
    const description = await beginStream(store, { stream, clusterUid: uid })
    await requireConditions(store)
    const last = before ?? (await lastSegment(store))
    if (last !== undefined && last.facts.stream !== description.stream) throw foreignSegment(last, description, store)
    this.#description = description
    const tenure = decodeTenure(readKeptText(this.#config.directory, TENURE_KEY))
    return {
      id: description.stream,
      clusterUid: description.clusterUid,
      ...(last !== undefined && { last: markBehind(last) }),
      ...(tenure !== undefined && { tenure }),
      recorded: recordedIn(this.#config.directory),
    }
  }

  async restore(shard: string | undefined, signal: AbortSignal) {
    const { directory } = this.#config
    this.#setAside = setAsideReplaced(directory, this.#clock.wallMicros()) ?? this.#setAside
    const { tenure, lostBlocks } = await takeOverStream(await this.#store(), directory, {
      ...{ signal, onProgress: this.#report },
      check: (place) => {
        const recorded = recordedIn(place)
        if (recorded === undefined || recorded.shard === shard) return
        throw new StreamOfAnotherShard({ ...recorded, setAside: this.#setAside })
      },
    })
    return { tenure, lostBlocks, setAside: this.#setAside }
  }

  async build(tenure: Tenure, isForced: boolean) {
    this.#built = undefined
    const { stream, clusterUid } = await this.#describe()
    const { shipped, owner, epoch } = tenure
    const { reader } = this.#readingAfter(shipped?.sha256 ?? "")
    const segment = this.#encoded(() =>
      encodeSegment(
        reader,
        shipped?.position ?? fromTheBeginning,
        { clusterUid, stream, number: nextNumber(tenure), epoch, owner, previous: shipped?.sha256 ?? "" },
        segmentBytes,
      ),
    )
    // What ends a part is never nothing.
    const isDue = isForced || isOpening(tenure) || shipped?.isWhole === false
    if (segment.rows === 0 && segment.facts.isWhole && !isDue) return {}
    this.#built = segment
    this.#reading = { reader, after: segment.sha256 }
    const { isWhole, position } = segment.facts
    const heldAfter = isWhole ? position.sealedThrough : (shipped?.heldAfter ?? 0)
    return { intent: { ...markBehind(segment), isWhole, position, heldAfter } satisfies Shipment }
  }

  /** What a reader has read counts as sent, so after a failure another one reads it again. */
  #encoded(encode: () => EncodedSegment): EncodedSegment {
    try {
      return encode()
    } catch (cause) {
      this.#forget()
      throw cause
    }
  }

  async create(sha256: string, signal: AbortSignal) {
    const segment = this.#built
    if (segment?.sha256 !== sha256) return "lost" as const
    const answer = await (await this.#store()).create(segmentKey(segment.facts.number), segment.parts, signal)
    this.#built = undefined
    return answer
  }

  async look(number: number, signal: AbortSignal) {
    const found = await readSegmentEnd(await this.#store(), number, signal)
    return found === undefined ? {} : { link: markBehind(found) }
  }

  async compacted(): Promise<number> {
    return await compactedThrough(await this.#store())
  }

  async #describe(): Promise<StreamDescription> {
    // A life after the first.
    this.#description ??= await readDescription(await this.#store())
    if (this.#description !== undefined) return this.#description
    throw new ArchivingFailed({
      message: `${this.#config.address} has no stream.json any more. The recorder makes it anew when it is started again`,
      isLasting: true,
    })
  }

  #readingAfter(sha256: string): Reading {
    if (this.#reading?.after !== sha256) {
      this.#forget()
      this.#reading = { reader: new DeltaReader(this.#config.directory), after: sha256 }
    }
    return this.#reading
  }

  #forget(): void {
    this.#reading?.reader.close()
    this.#reading = undefined
  }

  /** Once; after a failure anew. */
  #store(): Promise<BlobStore> {
    const reading = readStorePlace(this.#config.address)
    if (reading.tag === "refused") throw new ArchivingFailed({ message: reading.message, isLasting: true })
    const opening = this.#opening ?? openStore(reading.place, { patienceMs, clock: this.#clock })
    this.#opening = opening
    opening.catch(() => {
      this.#opening = undefined
    })
    return opening
  }
}

/** `undefined`: nothing says it, as in a recording of an earlier version. */
const recordedIn = (directory: string): { readonly shard?: string } | undefined => {
  const text = readKeptText(directory, RECORDER_KEY)
  const state = Option.getOrUndefined(Schema.decodeUnknownOption(RecordedState)(text))
  return state && (state.shard === undefined ? {} : { shard: state.shard })
}

const foreignSegment = ({ facts }: StoredSegment, { stream }: StreamDescription, { location }: BlobStore) =>
  new StreamBrokenError({
    ...{ location, number: facts.number },
    reason: `it is of stream ${facts.stream}, and stream.json says ${stream}. If the segments are those of this cluster, remove stream.json: the recorder makes it anew out of them`,
  })

const lasting: ReadonlySet<string> = new Set(["package-missing", "credentials", "denied", "no-bucket", "no-conditions"])

/** A disk that is full or failing, which is tried again as for every commit, and a stream that was compacted meanwhile. */
const passing: ReadonlySet<string> = new Set(["DiskFullError", "ArchiveIoError", "StreamChangedError"])

/** Anything else is a defect, which ends this life. */
const failureOf = (cause: unknown): ArchivingFailed => {
  if (cause instanceof ArchivingFailed) return cause
  if (cause instanceof TargetError)
    return new ArchivingFailed({ message: cause.message, isLasting: lasting.has(cause.code) })
  if (isStreamError(cause) || isArchiveError(cause))
    return new ArchivingFailed({ message: cause.message, isLasting: !passing.has(cause._tag) })
  return new ArchivingFailed({ message: messageOf(cause), isLasting: false })
}
