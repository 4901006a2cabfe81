/**
 * The past in a recorder's data directory, which is only read: a recorder may be running there. It reaches as far as what was recorded when it was
 * opened, or last refreshed.
 *
 * Reading is synchronous and happens in turns of {@link turnMs}. Methods reject with an ArchiveError.
 */
import {
  ArchiveReader,
  databaseIdentity,
  decodeDiscovery,
  discoveryKey,
  type KindState,
  keptSettings,
  openForReading,
  RecordingDisturbedError,
  RetentionOutranError,
  readGaps,
  readRecordingFacts,
  takeLease,
} from "../../archive/index.ts"
import { isStatusKnown, parseResourceVersion, type StatusRecorded } from "../../kube/offline.ts"
import { type GapEvent, type ObjectEvent, podLivesKind } from "../../trace/index.ts"
import { NothingToServe } from "./nothing-to-serve.ts"
import { batchBytes, type Past, type PastChange, type PastKind, type Shortcomings, statusRemark } from "./past.ts"

/** ms of reading between two turns of the event loop. */
const turnMs = 8

interface ArchivePastOptions {
  /** What the recorder's settings say about a kind, one sentence each without a full stop. Default: nothing. `metadata`: of the recording. */
  readonly remarksOn?: (gvk: string, metadata: ReadonlyMap<string, string>) => ReadonlyArray<string>
  /** For people. Default: the directory. */
  readonly name?: string
  /** Has the directory grow, if something else than a recorder does that. Called before it is looked at again. */
  readonly update?: () => Promise<unknown>
  readonly onClose?: () => void
}

/** What a directory has, up to a cut. */
interface Extent {
  readonly cut: number
  readonly begin: number
  readonly end: number
  readonly kinds: ReadonlyArray<PastKind>
  readonly statusOf: (gvk: string) => StatusRecorded
}

export class ArchivePast implements Past {
  readonly name: string
  readonly #directory: string
  readonly #options: ArchivePastOptions
  /** How many reads under way use a reader. */
  readonly #reads = new Map<ArchiveReader, number>()
  #reader: ArchiveReader
  /** Of the file that it reads. */
  #identity: number
  #extent: Extent

  /** @throws NothingToServe, ArchiveError */
  static open(directory: string, options: ArchivePastOptions = {}): ArchivePast {
    const reader = ArchiveReader.open(directory)
    try {
      return new ArchivePast(directory, options, reader)
    } catch (error) {
      reader.close()
      throw error
    }
  }

  private constructor(directory: string, options: ArchivePastOptions, reader: ArchiveReader) {
    this.name = options.name ?? directory
    this.#directory = directory
    this.#options = options
    this.#reader = reader
    this.#identity = databaseIdentity(directory)
    this.#extent = extentOf(directory, reader, options)
  }

  get begin(): number {
    return this.#extent.begin
  }

  get end(): number {
    return this.#extent.end
  }

  get kinds(): ReadonlyArray<PastKind> {
    return this.#extent.kinds
  }

  async refresh(): Promise<void> {
    await this.#options.update?.()
    this.#extent = extentOf(this.#directory, this.#soundReader(), this.#options)
  }

  async *stateAt(gvk: string, time: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const { cut } = this.#extent
    const status = this.#extent.statusOf(gvk)
    const isKnown = (event: ObjectEvent): boolean => isStatusKnown(status, event.time, time)
    yield* this.#inTurns(gvk, time, isKnown, (reader) => reader.snapshotAt({ cut, time: time + 1, kinds: [gvk] }))
  }

  async *changes(gvk: string, after: number, through: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const { cut } = this.#extent
    const window = { cut, fromTime: after + 1, untilTime: through + 1, kinds: [gvk] }
    const status = this.#extent.statusOf(gvk)
    const isKnown = (event: ObjectEvent): boolean => isStatusKnown(status, event.time, event.time)
    yield* this.#inTurns(gvk, after, isKnown, (reader) => reader.events(window))
  }

  async shortcomings(gvk: string, time: number): Promise<Shortcomings> {
    const { cut } = this.#extent
    const reader = this.#soundReader()
    const window = { cut, fromTime: time, untilTime: time + 1, kinds: [gvk] }
    const gaps = reader.gaps(window).filter((gap) => gap.reason === "damaged" || isOpenAt(gap, time))
    const found = { gaps, late: reader.lateRanges(window) }
    reader.requireUndisturbed()
    return found
  }

  close(): void {
    this.#reader.close()
    this.#options.onClose?.()
  }

