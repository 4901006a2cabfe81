/** The options of a watch session: its access to the server, its sink, time and randomness, and where the recording ends. */
import type { Clock } from "../../clock.ts"
import type { GroupVersionKind } from "../gvk.ts"
import type { ReadTransport } from "../http/transport.ts"
import type { LineBudget } from "../scanner/line-budget.ts"
import type { DetectRules } from "../scanner/object/detect-rules.ts"
import type { VersionClock } from "./liveness/version-clock.ts"
import type { WatchPolicy } from "./protocol/policy.ts"
import type { Input } from "./protocol/protocol.ts"
import type { SessionListener, WatchSink } from "./sink.ts"
import type { Selection } from "./streams/request.ts"

/** One-off requests around the watch; each resolves to exactly one input for the machine. */
export interface Enquiries {
  /** Looks up whether and where the kind is installed. `found` is called before the promise resolves. */
  discover(found: (path: string) => void): Promise<Input>
  probe(selection: Selection): Promise<Input>
}

/** How a kind is listed. Plain data. */
export interface ListManner {
  /** Never as a streaming list: its server is known not to support them well. */
  readonly inPages: boolean
  /** Pages and whole lists may be compressed; streaming lists never are. */
  readonly gzip: boolean
}

/** Everything a session needs; it reads nothing from elsewhere. */
export interface SessionOptions {
  readonly transport: ReadTransport
  readonly enquiries: Enquiries
  readonly sink: WatchSink
  readonly listener: SessionListener
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly policy: WatchPolicy
  /** The kind that is watched: its objects get these names where a list omits them. */
  readonly gvk: GroupVersionKind
  readonly rules: DetectRules
  /** For lines that are larger than ordinary objects. Default: each may have 16 MiB. */
  readonly lineBudget?: LineBudget | undefined
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  /** Default: as a streaming list, otherwise in pages, uncompressed. */
  readonly lists?: ListManner | undefined
  /** The recording is complete up to this version, according to the store; `undefined`: the session lists. */
  readonly resumeVersion: string | undefined
  /** µs since the Unix epoch at which it was known to be complete up to there. Default: unknown, so nothing counts as late for having been missed. */
  readonly liveUntil?: number | undefined
  /** The kind is about to be installed, or just was: if it is not found, it is looked for more often for a while. Default false. */
  readonly isExpected?: boolean
  /** What the watches of other kinds know about the time of versions. Default: nothing. */
  readonly versions?: VersionClock | undefined
  /** UID of namespace kube-system when it was last read. */
  readonly clusterUid: string | undefined
}
