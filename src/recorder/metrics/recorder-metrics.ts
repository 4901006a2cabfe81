/**
 * The recorder's metrics, gathered on demand: nothing is counted twice or kept between scrapes.
 *
 * An actor's counters start at 0 when the actor is restarted; Prometheus' `rate` handles such resets.
 */
import * as Effect from "effect/Effect"
import { observationsMailbox, type StoreControl, type WatcherControl } from "../../actors/index.ts"
import type { KindState } from "../../kube/index.ts"
import type { ActorStatus, OutboxMetrics } from "../../runtime/index.ts"
import type { RecorderActors } from "../recording/recorder-actors.ts"
import type { KindStatus } from "../status/kind-status.ts"
import type { Metric, Sample } from "./metrics-text.ts"

/** Every state that a kind can be in; each is a series of its own, so that an alert can name it. */
const kindStates: ReadonlyArray<KindState> = [
  ...["listing", "catching-up", "watching", "waiting", "forbidden", "failing", "stopped"],
] as const

/** For a recording that has never looked up an owner. */
const noOwners = { pending: 0, requests: 0, failures: 0 }

/** All metrics at this moment. Metrics of actors that do not reply within a second are omitted. */
export const gatherMetrics = (actors: RecorderActors, nowMicros: number): Effect.Effect<ReadonlyArray<Metric>> =>
  Effect.map(askActors(actors), (answers) => metricsOf(actors, answers, nowMicros))

const askActors = ({ system, watchers, store, owners }: RecorderActors) =>
  Effect.all(
    {
      lives: Effect.promise(() => system.status()),
      kinds: Effect.forEach(
        watchers,
        ({ gvk, watcher }) =>
          Effect.map(known(watcher.call("statistics", undefined, 1000)), (statistics) => ({ gvk, statistics })),
        { concurrency: "unbounded" },
      ),
      store: known(store.call("statistics", undefined, 1000)),
      longestCommitMs: known(store.call("takeLongestCommit", undefined, 1000)),
      owners:
        owners.resolver === undefined
          ? Effect.succeed(noOwners)
          : known(owners.resolver.call("statistics", undefined, 1000)),
    },
    { concurrency: "unbounded" },
  )

type Samples = ReadonlyArray<Sample>
type KindStatistics = WatcherControl["statistics"]["success"]["Type"]
type StoreStatistics = StoreControl["statistics"]["success"]["Type"]

/** A series: its name after `kubereel_`, its help text, and its value; names that end in `_total` are counters. */
type Series<Source> = readonly [name: string, help: string, value: (of: Source) => number]

const kindSeries: ReadonlyArray<Series<KindStatistics>> = [
  ["kind_objects", "Objects that currently exist, according to the recording.", (kind) => kind.liveObjects],
  ["kind_received_total", "Objects received in lists and watches.", (kind) => kind.received],
  ["kind_recorded_total", "Events recorded.", (kind) => kind.recorded],
  ["kind_unchanged_total", "Object versions not recorded because nothing relevant changed.", (kind) => kind.unchanged],
  ["kind_repeated_total", "Events received twice and dropped.", (kind) => kind.repeated],
  [
    "kind_elsewhere_total",
    "Objects of other shards that the API server sent all the same: it does not filter by shards.",
    (kind) => kind.elsewhere,
  ],
  [
    "kind_late_total",
    "Changes recorded later than they happened, so that their times are estimates.",
    (kind) => kind.late,
  ],
  ["kind_gaps_total", "Gaps: ranges of versions that the server no longer had.", (kind) => kind.gaps],
  ["kind_relists_total", "Lists after the first.", (kind) => kind.relists],
  [
    "kind_unended_lists_total",
    "Streaming lists given up for lists in pages, because the server did not end them.",
    (kind) => kind.unendedLists,
  ],
  ["kind_watches_total", "Watches opened.", (kind) => kind.watches],
  [
    "kind_reconnects_total",
    "Watches that ended other than in order: cut, or silent for too long.",
    (kind) => kind.cuts,
  ],
  ["kind_bookmarks_total", "Bookmarks received.", (kind) => kind.bookmarks],
  ["kind_malformed_lines_total", "Watch lines that could not be parsed.", (kind) => kind.malformedLines],
  ["kind_slow_lines_total", "Watch lines that the byte scanner handed to the JSON parser.", (kind) => kind.slowLines],
  ["kind_received_bytes_total", "Body bytes read.", (kind) => kind.bytes],
  [
    "kind_clock_skew_seconds",
    "Seconds by which the API server's clock is ahead of the recorder's.",
    (kind) => kind.clockSkewMs / 1000,
  ],
  [
    "kind_last_event_timestamp_seconds",
    "Unix time of the last event; 0 if there was none.",
    (kind) => kind.lastEventTime / 1e6,
  ],
]

