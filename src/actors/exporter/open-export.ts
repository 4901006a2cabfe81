/**
 * One export as a sequence of pieces: reads the window, filters, encodes.
 *
 * Everything that can be rejected is rejected before the first piece. The reader, its connection and the spool are closed when the sequence
 * ends, in any way.
 */
import { tmpdir } from "node:os"
import { ArchiveReader, keptSettings, openedWindow, readRecordedSince, redactedIn } from "../../archive/index.ts"
import { isStatusKnown } from "../../kube/offline.ts"
import {
  type CompiledFilters,
  type Compression,
  compileFilters,
  compressed,
  DriverLimits,
  encodeTrackedObjects,
  exactJsonIn,
  fileSpool,
  htmlEncoder,
  isJsonObject,
  kwokEncoder,
  type LateChanges,
  namespacedName,
  type OwnedLifecycles,
  type OwnerReference,
  type Ownership,
  type PodLifecycle,
  readTrackedObjects,
  SimkubeTraceWriter,
  type Spool,
  spoolWithReserve,
  type TrackedObjects,
} from "../../trace/index.ts"
import type { Program } from "../../trace/transform/index.ts"
import { encodeItems, encodeNdjson, encodeSimkube } from "./encode-window.ts"
import { type ExportWindow, type OpenedJob, readWindow, replayedWindow, timesOf } from "./export-window.ts"
import type { ExporterConfig, ExportJob, StartedTrace } from "./exporter-interface.ts"
import { incompleteKinds } from "./incomplete-kinds.ts"
import { transformedExport } from "./transformed-export.ts"
import { type OwnersInExport, ownersInExport } from "./window-owners.ts"

// The pod lifecycles of a window, as SimKube's format groups them: by the first owner in the trace that tracks them, then by the hash of
// the pod's stable spec, in order of first observation.
//
// SimKube's rules (docs/facts/simkube.md#pod-lifecycles), with these differences: pods are identified by UID, so a reused name adds a
// lifecycle instead of overwriting one (W-30); a pod that spans the whole window is kept (W-33); the owner of a pod is determined by the export, with
// everything that is known of the window, not when its first message happened to arrive (W-32). A pod that ends at or after the end of the window runs in
// it, whenever the window is exported.

/** Start and end are whole seconds since the Unix epoch. */
interface PodLife {
  readonly namespace: string
  readonly name: string
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  readonly specHash: bigint
  readonly start: number
  readonly end: number | undefined
}

interface LifecycleWindow {
  /** µs since the Unix epoch; start inclusive, end exclusive. */
  readonly fromTime: number
  readonly untilTime: number
  /** Kinds with `trackLifecycle`. */
  readonly tracked: ReadonlySet<string>
  readonly ownership: Ownership
  /** Whether the trace's index has `namespace/name` (or `name`) of a kind. */
  readonly isIndexed: (gvk: string, name: string) => boolean
}

const second = 1_000_000
const podKind = "v1.Pod"

/** Reads and groups when iterated, which must be after the trace's index is complete. Memory: one entry per pod. */
function* windowLifecycles(
  lives: () => Iterable<PodLife>,
  window: LifecycleWindow,
): Generator<OwnedLifecycles, void, void> {
  const fromSeconds = Math.floor(window.fromTime / second)
  const untilSeconds = Math.ceil(window.untilTime / second)
  const owned = new Map<string, { gvk: string; owner: string; pods: Map<bigint, Array<PodLifecycle>> }>()
  for (const life of lives()) {
    const isOutside = life.start >= untilSeconds || (life.end !== undefined && life.end < fromSeconds)
    if (isOutside) continue
    const owner = ownerInTrace(life, window)
    if (owner === undefined) continue
    const key = `${owner.gvk} ${owner.owner}`
    const entry = owned.get(key) ?? { ...owner, pods: new Map<bigint, Array<PodLifecycle>>() }
    owned.set(key, entry)
    const list = entry.pods.get(life.specHash) ?? []
    entry.pods.set(life.specHash, list)
    const start = Math.max(life.start, fromSeconds)
    list.push(
      life.end === undefined || life.end * second >= window.untilTime
        ? { state: "running", start }
        : { state: "finished", start, end: Math.max(life.end, start) },
    )
  }
  yield* owned.values()
}

