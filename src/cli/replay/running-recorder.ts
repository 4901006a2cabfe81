/** A window of a running recorder as the source of a replay: exported as NDJSON into a spool, from which it is replayed. */
import { tmpdir } from "node:os"
import { fileSpool, SpooledBytes } from "../../trace/index.ts"
import { type Reading, value } from "../command-line/arguments.ts"
import { type Recorder, recorderAt } from "../export/connection/recorder-connection.ts"
import {
  parseServer,
  parseServiceAddress,
  recorderToken,
  type ServiceAddress,
  userAgent,
} from "../export/connection/recorder-place.ts"
import { requestExport } from "../export/export-client.ts"

/** Which recorder, and how to be let in. */
export interface RecorderRequest {
  readonly place: RecorderPlace
  /** For a Service: kubeconfig and context of the recorded cluster. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly tokenFile: string | undefined
}

/** A URL, or a Service in the recorded cluster. */
type RecorderPlace =
  | { readonly tag: "url"; readonly url: URL }
  | { readonly tag: "service"; readonly address: ServiceAddress }

export const parseRecorderPlace = (given: string): Reading<RecorderPlace> => {
  const service = parseServiceAddress(given)
  if (service._tag === "Value") return value({ tag: "service", address: service.value })
  const url = parseServer(given)
  return url._tag === "Value" ? value({ tag: "url", url: url.value }) : url
}

/** ms without a byte after which the recorder is considered gone. */
const idleTimeoutMs = 120_000

interface WindowRequest {
  readonly recorder: RecorderRequest
  /** µs since the Unix epoch. */
  readonly startTime: number
  readonly endTime: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/** Starts the export; what is exported is read from the result. Rejects with an ExportError, or SpoolError. */
export const exportedWindow = async (
  request: WindowRequest,
): Promise<{ readonly name: string; readonly bytes: SpooledBytes }> => {
  const { startTime, endTime, signal } = request
  const recorder = await findRecorder(request)
  const { pieces } = await requestExport(
    {
      recorder,
      idleTimeoutMs,
      userAgent: userAgent(),
      startTime,
      endTime,
      format: "ndjson",
      compression: "zstd",
    },
    signal,
  )
  return { name: recorder.name, bytes: new SpooledBytes(fileSpool(tmpdir()), pieces) }
}

const findRecorder = async ({ recorder, environment, signal }: WindowRequest): Promise<Recorder> => {
  const { place, kubeconfig, context, tokenFile } = recorder
  const token = await recorderToken(tokenFile, environment)
  if (place.tag === "url") return recorderAt(place.url, token, "--recorder")
  // The code that reaches Services is loaded only when it is needed.
  const { recorderInCluster } = await import("../export/connection/export-in-cluster.ts")
  const { address } = place
  const credentials = { kubeconfig, context, environment, token }
  return recorderInCluster({ ...credentials, address, idleTimeoutMs, userAgent: userAgent(), signal })
}