/** Of the one watcher that follows pods, if there is one. */
const podSeries: ReadonlyArray<Series<KindStatistics>> = [
  ["followed_pods", "Existing pods that have started and whose lifecycles are recorded.", (kind) => kind.followedPods],
  ["pod_lives_total", "Recorded changes of pod lifecycles.", (kind) => kind.podLives],
  ["undecodable_pods_total", "Pod objects whose lifecycle could not be decoded.", (kind) => kind.undecodablePods],
]

const recorderSeries: ReadonlyArray<Series<RecorderActors>> = [
  [
    "ready",
    "1 when every kind has finished its first list, and has caught up with what happened before the start.",
    ({ statuses }) => (statuses.isReady ? 1 : 0),
  ],
  [
    "store_failing",
    "1 while the recording cannot be written, for example because the disk is full or the volume is lost.",
    ({ statuses }) => (statuses.storeTrouble === undefined ? 0 : 1),
  ],
  [
    "store_set_asides_total",
    "Damaged recordings that were moved away, each followed by a new one that begins with a gap.",
    ({ statuses }) => statuses.setAside.length,
  ],
  [
    "store_answer_age_seconds",
    "Seconds since the store last answered this thread, which asks it every second.",
    ({ storeWatch }) => storeWatch.ageMs / 1000,
  ],
]

const lagSeries = ["store_lag_seconds", "How long the oldest uncommitted frame has waited."] as const
const pendingSeries = ["store_pending_bytes", "Bytes waiting for a commit."] as const

const storeSeries: ReadonlyArray<Series<StoreStatistics>> = [
  ["store_events_total", "Events committed.", (store) => store.events],
  ["store_frames_total", "Frames committed.", (store) => store.frames],
  [
    "store_duplicate_frames_total",
    "Frames delivered again after a restart and dropped.",
    (store) => store.duplicateFrames,
  ],
  ["store_bytes_total", "Bytes of frames committed.", (store) => store.bytes],
  [...lagSeries, (store) => store.lagMs / 1000],
  ["store_commits_total", "Transactions committed.", (store) => store.commits],
  [...pendingSeries, (store) => store.pendingBytes],
  [
    "store_used_bytes",
    "Bytes of the recording that hold something: database without free pages, and log.",
    (store) => store.databaseBytes - store.freeBytes + store.logBytes,
  ],
  [
    "store_retained_since_timestamp_seconds",
    "Unix time before which retention has removed everything; 0: nothing.",
    (store) => store.removedThrough / 1e6,
  ],
  ["store_removed_events_total", "Events removed by retention.", (store) => store.removedEvents],
  [
    "store_unsent_events_total",
    "Events removed from a full disk before they were archived, each range of which is a gap.",
    (store) => store.unsentEvents,
  ],
  [
    "store_carried_events_total",
    "Events that were written anew because their objects live on.",
    (store) => store.carriedEvents,
  ],
  [
    "store_retention_held_up",
    "1 while a reader keeps what is to be removed.",
    (store) => (store.isRetentionHeldUp ? 1 : 0),
  ],
  [
    "store_longest_retention_seconds",
    "Longest turn of retention since the store started.",
    (store) => store.longestRetentionMs / 1000,
  ],
]

const ownerSeries: ReadonlyArray<Series<typeof noOwners>> = [
  ["owners_pending", "Owners whose look-up has not finished.", (owners) => owners.pending],
  ["owner_requests_total", "Requests to look up owners.", (owners) => owners.requests],
  ["owner_failures_total", "Requests to look up owners that failed and are retried.", (owners) => owners.failures],
]

const mailboxSeries: ReadonlyArray<Series<OutboxMetrics>> = [
  [
    "mailbox_unacknowledged_bytes",
    "Bytes sent and not yet committed by the receiver.",
    (outbox) => outbox.unacknowledgedBytes,
  ],
  [
    "mailbox_unacknowledged_frames",
    "Frames sent and not yet committed by the receiver.",
    (outbox) => outbox.unacknowledgedFrames,
  ],
  ["mailbox_waiting_bytes", "Bytes waiting for credit.", (outbox) => outbox.waitingBytes],
  ["mailbox_sent_bytes_total", "Bytes sent, including redeliveries.", (outbox) => outbox.sentBytes],
  ["mailbox_redelivered_frames_total", "Frames sent again to a new receiver.", (outbox) => outbox.redeliveredFrames],
  [
    "mailbox_stalled_seconds_total",
    "Seconds during which a frame waited for credit.",
    (outbox) => outbox.stalledMs / 1000,
  ],
]

/** One source, with the labels of its samples. */
interface Labelled<Source> {
  readonly labels?: Readonly<Record<string, string>>
  readonly source: Source
}

const series = <Source>(
  table: ReadonlyArray<Series<Source>>,
  sources: ReadonlyArray<Labelled<Source>>,
): ReadonlyArray<Metric> =>
  table.map(([name, help, value]) =>
    metric(
      name,
      help,
      sources.map(({ source, ...labels }) => ({ ...labels, value: value(source) })),
    ),
  )

const metric = (name: string, help: string, samples: Samples): Metric => ({
  name: `kubereel_${name}`,
  help,
  type: name.endsWith("_total") || name === "store_sequence" ? "counter" : "gauge",
  samples,
})

const metricsOf = (
  actors: RecorderActors,
  { lives, kinds, store, longestCommitMs, owners }: Effect.Success<ReturnType<typeof askActors>>,
  nowMicros: number,
): ReadonlyArray<Metric> => {
  const ofKinds = kinds.flatMap(({ gvk, statistics }) =>
    statistics === undefined ? [] : [{ labels: { kind: gvk }, source: statistics }],
  )
  const memory = process.memoryUsage()
  return [
    ...series(recorderSeries, [{ source: actors }]),
    ...stateMetrics(actors.statuses.all(), nowMicros),
    ...series(kindSeries, ofKinds),
    ...series(
      podSeries,
      ofKinds.filter(({ labels }) => labels.kind === actors.podStream),
    ),
    ...(store === undefined ? silentStore(actors, lives) : storeMetrics(store, longestCommitMs ?? 0)),
    ...(owners === undefined ? [] : series(ownerSeries, [{ source: owners }])),
    ...actorMetrics(lives),
    {
      name: "process_resident_memory_bytes",
      help: "Resident memory of the process, including all worker threads.",
      type: "gauge",
      samples: [{ value: memory.rss }],
    },
    {
      name: "process_cpu_seconds_total",
      help: "User and system CPU time of the process.",
      type: "counter",
      samples: [{ value: cpuSeconds() }],
    },
  ]
}

