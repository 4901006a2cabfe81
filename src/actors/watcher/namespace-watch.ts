/**
 * A kind that is watched namespace by namespace, so that a Role in each is enough: one list/watch session per namespace; they share the
 * recorder, its index and its frames. A further namespace costs a connection or two, not a worker.
 *
 * Each session has its own resume version, gaps and back-off; a list of one namespace implies nothing about the objects of another. Two
 * things concern all of them. Whether the kind is namespaced is discovered by the first session before the others start: if it is not, the
 * first watches it alone. And a cluster that one session finds restored is restored for all: they relist, in one new epoch.
 */

import type { Clock } from "../../clock.ts"
import { HttpEnquiries, type KindState, type SessionListener, WatchSession } from "../../kube/index.ts"
import { followedPods, InterruptedLives, interruption, livesContinue } from "./followed-pods.ts"
import { type NamespaceStanding, ProgressByNamespace } from "./kind-progress.ts"
import { type KindWatch, type KindWatchOptions, kindRecorder, sessionOptions } from "./kind-watch.ts"
import { ListUnderWay } from "./list-under-way.ts"
import { combinedState, NamespaceStates } from "./namespace-states.ts"
import type { ObjectRecorder } from "./object-recorder.ts"
import type { LoadedState } from "./objects/loaded-state.ts"
import { RecordingSink, type SinkListener } from "./recording-sink.ts"
import { type NamespaceResume, type OwedList, resumeByNamespace } from "./resume-point.ts"
import { selectedBeside, selectionOf } from "./selection.ts"

// Decides whether what one session watches is complete as of now: the server is sending what follows the last delivered version.
//
// A 200 to a resumed watch does not prove that. An expired version is rejected by the first line after it, and a kind that was declared
// complete in between would be so for a time of which nothing is recorded. So the server must have sent something since, or have been
// silent for a while; a watch that begins right after a list needs neither. And what happened before it was resumed must have arrived.

/**
 * ms after the 200 within which a rejection would have arrived; servers send both at once. Shorter than the interval between frames with
 * progress only.
 */
const settleMs = 500

class LiveWatch {
  readonly #session: Pick<WatchSession, "phase" | "delivered" | "isBehind">
  readonly #clock: Pick<Clock, "monotonicMs">
  #settledMs = Number.POSITIVE_INFINITY
  #wasLive = false

  constructor(session: Pick<WatchSession, "phase" | "delivered" | "isBehind">, clock: Pick<Clock, "monotonicMs">) {
    this.#session = session
    this.#clock = clock
  }

  /** The server has responded with 200. `afterList`: to a watch that begins right after a list. */
  answered(afterList: boolean): void {
    this.#settledMs = this.#clock.monotonicMs() + (afterList ? 0 : settleMs)
  }

  /** The last result remains valid when the session is stopped: nothing was missed before that. */
  get isLive(): boolean {
    const { phase, delivered, isBehind } = this.#session
    if (phase.tag === "stopped") return this.#wasLive
    this.#wasLive =
      phase.tag === "watching" &&
      phase.answered &&
      !isBehind &&
      (phase.heard || delivered !== phase.from || this.#clock.monotonicMs() >= this.#settledMs)
    return this.#wasLive
  }
}

/** One namespace and its session. */
interface Part {
  readonly standing: NamespaceStanding
  readonly sink: RecordingSink
  readonly session: WatchSession
}

/** `namespaces`: without duplicates. In order, so that the session that watches a cluster-scoped kind is the same in every life. */
export const watchNamespaces = (
  options: KindWatchOptions,
  namespaces: ReadonlyArray<string>,
  loaded: LoadedState,
): KindWatch => new NamespaceWatch(options, namespaces.toSorted(), loaded)

class NamespaceWatch implements KindWatch {
  readonly recorder: ObjectRecorder
  readonly #options: KindWatchOptions
  readonly #loaded: LoadedState
  readonly #progress: ProgressByNamespace
  readonly #interrupted: InterruptedLives
  readonly #states = new NamespaceStates()
  readonly #parts: ReadonlyArray<Part>
  /** Started sessions: the first, then all or no others. */
  #started = 0
  #isLocated = false
  /** False once the kind is known to be cluster-scoped: then no namespace is reported. */
  #isNamespaced = true
  #clusterUid: string | undefined