/** The first owner in the chain that is in the trace and tracks lifecycles; for a pod without owners, the pod itself. */
const ownerInTrace = (
  life: PodLife,
  { tracked, ownership, isIndexed }: LifecycleWindow,
): { readonly gvk: string; readonly owner: string } | undefined => {
  if (life.ownerReferences.length === 0) {
    const owner = namespacedName(life.namespace, life.name)
    return tracked.has(podKind) && isIndexed(podKind, owner) ? { gvk: podKind, owner } : undefined
  }
  for (const { gvk, name } of ownership.ancestors(life.ownerReferences)) {
    if (!tracked.has(gvk)) continue
    // An owner is in its object's namespace, or in none.
    for (const owner of [namespacedName(life.namespace, name), name]) {
      if (isIndexed(gvk, owner)) return { gvk, owner }
    }
  }
  return undefined
}

// What SimKube's driver cannot do with an export, known before the export begins: from the first objects of each kind that could be
// concerned. Those are few: all that SimKube knows but ReplicaSets are fine.

/** Objects and changes of a kind that are looked at, and how many of those that are filtered out. */
const mostObjects = 20
const mostLooked = 1000

/** @param windowOf reads the export's window for one kind only */
const driverWarnings = (
  trackedObjects: TrackedObjects,
  kinds: ReadonlyArray<string>,
  windowOf: (gvk: string) => ExportWindow,
): ReadonlyArray<string> => {
  const limits = new DriverLimits(trackedObjects)
  for (const gvk of kinds) if (limits.concerns(gvk)) look(limits, gvk, windowOf(gvk))
  return limits.warnings
}

const look = (limits: DriverLimits, gvk: string, window: ExportWindow): void => {
  let [objects, looked] = [0, 0]
  for (const events of [window.snapshot(), window.events()])
    for (const event of events) {
      if (++looked > mostLooked || objects === mostObjects) return
      if (event?.type !== "object" || event.action !== "applied") continue
      objects++
      // The export itself reports what is not JSON.
      const object = exactJsonIn(event.object)
      if (isJsonObject(object)) limits.observe(gvk, event.namespace, object)
    }
}

export interface OpenExport {
  /** What is known before the first piece; gaps and late changes are those of the requested namespaces. */
  readonly started: StartedTrace
  /** Changes left out because they change nothing for a replay; final after the last piece. */
  readonly unchanged: () => number
  /** Encoded bytes, in pieces of about 64 KiB; empty pieces are pauses. After the last one the reader is closed. */
  readonly pieces: AsyncGenerator<Uint8Array, void>
  /** Abandons the rest, also before the first piece. May be called again. Resolves when everything is closed. */
  close(): Promise<void>
}

/** The exporter's configuration, and the module that runs programs in other threads. */
export interface OpenExportConfig extends ExporterConfig {
  readonly transformer?: URL
}

