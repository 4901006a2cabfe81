/**
 * The watcher: one GVK, one worker. Loads its stored state, then feeds what one list/watch yields to the store. The one
 * that watches pods follows their lives too, if it is told to, and may do nothing else.
 *
 * It ends nothing by itself: whatever the server does is a state of the session. It crashes on bugs and when memory runs
 * out, and its successor resumes at the version the store has committed.
 */
import * as Effect from "effect/Effect"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { parseGvk } from "../../kube/gvk.ts"
import { HttpClient } from "../../kube/http/http-client.ts"
import { compileDetectRules } from "../../kube/scanner/detect-rules.ts"
import { HttpEnquiries } from "../../kube/watch/enquiries.ts"
import type { KindState } from "../../kube/watch/protocol.ts"
import { WatchSession } from "../../kube/watch/session.ts"
import type { ActorBody } from "../../runtime/actor.ts"
import { podKind, podLivesKind } from "../../trace/pod-lives-kind.ts"
import { observationsMailbox, storedStateMailbox } from "../names.ts"
import type { WatcherConfig, WatcherControl, WatcherReport } from "./definition.ts"
import { followedPods } from "./followed-pods.ts"
import { type LoadedState, receiveStoredState } from "./loaded-state.ts"
import { owedList } from "./owed-list.ts"
import { RecordingSink } from "./recording-sink.ts"
import { selectionOf } from "./selection.ts"

export const watcherBody: ActorBody<WatcherConfig, WatcherControl, WatcherReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock } = context
    const recordsEvents = config.gvk !== podLivesKind
    const gvk = parseGvk(recordsEvents ? config.gvk : podKind)
    if (gvk === undefined) return yield* Effect.die(new Error(`not a group/version.kind: ${config.gvk}`))
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new HttpClient(config.endpoint, { userAgent: config.userAgent })),
      (open) => Effect.sync(() => open.close()),
    )
    const namespace = config.namespaces?.length === 1 ? config.namespaces[0] : undefined
    const rules = compileDetectRules({ gvk, detect: config.detect, ignore: config.ignore })
    const outbox = context.outbox(observationsMailbox, {
      windowBytes: config.windowBytes,
      bufferBytes: config.bufferBytes,
    })
    let running: { readonly session: WatchSession; readonly sink: RecordingSink } | undefined

    let states = 0
    const reportState = (state: KindState, detail: string): void => {
      const news = ++states
      const report = (): void => {
        if (news === states) context.report({ type: "state", state, detail, atMicros: clock.wallMicros() })
      }
      // Watching means that the list before it is recorded, and recorded means acknowledged: readiness leans on it.
      if (state === "watching") void outbox.flushed().then(report)
      else report()
    }

    const begin = ({ resume, objects, pods }: LoadedState): void => {
      const followed = config.tracksPods ? followedPods(config.gvk, resume, pods) : undefined
      const selection = selectionOf(config)
      const mustList =
        resume.resumeVersion === "" ||
        owedList(resume, selection) !== undefined ||
        (followed !== undefined && followed.interrupted.length > 0)
      const sink = new RecordingSink(
        {
          gvk: config.gvk,
          rules,
          keepManagedFields: config.keepManagedFields,
          skipOwned: config.skipOwned,
          namespaces:
            config.namespaces === undefined || namespace !== undefined ? undefined : new Set(config.namespaces),
          recordsEvents,
          selection,
        },
        outbox,
        clock,
        {
          stateChanged: reportState,
          alarm: (detail) => context.report({ type: "alarm", detail }),
          unauthorized: () => context.report({ type: "unauthorized" }),
          clusterIdentified: (uid) => context.report({ type: "cluster", uid }),
          ...(config.reportEvents && {
            recorded: (action, object, timeMicros) =>
              context.report({ type: "event", action, namespace: object.namespace, name: object.name, timeMicros }),
          }),
        },
        resume,
        objects,
        followed,
      )
      const session = new WatchSession({
        transport: client,
        enquiries: new HttpEnquiries(client, gvk, namespace),
        sink,
        clock,
        random: Math.random,
        policy: config.policy,
        rules,
        labelSelector: config.labelSelector,
        fieldSelector: config.fieldSelector,
        resumeVersion: mustList ? undefined : resume.resumeVersion,
        clusterUid: resume.clusterUid === "" ? undefined : resume.clusterUid,
      })
      outbox.onWritable(() => session.resume())
      running = { session, sink }
      session.start()
    }

    // Released before the client: the session's streams end first, then what they brought is sent.
    yield* Effect.acquireRelease(
      Effect.sync(() => receiveStoredState(context, storedStateMailbox(context.name), begin)),
      () =>
        Effect.sync(() => {
          running?.session.stop()
          running?.sink.close()
        }),
    )

    return {
      credentials: (endpoint) =>
        Effect.sync(() => {
          client.updateEndpoint(endpoint as ApiEndpoint)
          running?.session.retryNow()
        }),
      statistics: () =>
        Effect.sync(() => {
          const session = running?.session.statistics
          const sink = running?.sink.statistics
          const pods = running?.sink.podStatistics
          return {
            received: session?.objects ?? 0,
            recorded: (sink?.recorded ?? 0) + (sink?.vanished ?? 0),
            unchanged: sink?.unchanged ?? 0,
            repeated: session?.repeated ?? 0,
            leftOut: sink?.leftOut ?? 0,
            gaps: sink?.gaps ?? 0,
            relists: session?.relists ?? 0,
            watches: session?.watches ?? 0,
            bookmarks: session?.bookmarks ?? 0,
            malformedLines: session?.malformedLines ?? 0,
            slowLines: session?.slowLines ?? 0,
            bytes: session?.bytes ?? 0,
            clockSkewMs: session?.clockSkewMs ?? 0,
            liveObjects: running?.sink.liveObjects ?? 0,
            followedPods: pods?.size ?? 0,
            podLives: pods?.records ?? 0,
            undecodablePods: pods?.undecodable ?? 0,
            lastEventTime: running?.sink.lastEventTime ?? 0,
          }
        }),
    }
  })
