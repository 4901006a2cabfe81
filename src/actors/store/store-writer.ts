/**
 * The store's handling of frames: gathers, commits and acknowledges them, retries when the disk fails, and reports failures.
 *
 * A frame that cannot be decoded is rejected and does not crash the store: it would be delivered to the store's next life, and to the one
 * after that, until the whole recorder stops because of one defective sender. Instead its sender is reported, and nothing more of that life
 * is accepted, because later frames may build on the missing one.
 */

import { statSync } from "node:fs"
import { join } from "node:path"
import {
  type AnsweredOwner,
  type AppendResult,
  type ArchiveWriter,
  type AuditedRange,
  beginSending,
  type CommitResult,
  CorruptArchiveError,
  DATABASE_FILE,
  DiskFullError,
  type DiskUse,
  endSending,
  HELD_AFTER_KEY,
  type NamedOwner,
  noteSent,
  TENURE_KEY,
} from "../../archive/index.ts"
import type { Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { ActorContext, Outbox } from "../../runtime/index.ts"
import type { AuthoredWrite } from "../../trace/index.ts"
import {
  decodeOwnerAnswers,
  encodeOwnerQuestions,
  type Gap,
  MalformedFrameError,
  type OwnerAnswer,
} from "../../wire/index.ts"
import {
  observationsMailbox,
  ownerAnswersMailbox,
  ownerQuestionsMailbox,
  ownerResolverName,
  storedStateMailbox,
} from "../names.ts"
import { RetentionTurns } from "./retention-turns.ts"
import { sendStoredState } from "./send-stored-state.ts"
import type { ExpectedKinds, RetentionSettings, StoreConfig, StoreControl, StoreReport } from "./store-interface.ts"

// Sends the owner-resolver the owners that were named: after each commit those that it made durable, each owner once.
//
// Nothing waits for the resolver. While it does not keep up, the store drops questions, and later asks it to read them from the
// database, which has all of them: so the mailbox bounds the memory. The store does the same when it starts, because its previous
// life may have ended between a commit and its questions.

/** Bytes of questions in flight or waiting: some 4,000 of them. */
const questionsWindow = { windowBytes: 256 * 1024, bufferBytes: 256 * 1024 } as const

/** Questions in one frame. */
const batchQuestions = 1000

const rescan = encodeOwnerQuestions({ questions: [], rescan: true })

export class OwnerQuestions {
  readonly #outbox: Pick<Outbox, "send" | "isWritable" | "onWritable">
  #hasDropped = false

  constructor(outbox: Pick<Outbox, "send" | "isWritable" | "onWritable">) {
    this.#outbox = outbox
    outbox.send(rescan)
    outbox.onWritable(() => {
      if (!this.#hasDropped) return
      this.#hasDropped = false
      outbox.send(rescan)
    })
  }

  /** `owners`: the owners that a commit has made durable. */
  ask(owners: ReadonlyArray<NamedOwner>): void {
    for (let start = 0; start < owners.length && !this.#drop(); start += batchQuestions) {
      this.#outbox.send(encodeOwnerQuestions({ questions: owners.slice(start, start + batchQuestions), rescan: false }))
    }
  }

  /** Reading `isWritable` while it is false makes the outbox call back when it becomes true. */
  #drop(): boolean {
    if (this.#outbox.isWritable) return false
    this.#hasDropped = true
    return true
  }
}

/**
 * ms that a frame may wait to be committed together with others; docs/reference/architecture.md#archive allows 100. With 30 an event is on
 * disk within 50 ms of its receipt, with or without a running export; a commit takes some 0.2 ms, and under load the block is full sooner.
 */
const commitDelayMs = 30
/** ms between attempts while the disk fails. */
export const commitRetryMs = 1000
/**
 * ms between syncs to the disk with `fsync: interval` (docs/reference/architecture.md#archive), and between checks that the files still
 * exist.
 */
const syncIntervalMs = 1000

export type StoreContext = ActorContext<StoreConfig, StoreReport>

/** Belongs to one life of the store; call {@link StoreWriter.start} first. */
export class StoreWriter {
  readonly #context: StoreContext
  readonly #archive: ArchiveWriter
  #watchers: StoreConfig["watchers"]
  /** By name, watchers that were expected earlier in this life and no longer are. */
  readonly #dismissed = new Set<string>()
  readonly #inbox: ReturnType<StoreContext["inbox"]>
  readonly #answers: ReturnType<StoreContext["inbox"]>
  readonly #questions: OwnerQuestions | undefined
  #commitTimer: Timer | undefined
  #syncTimer: Timer | undefined
  readonly #presence: Presence
  readonly #retention: RetentionTurns
  /** The writes that fail now, with the reason; the oldest, which is reported, comes first. */
  readonly #troubles = new Map<Write, string>()
  /** By sender, the life that sent a rejected frame. */
  readonly #refusedLives = new Map<string, number>()
  #hasAsked = false
  #stopped = false
  #isGone = false
  #events = 0
  #frames = 0
  #duplicates = 0
  #bytes = 0
  /** Monotonic ms at which the oldest frame that waits for a commit arrived. */
  #pendingSince: number | undefined
  /** Monotonic ms at which the running sync began. */
  #syncingSince: number | undefined
  #commits = 0
  #longestCommitMs = 0
  #diskUse: DiskUse = { database: 0, free: 0, file: 0, log: 0 }

  constructor(context: StoreContext, archive: ArchiveWriter) {
    this.#context = context
    this.#archive = archive
    this.#watchers = context.config.watchers
    this.#presence = new Presence(context.config.directory)
    this.#retention = new RetentionTurns(archive.retention, context.clock, (trouble) =>
      context.report({ type: "retention", trouble }),
    )
    this.#inbox = context.inbox(observationsMailbox, {
      attached: (sender, incarnation) => this.#attached(sender, incarnation),
      frame: (sender, { incarnation, number, payload }) =>
        this.#take(sender, incarnation, () => this.#archive.append(sender, incarnation, number, payload)),
    })
    this.#answers = context.inbox(ownerAnswersMailbox, {
      attached: (sender, incarnation) => (this.commit() ? this.#archive.lastFrame(sender, incarnation) : "later"),
      frame: (sender, { incarnation, number, payload }) =>
        this.#take(sender, incarnation, () =>
          this.#archive.appendOwners(sender, incarnation, number, readAnswers(payload), payload.length),
        ),
    })
    this.#questions = context.config.asksOwners
      ? new OwnerQuestions(context.outbox(ownerQuestionsMailbox, questionsWindow))
      : undefined
  }

  start(): void {
    this.#syncLater()
    const { metadata, retention } = this.#archive
    if (this.#context.config.isArchived === true) {
      beginSending(metadata)
      retention.hold(Number(metadata.get(HELD_AFTER_KEY) ?? 0))
    } else {
      // Merging and retention go on, so that the rest of this recording can no longer be put behind what its stream has: it is another recording now.
      endSending(metadata)
      if ((metadata.get(TENURE_KEY) ?? "") !== "") metadata.set(TENURE_KEY, "")
    }
    this.#retention.start(this.#context.config.retention)
    if (this.#questions !== undefined && this.#archive.hasOpenOwners) this.#reportOwnersNamed()
  }

  stop(): void {
    this.#stopped = true
    this.#syncTimer?.cancel()
    this.#retention.stop()
    const isCommitted = this.commit()
    this.#commitTimer?.cancel()
    this.#context.report({ type: "closed", events: this.#events })
    if (!isCommitted) {
      throw new Error(`the last frames could not be committed to ${this.#context.config.directory}; see the log above`)
    }
  }

  /** Rejects a frame that cannot be decoded as a whole. A defect of ours is thrown and ends this life. */
  #take(sender: string, incarnation: number, take: () => AppendResult): void {
    if (this.#refusedLives.get(sender) === incarnation) return
    try {
      this.#taken(take())
    } catch (cause) {
      if (!(cause instanceof MalformedFrameError)) throw cause
      this.#refusedLives.set(sender, incarnation)
      this.#context.report({ type: "refused", sender, incarnation, message: cause.message })
    }
  }

  /** Schedules the commit of a frame: at once for a full block, else on a timer. */
  #taken(outcome: AppendResult): void {
    const { clock } = this.#context
    if (outcome === "duplicate") this.#duplicates++
    else if (outcome === "appended") this.#frames++
    this.#pendingSince ??= clock.monotonicMs()
    if (this.#archive.hasSealedBlock && !this.#troubles.has("commit")) this.commit()
    else this.#commitTimer ??= clock.after(commitDelayMs, () => this.commit())
  }

  /** Commits without a caller that handles a failure: it is retried later. */
  commit(): boolean {
    try {
      this.commitOrThrow()
      return true
    } catch {
      // The failure has been reported and a retry is scheduled.
      return false
    }
  }

  /**
   * Commits and acknowledges everything gathered, or throws an ArchiveError, leaves everything as before and schedules a retry: while the
   * window is full no further frame arrives that could trigger one.
   */
  commitOrThrow(): void {
    this.#commitTimer?.cancel()
    this.#commitTimer = undefined
    const { clock } = this.#context
    const before = clock.monotonicMs()
    const result = this.#commitArchive()
    for (const { sender, incarnation, number } of result.acknowledgements) {
      // A watcher that is no longer expected may still wait for the acknowledgement of its last frames.
      const inbox = sender === ownerResolverName ? this.#answers : this.#inbox
      inbox.acknowledge(sender, incarnation, number)
    }
    this.#askFor(result.namedOwners)
    this.#events += result.events
    this.#bytes += result.bytes
    this.#commits++
    this.#retention.committed(result.bytes)
    this.#pendingSince = undefined
    this.#longestCommitMs = Math.max(this.#longestCommitMs, clock.monotonicMs() - before)
    this.#accepted("commit")
    if (this.#stopped) return
    this.#inbox.attachDeferred()
    this.#answers.attachDeferred()
  }

  /** Whether a named owner is waiting to be looked up, or one was in this life. */
  get asksForOwners(): boolean {
    return this.#hasAsked
  }

  /** Sets the watchers that may be linked from now on, and the kinds whose owners need no look-up. */
  expect({ watchers, recordedKinds }: ExpectedKinds): void {
    for (const { name } of this.#watchers) this.#dismissed.add(name)
    for (const { name } of watchers) this.#dismissed.delete(name)
    this.#watchers = watchers
    this.#archive.setRecordedKinds(recordedKinds)
  }

  /** The first call also reports `owners-named`: until then there may be no owner-resolver. */
  #askFor(owners: ReadonlyArray<NamedOwner>): void {
    if (owners.length === 0) return
    this.#questions?.ask(owners)
    this.#reportOwnersNamed()
  }

  #reportOwnersNamed(): void {
    if (this.#hasAsked) return
    this.#hasAsked = true
    this.#context.report({ type: "owners-named" })
  }

  /** How much is kept from now on. */
  setRetention(settings: RetentionSettings): void {
    this.#retention.setPolicy(settings)
  }

  /** The gap is durable when this returns, or it throws an ArchiveError: then repeat the identical call. It will be recorded once. */
  recordGap(gvk: string, gap: Gap): void {
    if (!this.#archive.hasGap(gvk, gap)) this.#archive.recordGap(gvk, gap)
    this.commitOrThrow()
  }

  /** They are durable when this returns, or it throws an ArchiveError and nothing was added: who sent them sends them again. */
  addAuthors(writes: ReadonlyArray<AuthoredWrite>, range: AuditedRange): number {
    try {
      return this.#archive.addAuthors(writes, range)
    } catch (cause) {
      if (cause instanceof CorruptArchiveError) this.#endLife(cause)
      throw cause
    }
  }

  /** Both are durable when this returns, or it throws an ArchiveError: then repeat the call. @throws Error if another recording has taken the place of the one meant */
  keepTenure({ before, text, heldAfter, sentWrites }: StoreControl["keepTenure"]["payload"]["Type"]): void {
    const { metadata, retention } = this.#archive
    const present = metadata.get(TENURE_KEY) ?? ""
    if (present !== before && present !== text) throw new Error("the recording is not the one that was archived")
    metadata.set(TENURE_KEY, text)
    metadata.set(HELD_AFTER_KEY, String(heldAfter))
    noteSent(metadata, sentWrites)
    retention.hold(heldAfter)
  }

  /** The caller repeats the call when the disk fails. */
  nextIncarnation(sender: string): number {
    try {
      const next = this.#archive.nextIncarnation(sender)
      this.#accepted("hand-out")
      return next
    } catch (cause) {
      this.#refused("hand-out", cause)
      throw cause
    }
  }

  #commitArchive(): CommitResult {
    try {
      const result = this.#archive.commit()
      this.#retention.relax()
      return result
    } catch (cause) {
      this.#refused("commit", cause)
      if (cause instanceof DiskFullError) this.#retention.press()
      if (this.#isGone) throw cause
      this.#commitTimer = this.#context.clock.after(commitRetryMs, () => this.commit())
      throw cause
    }
  }

  statistics() {
    return {
      events: this.#events,
      frames: this.#frames,
      duplicateFrames: this.#duplicates,
      bytes: this.#bytes,
      commits: this.#commits,
      pendingBytes: this.#archive.pendingBytes,
      lagMs: this.#pendingSince === undefined ? 0 : this.#context.clock.monotonicMs() - this.#pendingSince,
      sequence: this.#archive.cut(),
      redacted: this.#archive.redacted.all,
      ...this.#retained(),
      syncingMs: this.#syncingSince === undefined ? 0 : this.#context.clock.monotonicMs() - this.#syncingSince,
    }
  }

  #retained() {
    const { retention, isDistrusted } = this.#archive
    // A database in doubt is not asked.
    if (!isDistrusted) this.#diskUse = retention.diskUse()
    const { database, free, log } = this.#diskUse
    const { blocks, events, carried, isHeldUp, removedThrough, unsentEvents } = retention.statistics
    return {
      ...{ databaseBytes: database, freeBytes: free, logBytes: log, removedThrough, unsentEvents },
      ...{ removedBlocks: blocks, removedEvents: events, carriedEvents: carried, isRetentionHeldUp: isHeldUp },
      longestRetentionMs: this.#retention.longestMs,
    }
  }

  /** ms of the longest commit since the previous call. */
  takeLongestCommit(): number {
    const longestCommitMs = this.#longestCommitMs
    this.#longestCommitMs = 0
    return longestCommitMs
  }

  /**
   * A watcher starts, or meets a new life of the store. What its previous life left here is committed before its state is read, which waits
   * until the disk accepts it.
   */
  #attached(sender: string, incarnation: number): number | "later" {
    if (!this.commit()) return "later"
    const watcher = this.#watchers.find((each) => each.name === sender)
    // Linked while the disk failed, it has ended since: there is nothing to send until a successor is linked.
    if (watcher === undefined && this.#dismissed.has(sender)) return "later"
    if (watcher === undefined) throw new Error(`an unknown sender was linked to the store: ${sender}`)
    sendStoredState(this.#context.outbox(storedStateMailbox(sender)), this.#archive, watcher, incarnation)
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

  /** With `fsync: always` there is nothing to sync, but the files are still checked. */
  async #sync(): Promise<void> {
    const missing = this.#presence.missing()
    if (missing !== undefined) {
      const message =
        `${missing} was removed or moved while recording, so nothing can be written there. ` +
        "Restore it, or choose another --data-dir, and restart the recorder."
      this.#isGone = true
      this.#context.report({ type: "gone", message })
      return
    }
    this.#syncingSince = this.#context.clock.monotonicMs()
    try {
      await this.#archive.sync()
    } finally {
      this.#syncingSince = undefined
    }
  }

  #refused(what: Write, cause: unknown): void {
    this.#troubles.set(what, messageOf(cause))
    this.#reportTrouble()
    if (cause instanceof CorruptArchiveError) this.#endLife(cause)
  }

  /** What was acknowledged is lost. Nothing may be added to that. */
  #endLife(cause: CorruptArchiveError): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#retention.stop()
    this.#context.report({ type: "distrusted", message: cause.message })
    try {
      this.#archive.abandon()
    } finally {
      this.#context.crash(cause)
    }
  }

  #accepted(what: Write): void {
    if (this.#troubles.delete(what)) this.#reportTrouble()
  }

  #reportTrouble(): void {
    const [message] = this.#troubles.values()
    this.#context.report(message === undefined ? { type: "commit-recovered" } : { type: "commit-failed", message })
  }
}

