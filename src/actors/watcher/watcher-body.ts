/**
 * The watcher of one GVK, in a worker of its own or one that quiet kinds share. Loads its stored state, then passes the results of a list/watch to the store, or of one per namespace
 * if several are requested. The watcher of pods also follows their lifecycles if configured to, and may do nothing else.
 *
 * It never ends on its own: everything that the server does is a state of a session. It crashes on bugs and when memory runs out, and its
 * successor resumes at the version that the store has committed.
 */
import * as Effect from "effect/Effect"
import { type ApiEndpoint, type ApiResource, HttpClient, LineBudget } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import type { ActorBody } from "../../runtime/index.ts"
import { podKind, podLivesKind } from "../../trace/index.ts"
import type { DiscoveredKind } from "../../wire/index.ts"
import { observationsMailbox, storedStateMailbox } from "../names.ts"
import { definitionKind } from "./definitions.ts"
import { type KindListener, type KindWatch, type KindWatchOptions, watchWhole } from "./kind-watch.ts"
import { watchNamespaces } from "./namespace-watch.ts"
import { type LoadedState, receiveStoredState } from "./objects/loaded-state.ts"
import { isWatchedByNamespace } from "./resume-point.ts"
import type { WatcherConfig, WatcherControl, WatcherReport, WatcherStatistics } from "./watcher-interface.ts"

export const watcherBody: ActorBody<WatcherConfig, WatcherControl, WatcherReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock } = context
    const gvk = parseGvk(config.gvk === podLivesKind ? podKind : config.gvk)
    if (gvk === undefined) return yield* Effect.die(new Error(`not a group/version.kind: ${config.gvk}`))
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new HttpClient(config.endpoint, { userAgent: config.userAgent })),
      (open) => Effect.sync(() => open.close()),
    )
    const outbox = context.outbox(observationsMailbox, {
      windowBytes: config.windowBytes,
      bufferBytes: config.bufferBytes,
    })
    let running: KindWatch | undefined

    let states = 0
    let wasListing = true
    let reportedWatched: ReadonlySet<string> = new Set()
    const reportState: KindListener["stateChanged"] = (state, detail, namespaces = []) => {
      const news = ++states
      const watched = namespaces.filter((each) => each.state === "watching").map(({ namespace }) => namespace)
      const report = (): void => {
        if (news !== states) return
        reportedWatched = new Set(watched)
        context.report({ type: "state", state, detail, namespaces, atMicros: clock.wallMicros() })
      }
      const endsList = namespaces.length > 0 && wasListing && state !== "listing"
      // The end of a list is reported when it is recorded, and recorded means acknowledged: readiness and exports rely on it.
      if (state === "watching" || endsList || watched.some((each) => !reportedWatched.has(each)))
        void outbox.flushed().then(report)
      else report()
      wasListing = state === "listing"
    }

    const begin = (loaded: LoadedState): void => {
      const options: KindWatchOptions = {
        config,
        gvk,
        client,
        outlet: outbox,
        clock,
        random: Math.random,
        lineBudget: config.lines && new LineBudget(config.lines.memory, config.lines.slot, config.lines.limitBytes),
        listener: {
          stateChanged: reportState,
          alarm: (detail) => context.report({ type: "alarm", detail }),
          cut: (detail) => context.report({ type: "cut", detail }),
          unauthorized: () => context.report({ type: "unauthorized" }),
          clusterIdentified: (uid) => context.report({ type: "cluster", uid }),
        },
        located: reportResource(config.gvk, (resource) => context.report({ type: "resource", resource })),
        defined:
          config.gvk === definitionKind
            ? (definition) => context.report({ type: "definition", definition })
            : undefined,
        recorded: config.reportEvents
          ? (action, { namespace, name }, timeMicros) =>
              context.report({ type: "event", action, namespace, name, timeMicros })
          : undefined,
      }
      const namespaces = isWatchedByNamespace(config.namespaces, loaded.resume) ? config.namespaces : undefined
      const watch =
        namespaces === undefined ? watchWhole(options, loaded) : watchNamespaces(options, namespaces, loaded)
      running = watch
      outbox.onWritable(() => {
        for (const session of watch.sessions) session.resume()
      })
      watch.start()
    }

    // Released before the client.
    yield* Effect.acquireRelease(
      Effect.sync(() => receiveStoredState(context, storedStateMailbox(context.name), begin)),
      () => Effect.sync(() => running?.stop()),
    )

    return {
      credentials: (endpoint) =>
        Effect.sync(() => {
          client.updateEndpoint(endpoint as ApiEndpoint)
          for (const session of running?.sessions ?? []) session.retryNow()
        }),
      retry: () =>
        Effect.sync(() => {
          for (const session of running?.sessions ?? []) session.retryNow()
        }),
      statistics: () => Effect.sync(() => watcherStatistics(running)),
    }
  })

/** Passes on what discovery says of the kind, once for each time that it is something else. Pods that are watched for their lifecycles only are no recorded kind. */
const reportResource = (gvk: string, report: (kind: DiscoveredKind) => void): ((resource: ApiResource) => void) => {
  let last = ""
  return ({ plural, singular = "", shortNames = [], categories = [], namespaced }) => {
    const kind = { gvk, plural, singular, shortNames, categories, namespaced }
    const text = JSON.stringify(kind)
    if (text === last || gvk === podLivesKind) return
    last = text
    report(kind)
  }
}

/** The counters of a watcher's life, over all its sessions. All are 0 until the stored state is known. */
const watcherStatistics = (
  watch: Pick<KindWatch, "sessions" | "recorder"> | undefined,
): typeof WatcherStatistics.Type => {
  const sessions = (watch?.sessions ?? []).map(({ statistics }) => statistics)
  const sum = (pick: (statistics: (typeof sessions)[number]) => number): number =>
    sessions.reduce((total, each) => total + pick(each), 0)
  const recorded = watch?.recorder.statistics
  const pods = watch?.recorder.podStatistics
  return {
    received: sum(({ objects }) => objects),
    recorded: (recorded?.recorded ?? 0) + (recorded?.vanished ?? 0),
    unchanged: recorded?.unchanged ?? 0,
    repeated: sum(({ repeated }) => repeated),
    elsewhere: sum(({ elsewhere }) => elsewhere),
    late: watch?.recorder.frames.lateChanges ?? 0,
    leftOut: recorded?.leftOut ?? 0,
    gaps: recorded?.gaps ?? 0,
    relists: sum(({ relists }) => relists),
    unendedLists: sum(({ unendedLists }) => unendedLists),
    watches: sum(({ watches }) => watches),
    cuts: sum(({ cuts }) => cuts),
    bookmarks: sum(({ bookmarks }) => bookmarks),
    malformedLines: sum(({ malformedLines }) => malformedLines),
    slowLines: sum(({ slowLines }) => slowLines),
    bytes: sum(({ bytes }) => bytes),
    // One server, one clock: any session that has received its time will do.
    clockSkewMs: sessions.find(({ clockSkewMs }) => clockSkewMs !== 0)?.clockSkewMs ?? 0,
    liveObjects: watch?.recorder.index.size ?? 0,
    followedPods: pods?.size ?? 0,
    podLives: pods?.records ?? 0,
    undecodablePods: pods?.undecodable ?? 0,
    lastEventTime: watch?.recorder.frames.lastTime ?? 0,
  }
}
