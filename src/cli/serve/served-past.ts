/** What `reel serve` serves: a data directory, a running recorder, a trace in a file, a pipe or an object store. */
import { stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { NotARecordingError } from "../../archive/archive-errors.ts"
import { formatGvk } from "../../kube/gvk.ts"
import type { Detect } from "../../kube/scanner/object/detect-rules.ts"
import { decodeRecorderState, type RecorderState, recorderStateKey } from "../../recorder/status/recorder-state.ts"
import { ArchivePast, JoinedPast, NothingToServe, type Past, TracePast } from "../../serve/index.ts"
import { fileSpool } from "../../trace/spool.ts"
import { recorderAt } from "../export/connection/recorder-connection.ts"
import { recorderToken, userAgent } from "../export/connection/recorder-place.ts"
import { openSource } from "../replay/replay-source.ts"
import { RecorderPast } from "./recorder-past.ts"

/** What of an object can be older than the moment that is shown, where not every change of it counts. */
const unrecorded: Readonly<Record<Detect, ReadonlyArray<string>>> = {
  all: [],
  // Readiness is <unknown>, and a warning says so where it is.
  content: [],
  spec: ["only changes of its spec were recorded: everything else may be older"],
}

interface PastSurroundings {
  /** Only of what a running recorder has. Default: everything. */
  readonly namespace?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Ends reading. */
  readonly signal: AbortSignal
}

/** One past of all sources. Rejects with NothingToServe, ArchiveError, ExportError, SpoolError and the errors of sources. */
export const openPasts = async (sources: ReadonlyArray<string>, surroundings: PastSurroundings): Promise<Past> => {
  const pasts: Past[] = []
  try {
    for (const source of sources) pasts.push(await openPast(source, surroundings))
  } catch (error) {
    for (const past of pasts) past.close()
    throw error
  }
  const [only, ...others] = pasts
  return only !== undefined && others.length === 0 ? only : new JoinedPast(pasts)
}

/** Rejects with NothingToServe, ArchiveError, ExportError, SpoolError and the errors of sources. */
export const openPast = async (source: string, surroundings: PastSurroundings): Promise<Past> => {
  const recorder = recorderUrl(source)
  if (recorder !== undefined) return openRecorder(recorder, surroundings)
  const status = await stat(source).catch(() => undefined)
  if (status?.isDirectory() === true) return openDirectory(source)
  const window = { from: undefined, to: undefined, duration: undefined }
  const order = { trace: source, recorder: undefined, window, format: undefined, repetitions: 1 }
  const opened = await openSource(order, surroundings)
  try {
    return await TracePast.read(opened.name, await opened.open(), () => fileSpool(tmpdir()))
  } finally {
    opened.close()
  }
}

/** `undefined`: the source is something else; traces have a path. */
export const recorderUrl = (source: string): URL | undefined => {
  const url = /^https?:\/\//.test(source) ? URL.parse(source) : null
  return url !== null && url.pathname === "/" && url.search === "" ? url : undefined
}

/** ms without a byte. */
const recorderSilentMs = 120_000

const openRecorder = async (url: URL, { environment, namespace }: PastSurroundings): Promise<Past> => {
  const recorder = recorderAt(url, await recorderToken(undefined, environment), "the URL")
  const address = { recorder, idleTimeoutMs: recorderSilentMs, userAgent: userAgent() }
  return RecorderPast.open(address, { namespace, remarksOn: (detect) => unrecorded[detect as Detect] ?? [] })
}

const openDirectory = (directory: string): Past => {
  let decoded: RecorderState | undefined
  let text: string | undefined
  const remarksOn = (gvk: string, metadata: ReadonlyMap<string, string>): ReadonlyArray<string> => {
    const given = metadata.get(recorderStateKey) ?? ""
    if (given !== text) [text, decoded] = [given, decodeRecorderState(given)]
    return unrecorded[decoded?.kinds.find((kind) => formatGvk(kind.gvk) === gvk)?.detect ?? "all"]
  }
  try {
    return ArchivePast.open(directory, { remarksOn })
  } catch (error) {
    if (!(error instanceof NotARecordingError)) throw error
    const reason = `it is a directory, but ${error.reason}; name a trace, or the data directory of a recorder`
    throw new NothingToServe({ source: directory, reason })
  }
}