const readAnswers = (payload: Uint8Array): ReadonlyArray<AnsweredOwner> => {
  let answers: ReadonlyArray<OwnerAnswer>
  try {
    answers = decodeOwnerAnswers(payload)
  } catch (cause) {
    throw new MalformedFrameError({ reason: messageOf(cause), byteLength: payload.length })
  }
  return answers.map(({ found, recorded, ownerReferences, ...owner }) => ({
    ...owner,
    ownerReferences: Buffer.from(ownerReferences).toString("utf8"),
    state: recorded ? "recorded" : found ? "learnt" : "gone",
  }))
}

/** The kinds of writes to the disk: frames, their synchronisation against a power failure, and the start of a watcher. */
type Write = "commit" | "sync" | "hand-out"

/**
 * Detects that the files of a recording were removed or moved while it is being written. The operating system lets a process continue writing to a
 * file that has no name any more: without this check everything would seem well until the process ends and the recording is lost with it.
 */
class Presence {
  /** Inode of each file once it was seen: the log appears with the first write. */
  readonly #inodes = new Map<string, number | undefined>()

  constructor(directory: string) {
    const database = join(directory, DATABASE_FILE)
    for (const path of [database, `${database}-wal`]) this.#inodes.set(path, inodeOf(path))
  }

  /** Path of a file that is missing or has been replaced; `undefined` if all are present. Costs two stat(2). */
  missing(): string | undefined {
    for (const [path, known] of this.#inodes) {
      const found = inodeOf(path)
      if (known === undefined) this.#inodes.set(path, found)
      else if (found !== known) return path
    }
    return undefined
  }
}

const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino
