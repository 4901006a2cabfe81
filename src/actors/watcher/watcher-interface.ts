/** The watcher's interface: its configuration, its control calls and its reports. */
import * as Schema from "effect/Schema"
import type { ApiEndpoint, KindState, ListManner, Shard, WatchPolicy } from "../../kube/index.ts"
import type { ActorDefinition } from "../../runtime/index.ts"
import type { DiscoveredKind } from "../../wire/index.ts"
import type { KindDefinition } from "./definitions.ts"
import type { NamespaceState } from "./namespace-states.ts"
import type { KindRedaction } from "./objects/redacted-objects.ts"

/** The complete configuration of one watcher; plain data. */
export interface WatcherConfig {
  /** `podLivesKind` for a watcher that watches pods for their lifecycles only. */
  readonly gvk: string
  /** Whether to follow pod lifecycles; only for pods. */
  readonly tracksPods: boolean
  readonly endpoint: ApiEndpoint
  /** `kubereel/<version>`: how an operator finds us in audit logs. */
  readonly userAgent: string
  readonly detect: "all" | "content" | "spec"
  /** JSON pointers that never count as a change. */
  readonly ignore: ReadonlyArray<string>
  readonly keepManagedFields: boolean
  /** Default: objects are recorded as the server sends them. */
  readonly redaction?: KindRedaction | undefined
  /** `skipOwned: ingest`: objects with ownerReferences are not recorded. */
  readonly skipOwned: boolean
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  /** Each is requested by its own path, so that a Role in each is enough. `undefined`: the whole cluster. */
  readonly namespaces: ReadonlyArray<string> | undefined
  /** Default: all objects. */
  readonly shard?: Shard | undefined
  /** Default: as streaming lists, otherwise in pages, uncompressed. */
  readonly lists?: ListManner | undefined
  readonly policy: WatchPolicy
  /**
   * µs since the Unix epoch at which the kind was last known not to be installed. What happened to its objects between then and its first list is a gap. Default:
   * its first list begins the recording.
   */
  readonly unseenSince?: number | undefined
  /** Report each recorded event, for the debug log. Costs a message per event; default off. */
  readonly reportEvents: boolean
  /** Shared with the other watchers: which version the server had when (src/kube/watch/liveness/version-clock.ts). Default: each dates its late changes alone. */
  readonly versions?: SharedArrayBuffer | undefined
  /** Shared with the other watchers: the memory for large lines. Default: each line may have 16 MiB. */
  readonly lines?:
    | { readonly memory: SharedArrayBuffer; readonly slot: number; readonly limitBytes: number }
    | undefined
  /** Bytes that may be in flight to the store, and bytes that may wait here in addition. */
  readonly windowBytes: number
  readonly bufferBytes: number
}

/** What a watcher reports to the recorder; rare, except for `event`. */
export type WatcherReport =
  | {
      readonly type: "state"
      readonly state: KindState
      readonly detail: string
      /** The state of each namespace where the kind is watched namespace by namespace; else empty. */
      readonly namespaces: ReadonlyArray<NamespaceState>
      readonly atMicros: number
    }
  | { readonly type: "alarm"; readonly detail: string }
  /** A watch was cut and is resumed; `watching` follows when it is. */
  | { readonly type: "cut"; readonly detail: string }
  | { readonly type: "unauthorized" }
  | { readonly type: "cluster"; readonly uid: string }
  /** A definition was seen, changed or has gone; only of the watcher of definitions. */
  | { readonly type: "definition"; readonly definition: KindDefinition }
  /** What the server's discovery says of the kind. */
  | { readonly type: "resource"; readonly resource: DiscoveredKind }
  | {
      readonly type: "event"
      readonly action: "applied" | "deleted"
      readonly namespace: string
      readonly name: string
      readonly timeMicros: number
    }

/** Counters since this life began, and gauges. */
export const WatcherStatistics = Schema.Struct({
  /** Objects received, from lists and watches. */
  received: Schema.Number,
  /** Events sent to the store, including deletions that lists imply. */
  recorded: Schema.Number,
  /** New versions without a relevant change. */
  unchanged: Schema.Number,
  /** Events received twice (overlap, resume) and dropped. */
  repeated: Schema.Number,
  /** Objects of other shards, which a server that filters by shards does not send. */
  elsewhere: Schema.Number,
  /** Changes received later than they happened. */
  late: Schema.Number,
  leftOut: Schema.Number,
  gaps: Schema.Number,
  relists: Schema.Number,
  /** Streaming lists that the server did not end. */
  unendedLists: Schema.Number,
  watches: Schema.Number,
  /** Watches that ended other than in order. */
  cuts: Schema.Number,
  bookmarks: Schema.Number,
  malformedLines: Schema.Number,
  slowLines: Schema.Number,
  /** Body bytes read. */
  bytes: Schema.Number,
  /** ms by which the server's clock is ahead of ours. */
  clockSkewMs: Schema.Number,
  liveObjects: Schema.Number,
  /** Pods whose lifecycles are followed: pods that have run and still exist. */
  followedPods: Schema.Number,
  /** Lifecycle changes sent to the store. */
  podLives: Schema.Number,
  /** Pod objects from which no lifecycle could be read. */
  undecodablePods: Schema.Number,
  /** µs since the Unix epoch; 0 before the first event. */
  lastEventTime: Schema.Number,
})

const watcherControl = {
  /** New headers or certificates; requests that wait for them are retried at once. */
  credentials: { payload: Schema.Unknown, success: Schema.Void, error: Schema.Never },
  /** Looks at once for a kind that is not installed. */
  retry: { payload: Schema.Void, success: Schema.Void, error: Schema.Never },
  statistics: { payload: Schema.Void, success: WatcherStatistics, error: Schema.Never },
} as const

export type WatcherControl = typeof watcherControl

export const watcherDefinition: ActorDefinition<WatcherConfig, WatcherControl, WatcherReport> = {
  role: "watcher",
  control: watcherControl,
}