const stateMetrics = (statuses: ReadonlyArray<KindStatus>, nowMicros: number): ReadonlyArray<Metric> => {
  const eachState = (labels: Readonly<Record<string, string>>, state: KindState): Samples =>
    kindStates.map((each) => ({ labels: { ...labels, state: each }, value: each === state ? 1 : 0 }))
  return [
    metric(
      "kind_state",
      "1 for the kind's current state, 0 for the others.",
      statuses.flatMap(({ gvk, state }) => eachState({ kind: gvk }, state)),
    ),
    metric(
      "kind_namespace_state",
      "As kubereel_kind_state, for each namespace of a kind that is recorded namespace by namespace.",
      statuses.flatMap(({ gvk, namespaces }) =>
        namespaces.flatMap(({ namespace, state }) => eachState({ kind: gvk, namespace }, state)),
      ),
    ),
    metric(
      "kind_state_seconds",
      "Seconds since the kind entered its state.",
      statuses.map(({ gvk, since }) => ({ labels: { kind: gvk }, value: Math.max(0, (nowMicros - since) / 1e6) })),
    ),
  ]
}

const storeMetrics = (store: StoreStatistics, longestCommitMs: number): ReadonlyArray<Metric> => [
  ...series(storeSeries, [{ source: store }]),
  metric(
    "redacted_values_total",
    "Values replaced before objects were recorded, since the recording was begun.",
    store.redacted.map(({ gvk, place, values }) => ({ labels: { kind: gvk, place }, value: values })),
  ),
  metric("store_longest_commit_seconds", "Longest transaction since the last scrape.", [
    { value: longestCommitMs / 1000 },
  ]),
  metric("store_sequence", "Sequence number of the last committed event.", [{ value: store.sequence }]),
]

/**
 * Of a store that does not answer: what waits for it, according to its senders, and for how long at least. Alerts on these must not stop when
 * the disk hangs.
 */
const silentStore = ({ storeWatch }: RecorderActors, lives: ReadonlyArray<ActorStatus>): ReadonlyArray<Metric> => {
  const waiting = lives
    .flatMap(({ metrics }) => Object.entries(metrics?.outboxes ?? {}))
    .filter(([mailbox]) => mailbox === observationsMailbox)
    .reduce((sum, [, { unacknowledgedBytes, waitingBytes }]) => sum + unacknowledgedBytes + waitingBytes, 0)
  const lagSeconds = waiting === 0 ? 0 : ((storeWatch.last?.lagMs ?? 0) + storeWatch.ageMs) / 1000
  return [metric(...lagSeries, [{ value: lagSeconds }]), metric(...pendingSeries, [{ value: waiting }])]
}

const actorMetrics = (actors: ReadonlyArray<ActorStatus>): ReadonlyArray<Metric> => {
  const outboxes = actors.flatMap(({ name, metrics }) =>
    Object.entries(metrics?.outboxes ?? {}).map(([mailbox, outbox]) => ({
      labels: { actor: name, mailbox },
      source: outbox,
    })),
  )
  const each = actors.map((actor) => ({ labels: { actor: actor.name }, actor }))
  return [
    metric(
      "actor_running",
      "1 while the actor runs.",
      each.map(({ labels, actor }) => ({ labels, value: actor.state === "running" ? 1 : 0 })),
    ),
    metric(
      "actor_restarts_total",
      "Restarts of the actor.",
      each.map(({ labels, actor }) => ({ labels, value: actor.restarts })),
    ),
    metric(
      "actor_heap_bytes",
      "JavaScript heap in use by the actor's thread; actors that share one report the same.",
      each.flatMap(({ labels, actor: { metrics } }) => (metrics ? [{ labels, value: metrics.heapUsedBytes }] : [])),
    ),
    ...series(mailboxSeries, outboxes),
  ]
}

/** `undefined` if the value could not be obtained. */
const known = <A>(question: Effect.Effect<A, unknown>): Effect.Effect<A | undefined> =>
  Effect.orElseSucceed(question, () => undefined)

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
