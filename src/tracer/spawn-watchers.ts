/**
 * The watchers of a recording: one per kind, linked with the store both ways, their reports turned into states and notices.
 *
 * One that ends is started again and its kind is `failing` meanwhile; one that keeps crashing is `stopped`, and the others go on.
 */
import { observationsMailbox, storedStateMailbox, watcherName } from "../actors/names.ts"
import { type WatcherConfig, watcherDefinition } from "../actors/watcher/definition.ts"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { defaultWatchPolicy } from "../kube/watch/policy.ts"
import type { ActorSystem } from "../runtime/actor-system.ts"
import type { Clock } from "../runtime/clock.ts"
import type { ActorGaveUp } from "../runtime/errors.ts"
import type { RestartPolicy } from "../runtime/supervisor.ts"
import type { StartThread } from "../runtime/thread.ts"
import type { TrackedKind } from "./configuration/tracked-kind.ts"
import type { KindStatuses } from "./kind-status.ts"
import { type MailboxLimits, mailboxLimits } from "./mailbox-limits.ts"
import type { RecordingOptions } from "./recording.ts"
import { withAdvice } from "./trouble-advice.ts"

export interface Watchers {
  readonly kinds: ReadonlyArray<TrackedKind>
  /** The kind whose watcher follows the lives of pods; `undefined` if none does. */
  readonly podStream: string | undefined
  readonly recording: RecordingOptions
  readonly start: StartThread
  /** How the actor of that name talks to the API server at the moment. */
  readonly endpoint: (name: string) => Promise<ApiEndpoint>
  /** The store numbers their lives, because it remembers their frames. */
  readonly nextIncarnation: (name: string) => Promise<number>
  readonly restart: RestartPolicy
  readonly statuses: KindStatuses
  readonly clock: Clock
  readonly onCluster: (uid: string) => void
  readonly onUnauthorized: () => void
  readonly onGaveUp: (gvk: string, error: ActorGaveUp) => void
}

export const spawnWatchers = (system: ActorSystem, store: { readonly name: string }, options: Watchers) => {
  const { kinds, podStream, recording, statuses, clock } = options
  const limits = mailboxLimits(kinds.length)
  return kinds.map((kind) => {
    const gvk = kind.gvkText
    const name = watcherName(gvk)
    const watcher = system.spawn({
      definition: watcherDefinition,
      name,
      start: options.start,
      config: async () => {
        return watcherConfig(kind, kind.gvkText === podStream, await options.endpoint(name), limits, recording)
      },
      incarnation: () => options.nextIncarnation(name),
      restart: options.restart,
      onStateChange: (state, reason) => {
        // Nobody is watching until the next life says so.
        if (state === "backing-off") {
          const detail = `its watcher ended and is started again: ${reason.split("\n", 1)[0]}`
          statuses.set(gvk, "failing", detail, clock.wallMicros())
        }
        recording.notify({ type: "actor", name, gvk, state, reason })
      },
      onReport: (given) => {
        const report = given.type === "state" ? { ...given, detail: withAdvice(given.detail) } : given
        if (report.type === "state") statuses.set(gvk, report.state, report.detail, report.atMicros)
        if (report.type === "cluster") options.onCluster(report.uid)
        if (report.type === "unauthorized") {
          statuses.setUnauthorized(gvk)
          options.onUnauthorized()
        }
        recording.notify({ type: "kind", gvk, report })
      },
      onGaveUp: (error) => {
        statuses.set(gvk, "stopped", error.message, clock.wallMicros())
        options.onGaveUp(gvk, error)
      },
    })
    system.link(observationsMailbox, watcher, store)
    system.link(storedStateMailbox(name), store, watcher, "upstream")
    return { gvk, watcher }
  })
}

const watcherConfig = (
  kind: TrackedKind,
  tracksPods: boolean,
  endpoint: ApiEndpoint,
  limits: MailboxLimits,
  options: RecordingOptions,
): WatcherConfig => ({
  gvk: kind.gvkText,
  tracksPods,
  endpoint,
  userAgent: options.userAgent,
  detect: kind.detect,
  ignore: kind.ignore,
  keepManagedFields: kind.keepManagedFields,
  skipOwned: kind.skipOwned === "ingest",
  labelSelector: kind.labelSelector,
  fieldSelector: kind.fieldSelector,
  namespaces: kind.namespaces,
  policy: options.policy ?? defaultWatchPolicy,
  reportEvents: options.reportEvents ?? false,
  ...limits,
})
