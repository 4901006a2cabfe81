/** The options of a watch session: its access to the server, its sink, time and randomness, and where the recording ends. */
import type { Clock } from "../../clock.ts"
import type { ReadTransport } from "../http/transport.ts"
import type { GroupVersionKind } from "../kinds/gvk.ts"
import type { ResourceVersion } from "../resource-version.ts"
import type { LineBudget } from "../scanner/line-splitter.ts"
import type { DetectRules } from "../scanner/object/detect-rules.ts"
import type { Shard } from "../selectors/shard-selector.ts"
import type { ObservedObject } from "./liveness/observed-object.ts"
import type { VersionClock } from "./liveness/version-clock.ts"
import type { Writes } from "./liveness/written-time.ts"
import type { WatchPolicy } from "./protocol/policy.ts"
import type { Input, KindState, ListReason } from "./protocol/protocol.ts"
import type { Selection } from "./streams/request.ts"

// The events that a watch session sends to the recorder: few, and complete for the protocol.

export interface WatchSink {
  /**
   * One object as the server sent it, with kind and apiVersion; the record is reused and valid only during the call. Each version that is not from a list comes once.
   * An exception of the recorder ends the session's thread.
   */
  observed(object: Readonly<ObservedObject>): void
  /**
   * What the version before said about its writes. `new`: there was none on this watch; `unknown`: the sink keeps nothing of such objects. Absent: the sink
   * does not ask when changes happened, and no times are read.
   */
  writesBefore?(object: Readonly<ObservedObject>): Writes | "new" | "unknown"
  /** The kind is complete up to `version`, a change of an object of another shard. Absent: there are no shards. */
  passedOver?(version: ResourceVersion | string): void
  /** All bytes of one network read have been processed. */
  readDone(): void
  /**
   * Objects follow that are the present state. They replace those of an earlier list that was not completed. `detail`, for people: the
   * cause of the list, if the reason does not say it.
   */
  listStarted(reason: ListReason, detail: string | undefined): void
  /** The list is complete: any object not in it is gone. The kind is complete up to `version`. */
  listCompleted(version: string): void
  /** The kind is complete up to `version`, which no event of its own shows (a bookmark). */
  progressed(version: string): void
  /** Until it is false again, what arrives happened before now, and more of it is to come. Absent: it does not matter. */
  behind?(isBehind: boolean): void
  /** The kind is not installed now. Absent: it does not matter. */
  absent?(): void
  /** A new history starts; versions of the old and the new history cannot be compared. */
  epochStarted(detail: string): void
  /** False: stop reading. The sink calls the session's `resume` when it becomes true again. */
  readonly isWritable: boolean
}

/** Receives the state of a watch session; all calls are rare. */
export interface SessionListener {
  stateChanged(state: KindState, detail: string): void
  /** Something an operator should see: malformed lines, repeated relists. */
  alarm(detail: string): void
  /**
   * The current watch ended, but not as the server ends it, and is resumed at once; a state follows. Absent: it is not
   * reported.
   */
  cut?(detail: string): void
  /** The server rejects the credentials (401). */
  unauthorized(): void
  /** UID of namespace kube-system. */
  clusterIdentified(uid: string): void
}

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
  /** Only these objects reach the sink: the server is asked for them alone, and what it sends beside them is passed over. Default: all. */
  readonly shard?: Shard | undefined
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