/** @throws InvalidSelectorError, ArchiveError: the request cannot be met. */
export const openExport = (
  { directory, spoolDirectory = directory, transformer }: OpenExportConfig,
  requested: ExportJob,
): OpenExport => {
  if (requested.untilTime < requested.fromTime)
    throw new Error(`the window ends (${requested.untilTime} µs) before it starts (${requested.fromTime} µs)`)
  const filters = compileFilters(requested.filters)
  const configured = readTrackedObjects(requested.trackedObjects as Parameters<typeof readTrackedObjects>[0])
  if (configured === undefined) throw new Error("trackedObjects is not a map of kinds")
  const tracked = new Map([...configured].filter(([gvk]) => !filters.excludesKind(gvk)))
  const kinds = [...tracked.keys()]
  const leftOut = requested.format === "simkube" ? encodeTrackedObjects(tracked).leftOut : []
  const reader = ArchiveReader.open(directory)
  let isOpen = true
  const closeReader = (): void => {
    if (isOpen) reader.close()
    isOpen = false
  }
  try {
    const streams = [...new Set([...kinds, ...(requested.podStreams ?? [])])]
    const { cut, fromTime, untilTime } = requested
    // A gap may lie before the beginning of the recording: what was recorded there was lost.
    const gaps = reader
      .gaps({ cut, fromTime, untilTime, kinds: streams })
      .filter((gap) => !filters.excludesGap(gap)).length
    const incomplete =
      requested.requested === undefined
        ? []
        : incompleteKinds(requested.requested, { fromTime, untilTime }, () => readRecordedSince(directory))
    const { start, listed } = openedWindow(reader.firstLists(), fromTime, untilTime)
    const job: OpenedJob = { ...requested, fromTime: start, listed, requestedFrom: fromTime }
    const late = lateInWindow(reader, job, streams, filters)
    // A kind that the format cannot represent is not in the trace, so a replay creates nothing from it.
    const written = kinds.filter((gvk) => !leftOut.includes(gvk))
    const owners = ownersInExport(reader, job, written, filters)
    const window = readWindow(reader, job, kinds, filters, owners.rules())
    const metadata = reader.metadata()
    const redacted = redactedIn(metadata).filter(({ gvk }) => !filters.excludesKind(gvk))
    const header = headerOf(job, { kinds, late, incomplete }, metadata)
    const warnings =
      job.format === "simkube"
        ? driverWarnings(tracked, written, (gvk) => readWindow(reader, job, [gvk], filters, owners.rules()))
        : []
    let unchanged = (): number => 0
    const encode = {
      ndjson: () => {
        if (job.sanitise !== "replay") return encodeNdjson(header, window)
        const replayed = replayedWindow(window, owners.isInTrace)
        unchanged = () => replayed.unchanged
        return encodeNdjson({ ...header, sanitised: "replay" }, replayed)
      },
      simkube: () => {
        const counting = (writer: SimkubeTraceWriter): void => {
          unchanged = () => writer.unchanged
        }
        return spooledSimkube(reader, window, owners, job, tracked, spoolDirectory, counting)
      },
      html: () => encodeItems(header, window, htmlEncoder()),
      kwok: () => {
        const encoder = kwokEncoder(owners)
        unchanged = () => encoder.leftOut.unchanged
        return encodeItems({ ...header, sanitised: "replay" }, window, encoder)
      },
    }
    const encodeTransformed = (program: Program): AsyncGenerator<Uint8Array, void> => {
      if (transformer === undefined) throw new Error("this exporter cannot run programs")
      return transformedExport(
        {
          // SimKube's format ends where nothing more is known.
          header:
            job.format === "simkube"
              ? { ...header, window: { start: job.fromTime, end: knownUntil(reader, job) } }
              : header,
          window: () => readWindow(reader, job, kinds, filters, owners.rules()),
          ...(job.format === "simkube" && { trackedObjects: job.trackedObjects }),
          lifecycles: (isIndexed) => lifecyclesOf(reader, job, { tracked, ownership: owners.ownership, isIndexed }),
        },
        { program, format: job.format, transformer, openSpool: () => spoolIn(spoolDirectory) },
        (encoder) => {
          unchanged = () => encoder.leftOut.unchanged
        },
      )
    }
    const produced = job.program === undefined ? encode[job.format]() : encodeTransformed(job.program as Program)
    const encoded = closing(produced, () => reader.requireUndisturbed(), closeReader)
    const { compression = "none" } = job
    const pieces = compression === "none" ? encoded : compressPieces(encoded, compression)
    const close = async (): Promise<void> => {
      // Waits for a running piece, which may be reading.
      await pieces.return()
      await encoded.return()
      // A generator that has not started ends without running its `finally`.
      closeReader()
    }
    return {
      started: { gaps, late, incomplete, leftOut, warnings, redacted },
      ...{ unchanged: () => unchanged(), pieces, close },
    }
  } catch (cause) {
    closeReader()
    throw cause
  }
}

/** `finish` may still fail the trace, whose end then never comes. */
async function* closing(
  pieces: AsyncIterable<Uint8Array>,
  finish: () => void,
  close: () => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* pieces
    finish()
  } finally {
    close()
  }
}

/** Pieces with their own memory. Pauses are passed on as turns of the event loop; the codec works in libuv's threads. */
async function* compressPieces(
  pieces: AsyncGenerator<Uint8Array, void>,
  compression: Compression,
): AsyncGenerator<Uint8Array, void> {
  // The consumer releases the memory of each piece, and the codec puts several into one buffer.
  for await (const piece of compressed(withoutPauses(pieces), compression)) yield Uint8Array.from(piece)
}

