/**
 * A recording of the target while a replay runs, in the threads of the recorder of `reel record`: of each kind the
 * objects with the label of the replay, and all pods and nodes. A kind that cannot be watched is not measured and delays
 * nothing.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Clock } from "../../clock.ts"
import { defaultWatchPolicy, type EndpointSource, type WatchPolicy } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import {
  type KindStatus,
  type RecorderActors,
  reasonOf,
  startRecorderActors,
  type TrackedKind,
} from "../../recorder/index.ts"
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

/**
 * A recorder of the target in its own threads, from `start` to `close`. A kind that cannot be recorded is reported by `end` and stops
 * nothing.
 */
export class TargetRecording {
  readonly directory: string
  readonly #options: TargetRecordingOptions
  readonly #scope: Scope.Closeable
  readonly #actors: RecorderActors
  readonly #kinds: Set<string>
  readonly #closing = new AbortController()
  #failure: string | undefined
  #isOpen = true

  private constructor(
    options: TargetRecordingOptions,
    directory: string,
    scope: Scope.Closeable,
    actors: RecorderActors,
  ) {
    this.directory = directory
    this.#options = options
    this.#scope = scope
    this.#actors = actors
    this.#kinds = new Set(options.kinds)
    Effect.runPromise(actors.ended, { signal: this.#closing.signal }).catch((error: unknown) => {
      if (this.#isOpen) this.#failure = reasonOf(error)
    })
  }

  /** Resolves when the store is open. Rejects with an error for people: the directory is not empty or cannot be written to. */
  static async start(options: TargetRecordingOptions): Promise<TargetRecording> {
    const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "kubereel-")))
    const scope = await Effect.runPromise(Scope.make())
    try {
      const starting = startRecorderActors({
        kinds: options.kinds.flatMap((gvk) => trackedKind(gvk, options.replay)),
        directory,
        fsync: "interval",
        endpoints: options.endpoints,
        userAgent: options.userAgent,
        clock: options.clock,
        looksUpOwners: false,
        policy,
        notify: () => undefined,
      })
      const actors = await Effect.runPromise(starting.pipe(Effect.provideService(Scope.Scope, scope)))
      return new TargetRecording(options, directory, scope, actors)
    } catch (error) {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      if (options.directory === undefined) await rm(directory, { recursive: true, force: true })
      throw new Error(reasonOf(error))
    }
  }

  /** Waits for the first list of each kind, ten seconds at most, and not once `signal` is aborted. */
  async ready(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const deadline = clock.monotonicMs() + readyMs
    const isWaiting = (): boolean => !this.#actors.statuses.isListed && this.#failure === undefined && !signal.aborted
    while (isWaiting() && clock.monotonicMs() < deadline) await this.#pause()
  }

  /** Records another kind from now on. */
  follow(gvk: string): void {
    if (this.#kinds.has(gvk) || !this.#isOpen) return
    this.#kinds.add(gvk)
    const kinds = [...this.#kinds].flatMap((each) => trackedKind(each, this.#options.replay))
    this.#actors.reconfigure(kinds).catch((error: unknown) => {
      if (this.#isOpen) this.#failure ??= reasonOf(error)
    })
  }

  /**
   * Waits until all that was written has been received and nothing has changed for a second, `mostMs` at most, commits, and ends the recording. A
   * kind of which it has not received `written` by then is not measured: its watch was lost. Does not wait once `signal` is aborted. Rejects with
   * an error for people if the recorder has failed.
   */
  async end(mostMs: number, signal: AbortSignal, written: WrittenVersions): Promise<EndedRecording> {
    const { clock } = this.#options
    const startMs = clock.monotonicMs()
    const isSettled = await this.#settled(startMs + mostMs, signal, written)
    const settlingMs = clock.monotonicMs() - startMs
    if (this.#failure !== undefined) throw new Error(this.#failure)
    const statuses = this.#actors.statuses.incomplete()
    const cut = await Effect.runPromise(this.#actors.cut())
    const silent = await this.#silent(written)
    const since = new Map<string, number>()
    for (const gvk of this.#kinds) {
      const { recordedSince } = await Effect.runPromise(this.#actors.store.call("kindState", gvk))
      if (recordedSince > 0) since.set(gvk, recordedSince)
    }
    await this.close()
    const { directory } = this
    // A kind that the trace uninstalls was watched to its end.
    const unmeasured = statuses.filter(({ gvk, state }) => state !== "waiting" || !since.has(gvk)).map(unmeasuredKind)
    return { directory, cut, settlingMs, isSettled, since, unmeasured: [...unmeasured, ...silent] }
  }

  /** Ends the recorder; the directory stays. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#closing.abort()
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }

  /** Removes the directory unless it was named. */
  async remove(): Promise<void> {
    if (this.#options.directory === undefined) await rm(this.directory, { recursive: true, force: true })
  }

  async #settled(deadline: number, signal: AbortSignal, written: WrittenVersions): Promise<boolean> {
    const { clock } = this.#options
    let last: number | undefined
    let changedMs = clock.monotonicMs()
    while (clock.monotonicMs() < deadline && this.#failure === undefined && !signal.aborted) {
      const sequence = await Effect.runPromise(
        this.#actors.store.call("statistics", undefined).pipe(
          Effect.map((statistics) => statistics.sequence),
          Effect.orElseSucceed(() => last),
        ),
      )
      if (sequence !== last) changedMs = clock.monotonicMs()
      last = sequence
      const isQuiet = clock.monotonicMs() - changedMs >= quietMs && this.#actors.statuses.isListed
      if (isQuiet && (await this.#silent(written)).length === 0) return true
      await this.#pause()
    }
    return false
  }

  /** Kinds whose watch has not delivered what was written. */
  async #silent(written: WrittenVersions): Promise<ReadonlyArray<UnmeasuredKind>> {
    const silent: UnmeasuredKind[] = []
    for (const [gvk, version] of written) {
      const { resumeVersion, recordedSince } = await Effect.runPromise(this.#actors.store.call("kindState", gvk))
      const isNumber = /^\d+$/.test(resumeVersion)
      if (recordedSince === 0 || !isNumber || BigInt(resumeVersion) >= version) continue
      silent.push({
        gvk,
        reason: `its watch was lost: nothing was received after version ${resumeVersion}, of ${version}`,
      })
    }
    return silent
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(lookMs, resolve))
  }
}

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
