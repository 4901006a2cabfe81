/** What `reel record` passes to the recorder: the options, and where to say what happens. */
import type { ExitCode } from "../command-line/exit-codes.ts"
import type { LogFormat, Logger } from "../terminal/log.ts"
import type { RecordAccess } from "./record-access.ts"
import type { RecorderStatus } from "./status-line.ts"

/** Everything the command line says about a recording. */
export interface RecordOptions extends RecordAccess {
  /** Path of the configuration. */
  readonly config: string
  /** Path of a kubeconfig; `undefined`: KUBECONFIG, ~/.kube/config, or the pod's own service account. */
  readonly kubeconfig: string | undefined
  /** Context of the kubeconfig; `undefined`: its current one. */
  readonly context: string | undefined
  /** TCP port of the HTTP interface; 0 lets the system choose one. */
  readonly port: number
  /** Address or host name the HTTP interface listens on. */
  readonly bind: string
  /** Directory of the recording; `undefined`: a new temporary one. */
  readonly dataDir: string | undefined
  /** Namespaces to record, for kinds that name none in the configuration; empty: the whole cluster. */
  readonly namespaces: readonly string[]
  readonly logFormat: LogFormat
  /** How often `-v` was given. */
  readonly verbosity: number
  readonly allowSecrets: boolean
  readonly fsync: "interval" | "always"
}

/** Where a recorder says what happens. */
export interface RecordOutput {
  readonly log: Logger
  /** May be called as often as there is news; does nothing when there is no terminal. */
  readonly showStatus: (status: RecorderStatus) => void
  /** Whether there is somebody to show it to. */
  readonly isLive: boolean
}

/** Runs until it is stopped or fails; answers the exit code. Handles SIGINT and SIGTERM itself, because stopping takes time. */
export type RunRecorder = (options: RecordOptions, output: RecordOutput) => Promise<ExitCode>
