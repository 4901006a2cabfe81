/**
 * The part of a watcher that runs once its stored state is known: the sessions of its kind, and their sinks. This module is for a kind that
 * is watched as a whole, in one session: the cluster, or one namespace.
 */
import type { Clock } from "../../clock.ts"
import {
  type ApiResource,
  compileDetectRules,
  type HttpClient,
  HttpEnquiries,
  type KindState,
  type LineBudget,
  type ObservedObject,
  type SessionListener,
  type SessionOptions,
  VersionClock,
  WatchSession,
} from "../../kube/index.ts"
import type { GroupVersionKind } from "../../kube/offline.ts"

import { podLivesKind } from "../../trace/index.ts"
import type { KindResumePoint } from "../../wire/index.ts"
import { definitionTap, type KindDefinition } from "./definitions.ts"
import { type FollowedPods, followedPods, InterruptedLives } from "./followed-pods.ts"
import { type FrameOutlet, FrameWriter } from "./frame-writer.ts"
import type { FrameProgress } from "./kind-progress.ts"
import { ListUnderWay } from "./list-under-way.ts"
import type { NamespaceState } from "./namespace-states.ts"
import { type EventListener, ObjectRecorder, type RecordingRules } from "./object-recorder.ts"
import type { LoadedState } from "./objects/loaded-state.ts"
import { PodTracker } from "./pod-tracker.ts"
import { RecordingSink, type SinkListener } from "./recording-sink.ts"
import { owedList } from "./resume-point.ts"
import { areRedactedAlike, selectionOf } from "./selection.ts"
import type { WatcherConfig } from "./watcher-interface.ts"

/** Is notified about a kind as a whole. */
export interface KindListener extends SessionListener {
  /** `namespaces`: the states of all of them; absent if one session watches the kind. */
  stateChanged(state: KindState, detail: string, namespaces?: ReadonlyArray<NamespaceState>): void
}

/** The dependencies of a watcher's sessions and sinks. */
export interface KindWatchOptions {
  readonly config: Omit<WatcherConfig, "endpoint" | "userAgent">
  readonly gvk: GroupVersionKind
  readonly client: Pick<HttpClient, "get">
  readonly outlet: FrameOutlet
  readonly clock: Clock
  readonly random: () => number
  readonly listener: KindListener
  readonly recorded: EventListener | undefined
  /** Called with what discovery says of the kind, each time it was asked. */
  readonly located?: ((resource: ApiResource) => void) | undefined
  /** Called with each definition of a kind that a watch brings. */
  readonly defined?: ((definition: KindDefinition) => void) | undefined
  /** Of all watchers, for large lines. Default: each line has a limit of its own. */
  readonly lineBudget?: LineBudget | undefined
}

/** A kind being watched. */
export interface KindWatch {
  /** The current sessions. */
  readonly sessions: ReadonlyArray<WatchSession>
  readonly recorder: ObjectRecorder
  start(): void
  /** Ends the sessions, then sends what they delivered. Cannot be restarted. */
  stop(): void
}

/** One session, one sink. */
export const watchWhole = (options: KindWatchOptions, loaded: LoadedState): KindWatch => {
  const { config, client, gvk, listener } = options
  const { resume } = loaded
  const followed = config.tracksPods ? followedPods(config.gvk, resume, loaded.pods) : undefined
  const selection = selectionOf(config)
  const owed = owedList(resume, selection)
  const isInterrupted = followed !== undefined && followed.interrupted.length > 0
  const mustList = resume.resumeVersion === "" || owed !== undefined || isInterrupted
  const recorder = kindRecorder(options, loaded, followed)
  const { unseenSince } = config
  const tap = options.defined && definitionTap(recorder, options.defined)
  const sink = wholeKindSink({ recorder, listener, loaded, selection, followed, unseenSince, tap })
  const namespace = config.namespaces?.[0]
  const session = new WatchSession({
    ...sessionOptions(options, loaded),
    enquiries: new HttpEnquiries(client, gvk, namespace, options.located),
    sink,
    listener,
    isExpected: config.unseenSince !== undefined,
    resumeVersion: mustList ? undefined : resume.resumeVersion,
    liveUntil: resume.completeTime,
  })
  return {
    sessions: [session],
    recorder,
    start: () => session.start(),
    stop: () => {
      session.stop()
      recorder.frames.close()
    },
  }
}

interface WholeKind {
  readonly recorder: ObjectRecorder
  readonly listener: SinkListener
  readonly loaded: Pick<LoadedState, "resume">
  /** The selection, as `selectionOf` writes it; the empty string: unknown. */
  readonly selection: string
  readonly followed: FollowedPods | undefined
  readonly unseenSince?: number | undefined
  readonly tap?: ((object: Readonly<ObservedObject>) => void) | undefined
}