  constructor(options: KindWatchOptions, namespaces: ReadonlyArray<string>, loaded: LoadedState) {
    this.#options = options
    this.#loaded = loaded
    const { config, clock } = options
    const { resume, objects } = loaded
    const followed = config.tracksPods ? followedPods(config.gvk, resume, loaded.pods) : undefined
    const mustListPods = followed !== undefined && !livesContinue(config.gvk, resume, loaded.pods.lives)
    const selection = selectionOf(config)
    const resumes = resumeByNamespace(namespaces, selection, resume, objects).map((each) =>
      mustListPods ? listedForPods(each) : each,
    )
    this.#progress = new ProgressByNamespace(
      resumes.map(({ state }) => state),
      resume.namespaces,
      clock,
    )
    this.recorder = kindRecorder(options, loaded, followed, this.#progress)
    this.#progress.writeTo(this.recorder.frames)
    this.#interrupted = new InterruptedLives(this.recorder, followed?.interrupted ?? [], {
      streams: namespaces.length,
      leaveOwnGaps: true,
    })
    this.#progress.livesLag = () => followed !== undefined && !this.#interrupted.isSettled
    this.#parts = resumes.map(({ owed }, index) =>
      this.#part(this.#progress.standings[index] as NamespaceStanding, owed),
    )
    this.#confine(namespaces, selection)
  }

  get sessions(): ReadonlyArray<WatchSession> {
    return this.#parts.slice(0, this.#started).map(({ session }) => session)
  }

  start(): void {
    this.#startUpTo(1)
  }

  stop(): void {
    const { frames } = this.recorder
    // Before the sessions stop: the frame states each namespace's progress while its watch is still live.
    frames.flush()
    for (const session of this.sessions) session.stop()
    frames.close()
  }

  #startUpTo(count: number): void {
    const parts = this.#parts.slice(this.#started, count)
    this.#started = Math.max(this.#started, count)
    // All are registered before the first one reports: those that have not reported must not be taken for healthy.
    for (const { standing } of parts) this.#states.set(standing.namespace, "listing", "starting")
    for (const { session } of parts) session.start()
  }

  #part(standing: NamespaceStanding, owed: OwedList | undefined): Part {
    const { client, gvk, clock, listener } = this.#options
    const { namespace } = standing
    const told: SessionListener & SinkListener = {
      stateChanged: (state, detail) => {
        const afterList = standing.takeListed()
        if (state === "watching") live.answered(afterList)
        this.#stateChanged(standing, state, detail)
      },
      alarm: (detail) => listener.alarm(this.#isNamespaced ? `in namespace ${namespace}: ${detail}` : detail),
      cut: (detail) => listener.cut?.(detail),
      unauthorized: () => listener.unauthorized(),
      clusterIdentified: (uid) => {
        this.#clusterUid = uid
        listener.clusterIdentified(uid)
      },
      epochStarted: (detail) => this.#epochStarted(standing, detail),
    }
    const sink = new RecordingSink({
      recorder: this.recorder,
      standing,
      list: new ListUnderWay(standing, owed),
      interrupted: this.#interrupted,
      namespace,
      listener: told,
      unseenSince: this.#options.config.unseenSince,
    })
    const session = new WatchSession({
      ...sessionOptions(this.#options, this.#loaded),
      enquiries: new HttpEnquiries(client, gvk, namespace, (resource) => {
        this.#options.located?.(resource)
        this.#located(resource.namespaced)
      }),
      sink,
      listener: told,
      isExpected: this.#options.config.unseenSince !== undefined,
      resumeVersion: standing.owes === "" ? standing.completeVersion : undefined,
      liveUntil: standing.completeTime || this.#loaded.resume.completeTime,
    })
    const live = new LiveWatch(session, clock)
    standing.isWatched = () => live.isLive
    return { standing, sink, session }
  }

  /** The first session has discovered the kind. */
  #located(isNamespaced: boolean): void {
    if (this.#isLocated || this.#parts[0]?.session.phase.tag === "stopped") return
    this.#isLocated = true
    if (isNamespaced) return this.#startUpTo(this.#parts.length)
    const [first] = this.#parts
    if (first === undefined) return
    this.#isNamespaced = false
    first.sink.unconfine()
    this.#progress.only(first.standing)
    this.#interrupted.oneStream()
  }

  /** Drops the recorded objects of namespaces that are no longer requested, and notes the selection, in one frame with the states. */
  #confine(namespaces: ReadonlyArray<string>, selection: string): void {
    const { frames, statistics } = this.recorder
    const { resume } = this.#loaded
    const kept = new Set(namespaces)
    const before = selectedBeside(resume.selection, kept)
    // Including namespaces without objects: until now it was recorded that they had none.
    const left = new Set([...this.recorder.beside(kept), ...before.named])
    if (left.size > 0 || before.unnamed) {
      const fromTime = resume.completeTime
      const gap = { fromVersion: "", toVersion: "", fromTime, toTime: Math.max(frames.now(), fromTime) } as const
      // Recorded first: a deletion must not be in the recording without the gap that makes it uncertain.
      for (const namespace of before.unnamed ? [""] : [...left].sort()) {
        statistics.gaps++
        frames.gap({ ...gap, reason: "stopped", detail: noLongerRecorded(namespace), namespace })
      }
      this.recorder.confine(kept)
    }
    if (selection !== resume.selection) frames.selection(selection)
    else if (left.size === 0 && !before.unnamed) return
    frames.flush()
    frames.readDone()
  }

  #epochStarted(standing: NamespaceStanding, detail: string): void {
    this.#progress.forgetHistory()
    for (const part of this.#parts.slice(0, this.#started)) {
      if (part.standing !== standing) part.session.clusterRestored(detail, this.#clusterUid)
    }
  }

  #stateChanged(standing: NamespaceStanding, state: KindState, detail: string): void {
    const { frames } = this.recorder
    if (state === "watching") {
      // It may be the last one that was missing: then the kind is complete, and the store must learn it, now or as soon as that is certain.
      frames.flush()
      frames.readDone()
    }
    const { listener } = this.#options
    if (!this.#states.set(standing.namespace, state, detail)) return
    if (!this.#isNamespaced) return listener.stateChanged(state, detail)
    const namespaces = this.#states.all()
    const combined = combinedState(namespaces)
    listener.stateChanged(combined.state, combined.detail, namespaces)
  }
}

/** Pods have to be listed to learn all their lifecycles. */
const listedForPods = ({ state, owed }: NamespaceResume): NamespaceResume =>
  state.listReason !== ""
    ? { state, owed }
    : { state: { ...state, listReason: "stopped" }, owed: { reason: "stopped", detail: interruption.detail } }

const noLongerRecorded = (namespace: string): string =>
  namespace === ""
    ? "all other namespaces are no longer recorded; their objects are recorded as vanished"
    : "the namespace is no longer recorded; its objects are recorded as vanished"
