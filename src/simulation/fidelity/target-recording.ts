/**
 * A recording of the target while a replay runs, in the threads of the recorder of `reel record`: of each kind the
 * objects with the label of the replay, and all pods and nodes. A kind that cannot be watched is not measured and delays
 * nothing.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { Clock } from "../../clock.ts"
import { defaultWatchPolicy, type EndpointSource, type WatchPolicy } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { type KindStatus, startRecorderActors, type TrackedKind } from "../../recorder/index.ts"
import { replayLabel } from "../objects/target-object.ts"
import type { UnmeasuredKind } from "../report/fidelity-report.ts"

/** What is recorded, and where to. */
interface TargetRecordingOptions {
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly clock: Clock
  /** Kept afterwards; default: a temporary one, which is removed. */
  readonly directory: string | undefined
  readonly kinds: ReadonlyArray<string>
  /** Name of the replay, the value of its label. */
  readonly replay: string
}

/** A recording that has ended. */
export interface EndedRecording {
  readonly directory: string
  /** Sequence number of the last event that counts. */
  readonly cut: number
  /** ms waited for the target to settle. */
  readonly settlingMs: number
  /** Whether nothing changed any more when it ended. */
  readonly isSettled: boolean
  /** µs since the Unix epoch from which on each kind is recorded. */
  readonly since: ReadonlyMap<string, number>
  readonly unmeasured: ReadonlyArray<UnmeasuredKind>
}

/** By kind: the resourceVersion of the last state that was written of it, as far as versions can be compared. */
export type WrittenVersions = ReadonlyMap<string, bigint>

/** Nodes are recorded and counted, and never replayed. */
export const nodeKind = "v1.Node"

/** Recorded whatever the trace has, and all of them. */
export const wholeKinds: ReadonlyArray<string> = ["v1.Pod", nodeKind]

/** ms that first lists may take; then the replay begins, and the kinds that are missing are not measured from the start. */
const readyMs = 10_000
/** ms without a change after which the target has settled: the slowest periodic work of controllers in the same state. */
const quietMs = 1000
/** ms between two looks at the recorder. */
const lookMs = 50

/** A kind that the trace itself defines has to be noticed before its first objects change. */
const policy: WatchPolicy = { ...defaultWatchPolicy, absentPollMs: 250 }

/** A recording under way. */
export type TargetRecording = Effect.Success<ReturnType<typeof recordTarget>>

/**
 * Records until `end`, or until the scope is closed, which also removes the directory unless it was named. Succeeds when the store is open; fails with
 * an error for people if the directory is not empty or cannot be written to, and so do its effects if the recorder fails.
 */
