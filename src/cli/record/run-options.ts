/** What `reel record` passes to the recorder: its options and its output. */
import type { GivenLimits } from "../../recorder/configuration/retention-limits.ts"
import type { LeaseSettings } from "../../recorder/leadership/leadership.ts"
import type { ExitCode } from "../command-line/exit-codes.ts"
import type { LogFormat, Logger } from "../terminal/log.ts"
import type { RecordAccess } from "./record-access.ts"
import type { RecorderStatus } from "./status-line.ts"

/** The options of `reel record`. */
export interface RecordOptions extends RecordAccess {
  /** Path of the configuration; its text, for `--all`; `undefined`: the default one. */
  readonly config: string | { readonly text: string } | undefined
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
  /** The number of `-v` options. */
  readonly verbosity: number
  readonly secretsInPlainText: boolean
  /** File with the key for redacted values; `undefined`: one in the data directory. */
  readonly redactKeyFile: string | undefined
  readonly fsync: "interval" | "always"
  readonly listCompression: "auto" | "always" | "never"
  /** Record only while this Lease is held; `undefined`: record. */
  readonly lease: LeaseSettings | undefined
  /** How long and how much is kept. */
  readonly limits: GivenLimits
}

/** The output of a recorder. */
export interface RecordOutput {
  readonly log: Logger
  /** May be called at any rate; does nothing if there is no terminal. */
  readonly showStatus: (status: RecorderStatus) => void
  /** Whether the status line is shown at all. */
  readonly isLive: boolean
}

/** Runs until it is stopped or fails and resolves with the exit code. Handles SIGINT and SIGTERM itself, because stopping takes time. */
export type RunRecorder = (options: RecordOptions, output: RecordOutput) => Promise<ExitCode>
