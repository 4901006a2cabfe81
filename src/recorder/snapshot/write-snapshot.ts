/**
 * Writes a snapshot of a cluster as a trace: connects, lists what is asked for, encodes it, and hands it to a sink that keeps all of it or
 * nothing. Objects wait in spool files meanwhile, which are gone when it ends, however it ends.
 */
import { tmpdir } from "node:os"
import { type ApiEndpoint, discoverKinds, HttpClient, loadCredentials } from "../../kube/index.ts"
import {
  type Compression,
  compressed,
  fileSpool,
  type LeftOut,
  nothingLeftOut,
  OutputExists,
  OutputFailed,
  type OutputSink,
  openEncoder,
  type Spool,
  SpoolError,
  type TraceFormatName,
  UnwritableTraceError,
} from "../../trace/index.ts"
import type { MissingKind, SnapshotOrder } from "./snapshot-items.ts"
import { type Snapshot, takeSnapshot } from "./snapshot-trace.ts"

/** The cluster to list: as `loadCredentials` reads it. */
interface SnapshotCluster {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** `kubereel/<version>`: how an operator finds the requests in audit logs. */
  readonly userAgent: string
}

interface SnapshotJob {
  readonly cluster: SnapshotCluster
  readonly order: SnapshotOrder
  /** Of the hashes that stand for redacted values. */
  readonly redactionKey: Uint8Array
  readonly format: TraceFormatName
  readonly compression: Compression
  /** Called once the credentials are loaded. */
  readonly openSink: () => Promise<OutputSink>
  readonly signal: AbortSignal
  readonly sleep: (ms: number) => Promise<void>
  /** µs since the Unix epoch. */
  readonly now: () => number
  /** Called after each object that is listed, with all objects so far. */
  readonly onProgress: (objects: number) => void
}

/** A trace that was written, and what it lacks. */
export interface WrittenSnapshot {
  readonly objects: number
  readonly bytes: number
  /** Kinds that could not be listed, but not all of them. */
  readonly missing: ReadonlyArray<MissingKind>
  /** Owners that could not be looked up; their objects were treated as unowned. */
  readonly unknownOwners: ReadonlyArray<string>
  readonly leftOut: LeftOut
}

export type SnapshotOutcome =
  | ({ readonly tag: "written" } & WrittenSnapshot)
  /** No kind could be listed. Nothing was kept. */
  | { readonly tag: "nothing-listed"; readonly missing: ReadonlyArray<MissingKind>; readonly endpoint: ApiEndpoint }
  /** A problem with the kubeconfig, the disk or the format, in words for people. Nothing was kept. */
  | { readonly tag: "failed"; readonly error: Error }
  | { readonly tag: "aborted" }

/** Rejects only for defects. */
export const writeSnapshot = async (job: SnapshotJob): Promise<SnapshotOutcome> => {
  const { redactionKey, signal, sleep, now, onProgress } = job
  const spools: Spool[] = []
  const openSpool = (): Spool => {
    const spool = fileSpool(tmpdir())
    spools.push(spool)
    return spool
  }
  let client: HttpClient | undefined
  let sink: OutputSink | undefined
  try {
    const endpoint = await connect(job.cluster)
    if (endpoint instanceof Error) return { tag: "failed", error: endpoint }
    client = new HttpClient(endpoint, { userAgent: job.cluster.userAgent })
    const order = await withKindsOf(job.order, client)
    if (order instanceof Error) return { tag: "failed", error: order }
    sink = await job.openSink()
    const snapshot = await takeSnapshot(order, {
      client,
      redactionKey,
      signal,
      sleep,
      spool: openSpool(),
      now,
      onProgress,
    })
    const { missing } = snapshot
    if (missing.length === order.kinds.length) {
      await sink.discard()
      return { tag: "nothing-listed", missing, endpoint }
    }
    const written = await write(job, snapshot, sink, openSpool)
    await sink.commit()
    return { tag: "written", ...written, missing, unknownOwners: snapshot.unknownOwners() }
  } catch (cause) {
    await sink?.discard()
    if (signal.aborted) return { tag: "aborted" }
    if (!isExpected(cause)) throw cause
    return { tag: "failed", error: cause }
  } finally {
    client?.close()
    for (const spool of spools) spool[Symbol.dispose]()
  }
}

const withKindsOf = async (order: SnapshotOrder, client: HttpClient): Promise<SnapshotOrder | Error> => {
  if (order.every === undefined) return order
  const found = await discoverKinds(client)
  if (found.tag === "failed") return new Error(`the kinds of the server cannot be discovered: ${found.detail}`)
  return { ...order, kinds: order.every(found.kinds) }
}

const connect = async ({ kubeconfig, context }: SnapshotCluster): Promise<ApiEndpoint | Error> => {
  try {
    const credentials = await loadCredentials({ kubeconfig, context })
    return await credentials.endpoint()
  } catch (cause) {
    if (cause instanceof Error && "_tag" in cause) return cause
    throw cause
  }
}

const write = async (
  { format, compression, signal }: SnapshotJob,
  snapshot: Snapshot,
  sink: OutputSink,
  openSpool: () => Spool,
): Promise<Pick<WrittenSnapshot, "objects" | "bytes" | "leftOut">> => {
  const encoder = await openEncoder(format, { spool: openSpool })
  const written = { objects: 0, bytes: 0, leftOut: nothingLeftOut }
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const item of snapshot.items()) {
      encoder.add(item)
      if (item.type === "event") written.objects++
      const piece = encoder.take()
      if (piece !== undefined) yield piece
    }
    yield* encoder.finish()
    written.leftOut = encoder.leftOut
  }
  for await (const piece of compressed(pieces(), compression)) {
    signal.throwIfAborted()
    await sink.write(piece)
    written.bytes += piece.length
  }
  return written
}

/** Errors of the disk and of the format; everything else is a defect. */
const isExpected = (cause: unknown): cause is Error =>
  cause instanceof OutputExists ||
  cause instanceof OutputFailed ||
  cause instanceof SpoolError ||
  cause instanceof UnwritableTraceError
