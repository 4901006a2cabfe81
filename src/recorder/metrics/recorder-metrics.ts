/**
 * The recorder's metrics, gathered on demand: nothing is counted twice or kept between scrapes.
 *
 * An actor's counters start at 0 when the actor is restarted; Prometheus' `rate` handles such resets.
 */
import * as Effect from "effect/Effect"
import { observationsMailbox } from "../../actors/names.ts"
import type { KindState } from "../../kube/watch/protocol/protocol.ts"
import type { ActorStatus } from "../../runtime/actor-system.ts"
import type { RecorderActors } from "../recording/recorder-actors.ts"
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
  return [
    gauge("kubereel_store_lag_seconds", "How long the oldest uncommitted frame has waited.", [{ value: lagSeconds }]),
    gauge("kubereel_store_pending_bytes", "Bytes waiting for a commit.", [{ value: waiting }]),
  ]
}

const metricsOf = (
  actors: RecorderActors,
  { lives, kinds, store, longestCommitMs, owners }: Effect.Success<ReturnType<typeof askActors>>,
  nowMicros: number,
): ReadonlyArray<Metric> => {
  const memory = process.memoryUsage()
  const perKind = (
    pick: (statistics: NonNullable<(typeof kinds)[number]["statistics"]>) => number,
  ): ReadonlyArray<Sample> =>
    kinds.flatMap(({ gvk, statistics }) =>
      statistics === undefined ? [] : [{ labels: { kind: gvk }, value: pick(statistics) }],
    )

  /** Samples of the one watcher that follows pods, if there is one. */
  const perPodStream: typeof perKind = (pick) => perKind(pick).filter(({ labels }) => labels?.kind === actors.podStream)

  return [
    gauge(
      "kubereel_ready",
      "1 when every kind has finished its first list, and has caught up with what happened before the start.",
      [{ value: actors.statuses.isReady ? 1 : 0 }],
    ),
    gauge(
      "kubereel_kind_state",
      "1 for the kind's current state, 0 for the others.",
      actors.statuses
        .all()
        .flatMap(({ gvk, state }) =>
          kindStates.map((each) => ({ labels: { kind: gvk, state: each }, value: each === state ? 1 : 0 })),
        ),
    ),
    gauge(
      "kubereel_kind_namespace_state",
      "As kubereel_kind_state, for each namespace of a kind that is recorded namespace by namespace.",
      actors.statuses.all().flatMap(({ gvk, namespaces }) =>
        namespaces.flatMap(({ namespace, state }) =>
          kindStates.map((each) => ({
            labels: { kind: gvk, namespace, state: each },
            value: each === state ? 1 : 0,
          })),
        ),
      ),
    ),
    gauge(
      "kubereel_kind_state_seconds",
      "Seconds since the kind entered its state.",
      actors.statuses
        .all()
        .map(({ gvk, since }) => ({ labels: { kind: gvk }, value: Math.max(0, (nowMicros - since) / 1e6) })),
    ),
    gauge(
      "kubereel_kind_objects",
      "Objects that currently exist, according to the recording.",
      perKind((each) => each.liveObjects),
    ),
    counter(
      "kubereel_kind_received_total",
      "Objects received in lists and watches.",
      perKind((each) => each.received),
    ),
    counter(
      "kubereel_kind_recorded_total",
      "Events recorded.",
      perKind((each) => each.recorded),
    ),
    counter(
      "kubereel_kind_unchanged_total",
      "Object versions not recorded because nothing relevant changed.",
      perKind((each) => each.unchanged),
    ),
    counter(
      "kubereel_kind_repeated_total",
      "Events received twice and dropped.",
      perKind((each) => each.repeated),
    ),
    counter(
      "kubereel_kind_late_total",
      "Changes recorded later than they happened, so that their times are estimates.",
      perKind((each) => each.late),
    ),
    counter(
      "kubereel_kind_gaps_total",
      "Gaps: ranges of versions that the server no longer had.",
      perKind((each) => each.gaps),
    ),
    counter(
      "kubereel_kind_relists_total",
      "Lists after the first.",
      perKind((each) => each.relists),
    ),
    counter(
      "kubereel_kind_watches_total",
      "Watches opened.",
      perKind((each) => each.watches),
    ),
    counter(
      "kubereel_kind_reconnects_total",
      "Watches that ended other than in order: cut, or silent for too long.",
      perKind((each) => each.cuts),
    ),
    counter(
      "kubereel_kind_bookmarks_total",
      "Bookmarks received.",
      perKind((each) => each.bookmarks),
    ),
    counter(
      "kubereel_kind_malformed_lines_total",
      "Watch lines that could not be parsed.",
      perKind((each) => each.malformedLines),
    ),
    counter(
      "kubereel_kind_slow_lines_total",
      "Watch lines that the byte scanner handed to the JSON parser.",
      perKind((each) => each.slowLines),
    ),
    counter(
      "kubereel_kind_received_bytes_total",
      "Body bytes read.",
      perKind((each) => each.bytes),
    ),
    gauge(
      "kubereel_kind_clock_skew_seconds",
      "Seconds by which the API server's clock is ahead of the recorder's.",
      perKind((each) => each.clockSkewMs / 1000),
    ),
    gauge(
      "kubereel_kind_last_event_timestamp_seconds",
      "Unix time of the last event; 0 if there was none.",
      perKind((each) => each.lastEventTime / 1e6),
    ),
    gauge(
      "kubereel_followed_pods",
      "Existing pods that have started and whose lifecycles are recorded.",
      perPodStream((each) => each.followedPods),
    ),
    counter(
      "kubereel_pod_lives_total",
      "Recorded changes of pod lifecycles.",
      perPodStream((each) => each.podLives),
    ),
    counter(
      "kubereel_undecodable_pods_total",
      "Pod objects whose lifecycle could not be decoded.",
      perPodStream((each) => each.undecodablePods),
    ),
    gauge(
      "kubereel_store_failing",
      "1 while the recording cannot be written, for example because the disk is full or the volume is lost.",
      [{ value: actors.statuses.storeTrouble === undefined ? 0 : 1 }],
    ),
    counter(
      "kubereel_store_set_asides_total",
      "Damaged recordings that were moved away, each followed by a new one that begins with a gap.",
      [{ value: actors.statuses.setAside.length }],
    ),
    gauge(
      "kubereel_store_answer_age_seconds",
      "Seconds since the store last answered this thread, which asks it every second.",
      [{ value: actors.storeWatch.ageMs / 1000 }],
    ),
    ...(store === undefined
      ? silentStore(actors, lives)
      : [
          counter("kubereel_store_events_total", "Events committed.", [{ value: store.events }]),
          counter("kubereel_store_frames_total", "Frames committed.", [{ value: store.frames }]),
          counter("kubereel_store_duplicate_frames_total", "Frames delivered again after a restart and dropped.", [
            { value: store.duplicateFrames },
          ]),
          counter("kubereel_store_bytes_total", "Bytes of frames committed.", [{ value: store.bytes }]),
          gauge("kubereel_store_lag_seconds", "How long the oldest uncommitted frame has waited.", [
            { value: store.lagMs / 1000 },
          ]),
          counter(
            "kubereel_redacted_values_total",
            "Values replaced before objects were recorded, since the recording was begun.",
            store.redacted.map(({ gvk, place, values }) => ({ labels: { kind: gvk, place }, value: values })),
          ),
          counter("kubereel_store_commits_total", "Transactions committed.", [{ value: store.commits }]),
          gauge("kubereel_store_longest_commit_seconds", "Longest transaction since the last scrape.", [
            { value: (longestCommitMs ?? 0) / 1000 },
          ]),
          gauge("kubereel_store_pending_bytes", "Bytes waiting for a commit.", [{ value: store.pendingBytes }]),
          gauge(
            "kubereel_store_used_bytes",
            "Bytes of the recording that hold something: database without free pages, and log.",
            [{ value: store.databaseBytes - store.freeBytes + store.logBytes }],
          ),
          gauge(
            "kubereel_store_retained_since_timestamp_seconds",
            "Unix time before which retention has removed everything; 0: nothing.",
            [{ value: store.removedThrough / 1e6 }],
          ),
          counter("kubereel_store_removed_events_total", "Events removed by retention.", [
            { value: store.removedEvents },
          ]),
          counter(
            "kubereel_store_carried_events_total",
            "Events that were written anew because their objects live on.",
            [{ value: store.carriedEvents }],
          ),
          gauge("kubereel_store_retention_held_up", "1 while a reader keeps what is to be removed.", [
            { value: store.isRetentionHeldUp ? 1 : 0 },
          ]),
          gauge("kubereel_store_longest_retention_seconds", "Longest turn of retention since the store started.", [
            { value: store.longestRetentionMs / 1000 },
          ]),
          counter("kubereel_store_sequence", "Sequence number of the last committed event.", [
            { value: store.sequence },
          ]),
        ]),
    ...(owners === undefined
      ? []
      : [
          gauge("kubereel_owners_pending", "Owners whose look-up has not finished.", [{ value: owners.pending }]),
          counter("kubereel_owner_requests_total", "Requests to look up owners.", [{ value: owners.requests }]),
          counter("kubereel_owner_failures_total", "Requests to look up owners that failed and are retried.", [
            { value: owners.failures },
          ]),
        ]),
    ...actorMetrics(lives),
    gauge("process_resident_memory_bytes", "Resident memory of the process, including all worker threads.", [
      { value: memory.rss },
    ]),
    counter("process_cpu_seconds_total", "User and system CPU time of the process.", [{ value: cpuSeconds() }]),
  ]
}

