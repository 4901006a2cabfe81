/**
 * The store: the only writer of the recording. Takes frames, commits them in batches, acknowledges what is committed, and
 * tells starting watchers where their kinds stand.
 *
 * Acknowledged means committed: at the latest 100 ms after a frame arrived, or when a block of 1 MiB is full. When the disk refuses
 * (full, gone), nothing is acknowledged and nothing is dropped: senders keep their frames, reading stops by back-pressure, and the
 * commit is tried again every second.
 */
import * as Effect from "effect/Effect"
import type { ActorBody, ActorContext } from "../../runtime/actor.ts"
import type { Timer } from "../../runtime/clock.ts"
import { ArchiveWriter, type CommitResult } from "../../trace/archive/archive-writer.ts"
import { observationsMailbox, storedStateMailbox } from "../names.ts"
import { type StoreConfig, type StoreControl, type StoreReport, StoreUnavailable } from "./definition.ts"
import { Presence } from "./presence.ts"
import { sendStoredState } from "./send-stored-state.ts"

/** ms a frame waits for company before it is committed (architecture §5). */
const commitDelayMs = 100
/** ms between tries while the disk refuses. */
const commitRetryMs = 1000
/** ms between syncs to the disk with `fsync: interval` (architecture §5), and between looks whether the files are still there. */
const syncIntervalMs = 1000

export const storeBody: ActorBody<StoreConfig, StoreControl, StoreReport> = (context) =>
  Effect.gen(function* () {
    const { config } = context
    const archive = yield* Effect.acquireRelease(
      Effect.try({
        try: () => ArchiveWriter.open(config.directory, { fsync: config.fsync }),
        catch: (cause) => cause,
      }),
      (open) => Effect.sync(() => open.close()),
    )
    const writer = new StoreWriter(context, archive)
    yield* Effect.acquireRelease(
      Effect.sync(() => writer.start()),
      () => Effect.sync(() => writer.stop()),
    )
    const attempt = <A>(action: () => A): Effect.Effect<A, StoreUnavailable> =>
      Effect.try({ try: action, catch: (cause) => new StoreUnavailable({ message: messageOf(cause) }) })
    return {
      nextIncarnation: (sender) => attempt(() => archive.nextIncarnation(sender)),
      cut: () =>
        attempt(() => {
          writer.commitOrThrow()
          return archive.cut()
        }),
      recordGap: ({ gvk, gap }) =>
        attempt(() => {
          archive.recordGap(gvk, gap)
          writer.commitOrThrow()
        }),
      clusterUid: () => Effect.sync(() => archive.metadata.get("clusterUid") ?? ""),
      setClusterUid: (uid) => attempt(() => archive.metadata.set("clusterUid", uid)),
      kindState: (gvk) =>
        attempt(() => {
          writer.commitOrThrow()
          const { completeThrough, completeThroughTime } = archive.kindState(gvk)
          return { resumeVersion: completeThrough, completeTime: completeThroughTime }
        }),
      statistics: () => Effect.sync(() => writer.statistics()),
    }
  })

/** Gathers, commits, acknowledges. */
class StoreWriter {
  readonly #context: ActorContext<StoreConfig, StoreReport>
  readonly #archive: ArchiveWriter
  readonly #inbox: ReturnType<ActorContext<StoreConfig, StoreReport>["inbox"]>
  #commitTimer: Timer | undefined
  #syncTimer: Timer | undefined
  readonly #presence: Presence
  /** What the disk refuses now. */
  readonly #troubles = new Set<"commit" | "sync">()
  #stopped = false
  #isGone = false
  #events = 0
  #frames = 0
  #duplicates = 0
  #bytes = 0
  /** Monotonic ms at which the oldest frame arrived that waits for a commit. */
  #pendingSince: number | undefined
  #commits = 0
  #longestCommitMs = 0