export const recordTarget = Effect.fnUntraced(function* (options: TargetRecordingOptions) {
  const { endpoints, userAgent, clock, replay } = options
  const directory = options.directory ?? (yield* temporaryDirectory)
  const recorder = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const kinds = new Set(options.kinds)
  const tracked = () => [...kinds].flatMap((gvk) => trackedKind(gvk, replay))
  const starting = startRecorderActors({
    kinds: tracked(),
    directory,
    fsync: "interval",
    endpoints,
    userAgent,
    clock,
    looksUpOwners: false,
    policy,
    notify: () => undefined,
  })
  const { statuses, store, reconfigure, ended, cut } = yield* Scope.provide(starting, recorder)
  let isOpen = true
  yield* Scope.addFinalizer(
    recorder,
    Effect.sync(() => {
      isOpen = false
    }),
  )
  const unfollowed = yield* Deferred.make<never, unknown>()
  const failed = Effect.raceFirst(ended, Deferred.await(unfollowed))

  /** Kinds whose watch has not delivered what was written. */
  const silent = Effect.fnUntraced(function* (written: WrittenVersions) {
    const found: UnmeasuredKind[] = []
    for (const [gvk, version] of written) {
      const { resumeVersion, recordedSince } = yield* store.call("kindState", gvk)
      const isNumber = /^\d+$/.test(resumeVersion)
      if (recordedSince === 0 || !isNumber || BigInt(resumeVersion) >= version) continue
      const reason = `its watch was lost: nothing was received after version ${resumeVersion}, of ${version}`
      found.push({ gvk, reason })
    }
    return found
  })

  /** Succeeds once all that was written has been received, and nothing has changed for a second. */
  const settled = Effect.fnUntraced(function* (written: WrittenVersions) {
    let last: number | undefined
    for (let changedMs = clock.monotonicMs(); ; yield* Effect.sleep(lookMs)) {
      const sequence = yield* store.call("statistics", undefined).pipe(
        Effect.map((statistics) => statistics.sequence),
        Effect.orElseSucceed(() => last),
      )
      if (sequence !== last) changedMs = clock.monotonicMs()
      last = sequence
      const isQuiet = clock.monotonicMs() - changedMs >= quietMs && statuses.isListed
      if (isQuiet && (yield* silent(written)).length === 0) return true
    }
  })

  return {
    /** Succeeds with the first list of each kind, or after ten seconds. */
    ready: Effect.sync(() => statuses.isListed).pipe(
      Effect.repeat({ until: (isListed) => isListed, schedule: Schedule.spaced(lookMs) }),
      Effect.timeoutOption(readyMs),
      Effect.raceFirst(failed),
    ),

    /** Records another kind from now on. */
    follow: (gvk: string): void => {
      if (kinds.has(gvk) || !isOpen) return
      kinds.add(gvk)
      reconfigure(tracked()).catch((error: unknown) => Deferred.doneUnsafe(unfollowed, Effect.fail(error)))
    },

    /**
     * Waits until the target has settled, `mostMs` at most and not once `stopped` succeeds, commits, and ends the recording. A kind of which it has
     * not received `written` by then is not measured: its watch was lost.
     */
    end: Effect.fnUntraced(function* (mostMs: number, stopped: Effect.Effect<void>, written: WrittenVersions) {
      const startMs = clock.monotonicMs()
      const tooLong = Effect.raceFirst(stopped, Effect.sleep(mostMs)).pipe(Effect.as(false))
      const isSettled = yield* Effect.raceAllFirst([failed, tooLong, settled(written)])
      const settlingMs = clock.monotonicMs() - startMs
      const incomplete = statuses.incomplete()
      const last = yield* cut().pipe(Effect.mapError(({ message }) => new Error(message)))
      const lost = yield* silent(written)
      const since = new Map<string, number>()
      for (const gvk of kinds) {
        const { recordedSince } = yield* store.call("kindState", gvk)
        if (recordedSince > 0) since.set(gvk, recordedSince)
      }
      yield* Scope.close(recorder, Exit.void)
      // A kind that the trace uninstalls was watched to its end.
      const unmeasured = incomplete.filter(({ gvk, state }) => state !== "waiting" || !since.has(gvk))
      const all = [...unmeasured.map(unmeasuredKind), ...lost]
      return { directory, cut: last, settlingMs, isSettled, since, unmeasured: all } satisfies EndedRecording
    }),
  }
})

const temporaryDirectory = Effect.acquireRelease(
  Effect.tryPromise({ try: () => mkdtemp(join(tmpdir(), "kubereel-")), catch: (error) => error }),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true })),
)

/** Empty for what is not a kind: the replay refuses its objects. */
const trackedKind = (gvkText: string, replay: string): ReadonlyArray<TrackedKind> => {
  const gvk = parseGvk(gvkText)
  if (gvk === undefined) return []
  return [
    {
      gvk,
      gvkText,
      podSpecTemplatePaths: [],
      trackLifecycle: false,
      skipOwned: false,
      keepManagedFields: false,
      // A write is found by the version that its response had; nodes are only counted.
      detect: gvkText === nodeKind ? "content" : "all",
      ignore: [],
      ...(!wholeKinds.includes(gvkText) && { labelSelector: `${replayLabel}=${replay}` }),
    },
  ]
}

const unmeasuredKind = ({ gvk, state, detail }: KindStatus): UnmeasuredKind => ({ gvk, reason: `${state}: ${detail}` })