const actorMetrics = (actors: ReadonlyArray<ActorStatus>): ReadonlyArray<Metric> => {
  const outboxes = actors.flatMap(({ name, metrics }) =>
    Object.entries(metrics?.outboxes ?? {}).map(([mailbox, outbox]) => ({ labels: { actor: name, mailbox }, outbox })),
  )
  const samples = (pick: (outbox: (typeof outboxes)[number]["outbox"]) => number): ReadonlyArray<Sample> =>
    outboxes.map(({ labels, outbox }) => ({ labels, value: pick(outbox) }))
  return [
    gauge(
      "kubereel_actor_running",
      "1 while the actor runs.",
      actors.map(({ name, state }) => ({ labels: { actor: name }, value: state === "running" ? 1 : 0 })),
    ),
    counter(
      "kubereel_actor_restarts_total",
      "Restarts of the actor.",
      actors.map(({ name, restarts }) => ({ labels: { actor: name }, value: restarts })),
    ),
    gauge(
      "kubereel_actor_heap_bytes",
      "JavaScript heap in use by the actor's thread; actors that share one report the same.",
      actors.flatMap(({ name, metrics }) =>
        metrics === undefined ? [] : [{ labels: { actor: name }, value: metrics.heapUsedBytes }],
      ),
    ),
    gauge(
      "kubereel_mailbox_unacknowledged_bytes",
      "Bytes sent and not yet committed by the receiver.",
      samples((each) => each.unacknowledgedBytes),
    ),
    gauge(
      "kubereel_mailbox_unacknowledged_frames",
      "Frames sent and not yet committed by the receiver.",
      samples((each) => each.unacknowledgedFrames),
    ),
    gauge(
      "kubereel_mailbox_waiting_bytes",
      "Bytes waiting for credit.",
      samples((each) => each.waitingBytes),
    ),
    counter(
      "kubereel_mailbox_sent_bytes_total",
      "Bytes sent, including redeliveries.",
      samples((each) => each.sentBytes),
    ),
    counter(
      "kubereel_mailbox_redelivered_frames_total",
      "Frames sent again to a new receiver.",
      samples((each) => each.redeliveredFrames),
    ),
    counter(
      "kubereel_mailbox_stalled_seconds_total",
      "Seconds during which a frame waited for credit.",
      samples((each) => each.stalledMs / 1000),
    ),
  ]
}

/** `undefined` if the value could not be obtained. */
const known = <A>(question: Effect.Effect<A, unknown>): Effect.Effect<A | undefined> =>
  Effect.orElseSucceed(question, () => undefined)

const gauge = (name: string, help: string, samples: ReadonlyArray<Sample>): Metric => ({
  name,
  help,
  type: "gauge",
  samples,
})

const counter = (name: string, help: string, samples: ReadonlyArray<Sample>): Metric => ({
  name,
  help,
  type: "counter",
  samples,
})

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