/** The only sink of a kind. */
export const wholeKindSink = (kind: WholeKind): RecordingSink => {
  const { recorder, listener, loaded, selection, followed, unseenSince, tap } = kind
  const { frames } = recorder
  const { resume } = loaded
  const isNoted = selection === "" || selection === resume.selection
  const isUntold = !isNoted && resume.selection === ""
  const isAlike = areRedactedAlike(resume.selection, selection)
  const resumesUntold = isUntold && isAlike && resume.resumeVersion !== ""
  // Nothing is recorded. If it was noted with the first complete list only, a list that is interrupted would leave objects that look as if they
  // were recorded without redaction.
  const beginsRedacted = isUntold && !isAlike && resume.resumeVersion === "" && resume.nextObjectNumber === 1
  // A recording that resumes without a stored selection: it is assumed to match the present one.
  if (resumesUntold || beginsRedacted) frames.selection(selection)
  const interrupted = new InterruptedLives(recorder, followed?.interrupted ?? [], { streams: 1, leaveOwnGaps: false })
  return new RecordingSink({
    recorder,
    standing: frames,
    list: new ListUnderWay(frames, owedList(resume, selection)),
    selection: isNoted || resumesUntold || beginsRedacted ? undefined : selection,
    interrupted,
    listener,
    unseenSince,
    tap,
  })
}

/** Turns objects into events, for all sinks of the kind. `byNamespace`: the progress of a kind that is watched namespace by namespace. */
export const kindRecorder = (
  { config, gvk, outlet, clock, listener, recorded }: KindWatchOptions,
  loaded: LoadedState,
  followed: FollowedPods | undefined,
  byNamespace?: FrameProgress,
): ObjectRecorder =>
  objectRecorder(
    {
      gvk: config.gvk,
      rules: compileDetectRules({ gvk, detect: config.detect, ignore: config.ignore }),
      keepManagedFields: config.keepManagedFields,
      skipOwned: config.skipOwned,
      recordsEvents: config.gvk !== podLivesKind,
      redaction: config.redaction,
      isRedactedAnew: isRedactedAnew(config, loaded.resume),
    },
    { outlet, clock, byNamespace, versions: versionClock(config), recorded, alarm: (detail) => listener.alarm(detail) },
    loaded,
    followed,
  )

/**
 * Whether what is recorded was, or may have been, recorded with other redaction. The selection of namespaces is noted before their lists, so a list that
 * was interrupted may have been the one that was to record them with the present rules.
 */
const isRedactedAnew = (config: KindWatchOptions["config"], { selection, namespaces }: KindResumePoint): boolean =>
  !areRedactedAlike(selection, selectionOf(config)) ||
  (config.redaction !== undefined && namespaces.some(({ listReason }) => listReason !== "" && listReason !== "first"))

const versionClock = ({ versions }: Pick<WatcherConfig, "versions">): VersionClock | undefined =>
  versions && new VersionClock(versions)

interface RecorderSurroundings {
  readonly outlet: FrameOutlet
  readonly clock: Clock
  readonly byNamespace?: FrameProgress | undefined
  readonly versions?: VersionClock | undefined
  readonly recorded?: EventListener | undefined
  readonly alarm: (detail: string) => void
}

export const objectRecorder = (
  rules: RecordingRules,
  { outlet, clock, byNamespace, versions, recorded, alarm }: RecorderSurroundings,
  { resume, objects }: Pick<LoadedState, "resume" | "objects">,
  followed: FollowedPods | undefined,
): ObjectRecorder => {
  const tracksPods = followed !== undefined
  const frames = new FrameWriter(rules.gvk, outlet, clock, resume, { tracksPods, byNamespace, versions })
  const pods = followed && new PodTracker(frames, alarm, followed)
  return new ObjectRecorder(rules, frames, resume, objects, pods, recorded)
}

/** What all sessions of the kind have in common. */
export const sessionOptions = (
  { client, clock, random, config, gvk, lineBudget }: KindWatchOptions,
  { resume }: Pick<LoadedState, "resume">,
): Omit<SessionOptions, "enquiries" | "sink" | "listener" | "resumeVersion" | "liveUntil"> => ({
  transport: client,
  clock,
  random,
  policy: config.policy,
  gvk,
  rules: compileDetectRules({ gvk, detect: config.detect, ignore: config.ignore }),
  labelSelector: config.labelSelector,
  fieldSelector: config.fieldSelector,
  shard: config.shard,
  lists: config.lists,
  lineBudget,
  versions: versionClock(config),
  clusterUid: resume.clusterUid === "" ? undefined : resume.clusterUid,
})