  constructor(context: ActorContext<StoreConfig, StoreReport>, archive: ArchiveWriter) {
    this.#context = context
    this.#archive = archive
    this.#presence = new Presence(context.config.directory)
    this.#inbox = context.inbox(observationsMailbox, {
      attached: (sender, incarnation) => this.#attached(sender, incarnation),
      frame: (sender, frame) => {
        const outcome = archive.append(sender, frame.incarnation, frame.number, frame.payload)
        if (outcome === "duplicate") this.#duplicates++
        else this.#frames++
        this.#pendingSince ??= context.clock.monotonicMs()
        if (archive.hasSealedBlock && !this.#troubles.has("commit")) this.commit()
        else this.#commitTimer ??= context.clock.after(commitDelayMs, () => this.commit())
      },
    })
  }

  start(): void {
    this.#syncLater()
  }

  stop(): void {
    this.#stopped = true
    this.#syncTimer?.cancel()
    const isCommitted = this.commit()
    this.#commitTimer?.cancel()
    this.#context.report({ type: "closed", events: this.#events })
    if (!isCommitted) {
      throw new Error(`the last frames could not be committed to ${this.#context.config.directory}; see the log above`)
    }
  }

  /** Commits on the timer's or the volume's account: what the disk refuses is tried again later. */
  commit(): boolean {
    try {
      this.commitOrThrow()
      return true
    } catch {
      // Reported already, and tried again by itself.
      return false
    }
  }

  /**
   * Everything gathered is on disk and acknowledged afterwards, or it throws an ArchiveError, all is as before, and it is tried
   * again by itself: with the window full no frame comes any more that could ask for it.
   */
  commitOrThrow(): void {
    this.#commitTimer?.cancel()
    this.#commitTimer = undefined
    const { clock } = this.#context
    const before = clock.monotonicMs()
    const result = this.#commitArchive()
    for (const { sender, incarnation, number } of result.acknowledgements) {
      this.#inbox.acknowledge(sender, incarnation, number)
    }
    this.#events += result.events
    this.#bytes += result.bytes
    this.#commits++
    this.#pendingSince = undefined
    this.#longestCommitMs = Math.max(this.#longestCommitMs, clock.monotonicMs() - before)
    this.#accepted("commit")
  }

  #commitArchive(): CommitResult {
    try {
      return this.#archive.commit()
    } catch (cause) {
      this.#refused("commit", cause)
      this.#commitTimer = this.#context.clock.after(commitRetryMs, () => this.commit())
      throw cause
    }
  }

  statistics() {
    const longestCommitMs = this.#longestCommitMs
    this.#longestCommitMs = 0
    return {
      events: this.#events,
      frames: this.#frames,
      duplicateFrames: this.#duplicates,
      bytes: this.#bytes,
      commits: this.#commits,
      longestCommitMs,
      pendingBytes: this.#archive.pendingBytes,
      lagMs: this.#pendingSince === undefined ? 0 : this.#context.clock.monotonicMs() - this.#pendingSince,
      sequence: this.#archive.cut(),
    }
  }

  /** A watcher starts, or meets a new life of ours. What its earlier life left here is committed before its state is read. */
  #attached(sender: string, incarnation: number): number {
    this.commitOrThrow()
    const watcher = this.#context.config.watchers.find((each) => each.name === sender)
    if (watcher === undefined) throw new Error(`an unknown sender was linked to the store: ${sender}`)
    sendStoredState(this.#context.outbox(storedStateMailbox(sender)), this.#archive, watcher.gvk, incarnation)
    return this.#archive.lastFrame(sender, incarnation)
  }

  #syncLater(): void {
    if (this.#stopped || this.#isGone) return
    this.#syncTimer = this.#context.clock.after(syncIntervalMs, () => {
      void this.#sync()
        .then(
          () => this.#accepted("sync"),
          (cause: unknown) => this.#refused("sync", cause),
        )
        .then(() => this.#syncLater())
    })
  }

  /** With `fsync: always` there is nothing to sync, and the look at the files remains. */
  async #sync(): Promise<void> {
    const missing = this.#presence.missing()
    if (missing !== undefined) {
      const message =
        `${missing} was removed or moved away while recording: nothing can be kept there any more. ` +
        "Put it back where it was, or choose another --data-dir, and start again."
      this.#isGone = true
      this.#context.report({ type: "gone", message })
    } else await this.#archive.sync()
  }

  #refused(what: "commit" | "sync", cause: unknown): void {
    this.#troubles.add(what)
    this.#context.report({ type: "commit-failed", message: messageOf(cause) })
  }

  #accepted(what: "commit" | "sync"): void {
    if (this.#troubles.delete(what) && this.#troubles.size === 0) this.#context.report({ type: "commit-recovered" })
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