async function* withoutPauses(pieces: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    if (piece.length > 0) yield piece
    else await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

/** Some 200 bytes each in the first line of a trace, which readers keep in memory. */
const mostLateRanges = 1000

/** The late ranges that concern the window and its namespaces, in the order of the times from which on their changes may have happened. */
const lateInWindow = (
  reader: ArchiveReader,
  job: ExportJob,
  kinds: ReadonlyArray<string>,
  filters: CompiledFilters,
): ReadonlyArray<LateChanges> => {
  const { cut, fromTime, untilTime } = job
  const late = reader
    .lateRanges({ cut, fromTime, untilTime, kinds, ...timesOf(job) })
    .filter((range) => !filters.excludesGap(range))
  return late.length > mostLateRanges ? joined(late) : late
}

/** One range for each kind and cause, around all of them: less exact, and still true. */
const joined = (late: ReadonlyArray<LateChanges>): ReadonlyArray<LateChanges> => {
  const all = new Map<string, LateChanges>()
  for (const range of late) {
    const key = `${range.gvk} ${range.cause}`
    const before = all.get(key) ?? { ...range, events: 0 }
    all.set(key, {
      ...before,
      namespace: before.namespace === range.namespace ? range.namespace : "",
      notAfter: Math.max(before.notAfter, range.notAfter),
      receivedFrom: Math.min(before.receivedFrom, range.receivedFrom),
      receivedTo: Math.max(before.receivedTo, range.receivedTo),
      events: before.events + range.events,
    })
  }
  return [...all.values()]
}

const headerOf = (
  job: OpenedJob,
  { kinds, late, incomplete }: Pick<StartedTrace, "late" | "incomplete"> & { readonly kinds: ReadonlyArray<string> },
  metadata: ReadonlyMap<string, string>,
) => {
  const clusterUid = metadata.get("clusterUid")
  const { statusOf } = keptSettings(metadata)
  const withoutStatus = kinds.filter((gvk) => !isStatusKnown(statusOf(gvk), job.fromTime, job.untilTime))
  return {
    window: { start: job.fromTime, end: job.untilTime },
    cut: job.cut,
    kinds,
    incomplete: [
      ...incomplete.map(({ gvk, namespace, state }) => ({ gvk, ...(namespace !== "" && { namespace }), state })),
      ...job.incomplete,
    ],
    ...(late.length > 0 && { late }),
    ...(job.times === "received" && { times: job.times }),
    ...(withoutStatus.length > 0 && { withoutStatus }),
    ...(job.requestedFrom < job.fromTime && { livesFrom: job.requestedFrom }),
    ...(clusterUid !== undefined && { clusterUid }),
  }
}

async function* spooledSimkube(
  reader: ArchiveReader,
  window: ExportWindow,
  { ownership, keptOwners }: OwnersInExport,
  job: OpenedJob,
  trackedObjects: TrackedObjects,
  spoolDirectory: string,
  counting: (by: SimkubeTraceWriter) => void,
): AsyncGenerator<Uint8Array, void> {
  using spool = spoolIn(spoolDirectory)
  const startSeconds = Math.floor(job.fromTime / 1_000_000)
  const writer = new SimkubeTraceWriter({
    trackedObjects,
    startSeconds,
    endMarkerSeconds: Math.ceil(knownUntil(reader, job) / 1_000_000),
    spool,
  })
  counting(writer)
  const isIndexed = (gvk: string, name: string): boolean => writer.isIndexed(gvk, name)
  const lifecycles = lifecyclesOf(reader, job, { tracked: trackedObjects, ownership, isIndexed })
  yield* encodeSimkube(window, writer, lifecycles, keptOwners)
}

/** Of the pods in the window, when the trace's index is complete. */
const lifecyclesOf = (
  reader: ArchiveReader,
  job: OpenedJob,
  {
    tracked,
    ...trace
  }: { readonly tracked: TrackedObjects } & Pick<Parameters<typeof windowLifecycles>[1], "ownership" | "isIndexed">,
): Iterable<OwnedLifecycles> => {
  const { cut, requestedFrom, untilTime } = job
  return windowLifecycles(() => reader.podLives({ cut, untilTime, ...timesOf(job) }), {
    // Pods of the first lists may have ended before the recording began.
    ...{ ...trace, fromTime: requestedFrom, untilTime },
    tracked: new Set([...tracked].flatMap(([gvk, { trackLifecycle }]) => (trackLifecycle ? [gvk] : []))),
  })
}

/** A full or read-only volume of the recording is no reason to export nothing from it. */
const spoolIn = (directory: string): Spool =>
  directory === tmpdir()
    ? fileSpool(directory)
    : spoolWithReserve(
        () => fileSpool(directory),
        () => fileSpool(tmpdir()),
      )

/** Time up to which silence means that nothing happened: what follows the recording is unknown (W-34). µs since the Unix epoch. */
const knownUntil = (reader: ArchiveReader, { fromTime, untilTime, knownUntil: known = 0 }: ExportJob): number => {
  const times = reader
    .kinds()
    .map(({ completeThroughTime, lastEventTime }) => Math.max(completeThroughTime, lastEventTime))
  return Math.min(untilTime, Math.max(fromTime, known, ...times))
}
