/** Runs `reel snapshot`: connects, takes the snapshot, writes it and reports the result. */
import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { backgroundClock } from "../../clock.ts"
import { loadCredentials } from "../../kube/credentials/credentials.ts"
import { HttpClient } from "../../kube/http/http-client.ts"
import type { RecorderConfiguration } from "../../recorder/configuration/tracked-kind.ts"
import { withConnectionAdvice } from "../../recorder/notices/trouble-advice.ts"
import { type Snapshot, takeSnapshot } from "../../recorder/snapshot/snapshot-trace.ts"
import { OutputExists, OutputFailed } from "../../trace/files/output-errors.ts"
import { type OutputSink, openOutputFile, streamOutput } from "../../trace/files/output-file.ts"
import { openEncoder } from "../../trace/formats/codecs.ts"
import { compressed } from "../../trace/formats/compression.ts"
import { withoutCompressionExtension } from "../../trace/formats/compression-names.ts"
import { type LeftOut, nothingLeftOut, UnwritableTraceError } from "../../trace/formats/format.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { compileFilters } from "../../trace/selection/filters.ts"
import { fileSpool, type Spool, SpoolError } from "../../trace/spool.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import type { LabelSelector } from "../export/export-client.ts"
import { createLiveLine } from "../terminal/live-line.ts"
import { formatBytes, formatCount } from "../terminal/quantities.ts"
import { isLive, type Terminal } from "../terminal/terminal.ts"
import { readVersion } from "../version.ts"

/** Dependencies that tests replace. */
export interface SnapshotCommandSurroundings {
  /** µs since the Unix epoch. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The request of the command line. */
export interface SnapshotCommandOrder {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly excludedNamespaces: ReadonlyArray<string>
  readonly excludedLabels: ReadonlyArray<LabelSelector>
  readonly excludeOwned: boolean
  readonly excludeDaemonSetOwned: boolean
  readonly force: boolean
  readonly output: string
  readonly format: TraceFormatName
  readonly configuration: RecorderConfiguration
}

/** Takes the snapshot and reports the result. Rejects only for defects. */
export const runSnapshot = async (
  order: SnapshotCommandOrder,
  terminal: Terminal,
  { now, sleep }: SnapshotCommandSurroundings,
  say: (line: string) => void,
): Promise<ExitCode> => {
  const { output, format, configuration } = order
  const abort = new AbortController()
  const stopListening = terminal.onInterrupt(() => abort.abort())
  const progress = createLiveLine({
    stream: terminal.standardError,
    isEnabled: isLive(terminal.standardError, terminal.environment),
    clock: backgroundClock,
  })
  const spools: Spool[] = []
  const openSpool = (): Spool => {
    const spool = fileSpool(tmpdir())
    spools.push(spool)
    return spool
  }
  let client: HttpClient | undefined
  let sink: OutputSink | undefined
  try {
    const connected = await connect(order)
    if (!(connected instanceof HttpClient)) {
      say(connected.message)
      return exitCodes.failed
    }
    client = connected
    sink = await openSink(order, terminal)
    const snapshot = await takeSnapshot(
      {
        kinds: configuration.kinds,
        filters: compileFilters({
          excluded_namespaces: order.excludedNamespaces,
          excluded_labels: order.excludedLabels,
        }),
        excludeOwned: order.excludeOwned,
        excludeDaemonSetOwned: order.excludeDaemonSetOwned,
      },
      {
        client,
        signal: abort.signal,
        sleep,
        spool: openSpool(),
        now,
        onProgress: (objects) => progress.show(() => `listing: ${formatCount(objects, "object")}`),
      },
    )
    if (snapshot.missing.length === configuration.kinds.length) {
      await sink.discard()
      for (const { gvk, detail } of snapshot.missing) say(`${gvk} cannot be listed: ${withConnectionAdvice(detail)}`)
      return snapshot.missing.every(({ state }) => state === "forbidden") ? exitCodes.notPermitted : exitCodes.failed
    }
    const written = await write(order, snapshot, sink, openSpool, abort.signal)
    await sink.commit()
    progress.close()
    const place = output === "-" ? "standard output" : output
    const counts = `${formatCount(written.objects, "object")}, ${formatBytes(written.bytes)}`
    terminal.standardError.write(`${place}: ${counts}\n`)
    return report(snapshot, written.leftOut, format, say)
  } catch (cause) {
    await sink?.discard()
    progress.close()
    if (abort.signal.aborted) {
      say("interrupted; no file was kept")
      return exitCodes.interrupted
    }
    if (!isExpected(cause)) throw cause
    say(cause.message)
    return cause instanceof OutputExists ? exitCodes.usage : exitCodes.failed
  } finally {
    progress.close()
    stopListening()
    client?.close()
    for (const spool of spools) spool[Symbol.dispose]()
  }
}

/** Problems with the kubeconfig, plugins and files are reported to the user, not thrown. */
const connect = async ({ kubeconfig, context }: SnapshotCommandOrder): Promise<HttpClient | Error> => {
  try {
    const credentials = await loadCredentials({ kubeconfig, context })
    return new HttpClient(await credentials.endpoint(), { userAgent: `kubereel/${readVersion()}` })
  } catch (cause) {
    if (cause instanceof Error && "_tag" in cause) return cause
    throw cause
  }
}

const openSink = async ({ force, output }: SnapshotCommandOrder, terminal: Terminal): Promise<OutputSink> =>
  output === "-"
    ? streamOutput(terminal.standardOutput)
    : openOutputFile(output, { force, token: randomBytes(8).toString("hex") })

const write = async (
  { output, format }: SnapshotCommandOrder,
  snapshot: Snapshot,
  sink: OutputSink,
  openSpool: () => Spool,
  signal: AbortSignal,
): Promise<{ readonly objects: number; readonly bytes: number; readonly leftOut: LeftOut }> => {
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
  const compression = output === "-" ? "none" : withoutCompressionExtension(output).compression
  for await (const piece of compressed(pieces(), compression)) {
    signal.throwIfAborted()
    await sink.write(piece)
    written.bytes += piece.length
  }
  return written
}

const report = (
  { missing, unknownOwners }: Snapshot,
  { objects }: LeftOut,
  format: TraceFormatName,
  say: (line: string) => void,
): ExitCode => {
  for (const { gvk, detail } of missing) say(`the trace is incomplete: ${gvk} could not be listed: ${detail}`)
  const unknown = unknownOwners()
  if (unknown.length > 0)
    say(`owners could not be looked up: ${unknown.join(", ")}. Their objects were treated as unowned`)
  if (objects.size > 0)
    say(`the ${format} format cannot represent ${[...objects.keys()].join(", ")}; --format ndjson includes everything`)
  return missing.length === 0 && unknown.length === 0 ? exitCodes.ok : exitCodes.incomplete
}

/** Errors of the disk and of the format; everything else is a defect. */
const isExpected = (cause: unknown): cause is Error =>
  cause instanceof OutputExists ||
  cause instanceof OutputFailed ||
  cause instanceof SpoolError ||
  cause instanceof UnwritableTraceError