  /** `from`: what is read is of that moment and later ones. */
  async *#inTurns(
    gvk: string,
    from: number,
    isKnown: (event: ObjectEvent) => boolean,
    read: (reader: ArchiveReader) => Generator<ObjectEvent | GapEvent, void, void>,
  ): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    // Retention may be about to remove what is read.
    using _lease = takeLease(this.#directory, { fromTime: from, purpose: "reel serve" })
    const reader = this.#soundReader()
    using _reading = this.#reading(reader)
    this.#requireKept(reader, gvk, from)
    const events = read(reader)
    for (let isOver = false; !isOver; ) {
      const batch: PastChange[] = []
      const endMs = performance.now() + turnMs
      for (let bytes = 0; bytes < batchBytes && performance.now() < endMs; ) {
        const next = events.next()
        isOver = next.done === true
        if (next.done === true) break
        if (next.value.type === "gap") continue
        bytes += next.value.object.length
        batch.push(changeOf(next.value, !isKnown(next.value)))
      }
      if (isOver) {
        reader.requireUndisturbed()
        this.#requireKept(reader, gvk, from)
      }
      if (batch.length > 0) yield batch
      await new Promise(setImmediate)
    }
  }

  /** Refuses a read from before the retained history: it would return the oldest retained state as if it were the requested one. */
  #requireKept(reader: ArchiveReader, gvk: string, from: number): void {
    const removedThrough = reader.kinds().find((kind) => kind.gvk === gvk)?.removedThrough ?? 0
    if (from < removedThrough) throw new RetentionOutranError({ directory: this.#directory })
  }

  /** A reader does not follow changes if it was opened before a recorder started in the directory, or before a mirror was removed and made anew. */
  #soundReader(): ArchiveReader {
    const identity = databaseIdentity(this.#directory)
    if (identity !== this.#identity || this.#isDisturbed()) {
      const before = this.#reader
      this.#reader = ArchiveReader.open(this.#directory)
      this.#identity = identity
      if (!this.#reads.has(before)) before.close()
    }
    return this.#reader
  }

  #isDisturbed(): boolean {
    try {
      this.#reader.requireUndisturbed()
      return false
    } catch (error) {
      if (!(error instanceof RecordingDisturbedError)) throw error
      return true
    }
  }

  /** Keeps a reader open until the read ends, although another one may take its place meanwhile. */
  #reading(reader: ArchiveReader): Disposable {
    this.#reads.set(reader, (this.#reads.get(reader) ?? 0) + 1)
    return {
      [Symbol.dispose]: () => {
        const others = (this.#reads.get(reader) ?? 1) - 1
        if (others > 0) this.#reads.set(reader, others)
        else this.#reads.delete(reader)
        if (others === 0 && reader !== this.#reader) reader.close()
      },
    }
  }
}

/** At both of its ends everything is known. */
export const isOpenAt = ({ fromTime, toTime }: GapEvent, time: number): boolean => fromTime < time && time < toTime

const changeOf = (event: ObjectEvent, isStatusUnknown: boolean): PastChange => {
  const { time, action, uid, namespace, name, resourceVersion, sequence } = event
  const version = parseResourceVersion(resourceVersion)
  const isNumbered = version === undefined
  const object = Buffer.from(event.object)
  return {
    time,
    action,
    uid,
    namespace,
    name,
    object,
    version: BigInt(version ?? sequence),
    isNumbered,
    isStatusUnknown,
  }
}

const extentOf = (directory: string, reader: ArchiveReader, { remarksOn }: ArchivePastOptions): Extent => {
  const { cut, lastTime, metadata } = readRecordingFacts(directory)
  const restarts = restartsIn(directory, cut)
  const names = new Map(decodeDiscovery(metadata.get(discoveryKey)).map((kind) => [kind.gvk, kind]))
  const kinds = reader
    .kinds()
    .filter((kind) => kind.gvk !== podLivesKind && sinceOf(kind) !== 0)
    .map((kind) => ({
      gvk: kind.gvk,
      since: sinceOf(kind),
      restarts: restarts.get(kind.gvk) ?? [],
      remarks: [...selectionRemark(kind), ...(remarksOn?.(kind.gvk, metadata) ?? [])],
      statusRemark,
      names: names.get(kind.gvk),
    }))
  if (kinds.length === 0) throw new NothingToServe({ source: directory, reason: "no kind is recorded in it yet" })
  // Kinds that were added later appear later.
  const begin = reader.firstLists()?.whole ?? Math.min(...kinds.map(({ since }) => since))
  return { cut, begin, end: Math.max(begin, lastTime), kinds, statusOf: keptSettings(metadata).statusOf }
}

/** Redaction is in the watcher's selection (src/actors/watcher/selection.ts) as well, but leaves no object out, and what it replaced is seen as that. */
const selectionRemark = ({ selection }: KindState): ReadonlyArray<string> => {
  const objects = selection.replace(/; values redacted \([^)]*\)$/, "")
  return objects === "" || objects === "all namespaces" ? [] : [`only a part was recorded: ${objects}`]
}

/** When the first list of a kind was complete; of one that is recorded namespace by namespace, the first of its first lists. 0: not yet. */
const sinceOf = ({ recordedSince, namespaces }: KindState): number => {
  const all = [recordedSince, ...namespaces.map((each) => each.recordedSince)].filter((since) => since !== 0)
  return all.length === 0 ? 0 : Math.min(...all)
}

const restartsIn = (directory: string, cut: number): ReadonlyMap<string, PastKind["restarts"]> => {
  const database = openForReading(directory)
  try {
    const restarts = new Map<string, Array<PastKind["restarts"][number]>>()
    for (const { gvk, reason, fromTime, toTime } of readGaps(database, { cut }))
      if (reason === "cluster-restored")
        restarts.set(gvk, [...(restarts.get(gvk) ?? []), { from: fromTime, to: toTime }])
    return restarts
  } finally {
    database.close()
  }
}
