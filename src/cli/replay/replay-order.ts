/** What the command line requests of a replay. */
import type { ReplayOptions } from "../../simulation/index.ts"
import type { TraceFormatName } from "../../trace/index.ts"
import type { ControlSettings } from "./control/control-server.ts"
import type { TargetRequest } from "./replay-target.ts"
import type { RecorderRequest } from "./running-recorder.ts"

/** The request of the command line. */
export interface ReplayOrder
  extends Pick<
    ReplayOptions,
    | "name"
    | "speed"
    | "concurrency"
    | "maximumLagMs"
    | "onLag"
    | "onConflict"
    | "isStrict"
    | "keep"
    | "namespacePrefix"
    | "placement"
    | "included"
    | "seededStatus"
    | "intoRecordedCluster"
  > {
  /** A path, the address of an object, or `-`. Empty if there is a recorder. */
  readonly trace: string
  /** The running recorder to export the window from. */
  readonly recorder: RecorderRequest | undefined
  /** Kinds that only the trace can explain, for `included` and `seededStatus`. */
  readonly names: { readonly included: ReadonlyArray<string>; readonly seededStatus: ReadonlyArray<string> }
  /** How many times the trace is replayed; `Infinity`: until it is stopped. */
  readonly repetitions: number
  readonly format: TraceFormatName | undefined
  readonly window: Omit<ReplayOptions["window"], "now">
  readonly target: Omit<TargetRequest, "concurrency">
  /** `cluster`: pods live as its nodes decide. */
  readonly pods: "recorded" | "cluster"
  /** Where the API server reaches this process. */
  readonly webhookAddress: { readonly host: string; readonly port: number } | undefined
  /** Where the replay can be controlled over HTTP. */
  readonly control: ControlSettings | undefined
  /** The replay starts although the cluster will refuse some of the trace. */
  readonly isPartial: boolean
  readonly report: string | undefined
  readonly html: string | undefined
  readonly force: boolean
  /** Whether the cluster is recorded and compared with the trace. */
  readonly isJudged: boolean
  /** ms that the cluster may take to settle before the comparison. */
  readonly settleMs: number
  /** Where to keep that recording; `undefined`: nowhere. */
  readonly recording: string | undefined
}
