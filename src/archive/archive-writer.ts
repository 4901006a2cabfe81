/**
 * The only writer of a recording.
 *
 * `append` takes a frame into memory, `commit` makes all of them durable in one transaction: events, the state of their kinds, object
 * names, gaps, pod lifecycles, owners, and the senders' frame numbers. So a frame is on disk entirely or not at all, and a repeated one is
 * recognised. Per frame it checks the columns and copies the bytes; per event it does nothing.
 *
 * Under overload it neither slows its callers down nor drops anything: `pendingBytes` grows until the owner commits. When a commit fails
 * (disk full, input/output error) nothing is lost: everything stays pending and the next commit retries it. After an I/O error it first makes
 * sure that what was committed before is still there.
 *
 * It must be used by one thread only; `open` takes the directory's lock, so there is no other writer.
 */

import type { DatabaseSync } from "node:sqlite"
import { RedactedSums } from "../kube/offline.ts"
import { type AuthoredWrite, podLivesKind } from "../trace/index.ts"
import type { Gap, PodLife } from "../wire/index.ts"
import { BLOCK_BYTES } from "./blocks/block.ts"
import { restoreOrSeal } from "./blocks/block-rows.ts"
import { BlockSource } from "./blocks/block-source.ts"
import { OpenBlock } from "./blocks/open-block.ts"
import { BLOCKS_PER_CHECKPOINT, Checkpoints, EVENTS_PER_OBJECT } from "./checkpoints/checkpoint.ts"
import { type LiveObject, liveObjectsOf, StateHistory } from "./checkpoints/state-history.ts"
import { DiskFullError, toArchiveError, UncommittedFramesError } from "./directory/archive-errors.ts"
import { type DirectoryLock, lockDirectory } from "./directory/directory-lock.ts"
import { flush } from "./directory/private-files.ts"
import { makeLeases } from "./leases/lease.ts"
import { changeTimesOf, checkFrame, PendingRows } from "./pending-rows.ts"
import { Pins } from "./pins/pins.ts"
import { Retention } from "./retention/retention.ts"
import { type AuditedRange, AuthorRows } from "./rows/author-rows.ts"
import { type KindState, KindTable, unknownKind } from "./rows/kind-table.ts"
import {
  INCARNATIONS_KEY,
  LOST_BEGINNING_KEY,
  type LostBeginning,
  lostBeginningIn,
  lostGapOf,
  Metadata,
  REDACTED_KEY,
  readMetadata,
  WRITER_KEY,
} from "./rows/metadata.ts"
import { type AnsweredOwner, type NamedOwner, OwnerSets, UnrecordedOwners } from "./rows/owner-sets.ts"
import { type LivingPod, PodTable } from "./rows/pod-table.ts"
import { lastSequenceOf, openForWriting } from "./tables/schema.ts"
import { requireSoundStructure } from "./tables/sound-rows.ts"
import { TrustedDatabase } from "./tables/trusted-database.ts"
import { type AppendResult, type ArchiveWriterOptions, type CommitResult, SenderLedger } from "./writing.ts"

/** Opens, appends, commits, closes. Use {@link ArchiveWriter.open}. */
export class ArchiveWriter {
  readonly directory: string
  readonly metadata: Metadata
  /** How many values were replaced in what was recorded, since the recording was begun. Retention subtracts nothing. */
  readonly redacted: RedactedSums
  readonly #database: TrustedDatabase
  readonly #lock: DirectoryLock
  readonly #now: () => number
  readonly #isSynchronous: boolean
  readonly #senders: SenderLedger
  readonly #kinds: KindTable
  readonly #rows: PendingRows
  readonly #source: BlockSource
  readonly #history: StateHistory
  readonly #checkpoints: Checkpoints
  readonly #pods: PodTable
  readonly #ownerSets: OwnerSets
  readonly #owners: UnrecordedOwners
  readonly #authors: AuthorRows
  readonly #open: OpenBlock
  readonly #pins: Pins
  /** Removes the beginning of the recording, in steps between commits. */
  readonly retention: Retention
  readonly #lostBeginning: LostBeginning | undefined
  #nextSequence: number
  #cut: number
  #pendingBytes = 0
  #isClosed = false

  /**
   * Takes the directory, creating it if necessary, and continues where the last writer ended.
   *
   * @throws ArchiveError: DirectoryInUseError, DirectoryNotWritableError, NetworkFileSystemError, NewerRecordingError, OlderRecordingError,
   * NotARecordingError, DiskFullError, ArchiveIoError, CorruptArchiveError
   */
  static open(directory: string, options: ArchiveWriterOptions = {}): ArchiveWriter {
    const lock = lockDirectory(directory, options.holder, options.fileSystemTypeOf)
    let database: DatabaseSync | undefined
    try {
      const { fsync = "interval", maximumBytes } = options
      const open = () => openForWriting(directory, { fsync, maximumBytes })
      database = open()
      if (readMetadata(database).get(WRITER_KEY) === "open") requireSoundStructure(database, directory)
      // Otherwise the database's files could vanish with their directory entry in a power failure.
      flush(directory)
      return new ArchiveWriter(directory, options, lock, database, open)
    } catch (error) {
      database?.close()
      lock.release()
      throw toArchiveError(directory, "open", error)
    }
  }

  private constructor(
    directory: string,
    options: ArchiveWriterOptions,
    lock: DirectoryLock,
    connection: DatabaseSync,
    reopen: () => DatabaseSync,
  ) {
    this.directory = directory
    this.#lock = lock
    this.#database = new TrustedDatabase(directory, connection, reopen)
    const database = this.#database.shared
    this.#now = options.now ?? (() => Date.now() * 1000)
    this.#isSynchronous = options.fsync === "always"
    this.metadata = new Metadata(database, directory)
    this.redacted = new RedactedSums(this.metadata.get(REDACTED_KEY))
    const { incarnationsAbove, lostBeginning } = options
    if (lostBeginning !== undefined) this.metadata.set(LOST_BEGINNING_KEY, JSON.stringify(lostBeginning))
    this.#lostBeginning = lostBeginningIn(this.metadata)
    if (incarnationsAbove !== undefined) this.metadata.set(INCARNATIONS_KEY, String(incarnationsAbove))
    this.#senders = new SenderLedger(database, Number(this.metadata.get(INCARNATIONS_KEY) ?? 0))
    this.#kinds = new KindTable(database)
    this.#rows = new PendingRows(database)
    this.#source = new BlockSource(database, directory, { cachedBytes: 0, passesOverDamage: true, isWriter: true })
    this.#history = new StateHistory(database, this.#source, directory, true)
    this.#open = new OpenBlock(options.limits?.blockBytes ?? BLOCK_BYTES)
    const { blocksPerCheckpoint = BLOCKS_PER_CHECKPOINT, eventsPerObject = EVENTS_PER_OBJECT } = options.limits ?? {}
    this.#checkpoints = new Checkpoints(database, this.#source, this.#history, { blocksPerCheckpoint, eventsPerObject })
    this.#pods = new PodTable(database)
    this.#ownerSets = new OwnerSets(database, options.recordedKinds ?? [])
    this.#owners = new UnrecordedOwners(database)
    this.#authors = new AuthorRows(database)
    this.#cut = lastSequenceOf(database)
    this.#nextSequence = this.#cut + 1
    restoreOrSeal(database, this.#open, (gvk) => this.#kinds.idOf(gvk))
    makeLeases(directory)
    this.#pins = new Pins({ directory, database: this.#database, now: this.#now })
    this.retention = new Retention(
      {
        ...{ directory, database: this.#database, kinds: this.#kinds, ownerSets: this.#ownerSets, now: this.#now },
        ...{ source: this.#source, history: this.#history, owners: this.#owners, pins: this.#pins },
        isPending: () => this.#pendingBytes > 0 || this.#rows.hasGaps,
      },
      options.limits?.retention,
    )
    // Into the database file itself: a copy without its log must show that it lacks one.
    this.metadata.set(WRITER_KEY, "open")
    this.#database.checkpoint("PASSIVE")
  }

  get hasLists(): boolean {
    return this.#kinds.all().some((kind) => kind.recordedSince !== 0)
  }

  /** Sequence number of the last durable event: everything up to it can be read and never changes. */
  cut(): number {
    return this.#cut
  }

  /**
   * Whether a whole block waits for the commit. At high rates, commit only then: frames committed sooner are compressed twice, once as a
   * part and once in the block.
   */
  get hasSealedBlock(): boolean {
    return this.#rows.sealedBlocks > 0
  }

  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /**
   * Takes a frame; its bytes are copied before this returns. `number` increases within an incarnation, incarnations come from {@link
   * nextIncarnation}.
   *
   * @throws MalformedFrameError if the bytes are not a frame, or refer to an object that was never introduced. Nothing of it is taken, and
   * nothing else is affected.
   */
  append(sender: string, incarnation: number, number: number, frame: Uint8Array): AppendResult {
    const admission = this.#senders.admit(sender, incarnation, number)
    if (admission !== "new") return admission
    const { split, events, before } = checkFrame(frame, this.#kinds, this.#pods)
    // Nothing below this line may fail: the frame has been taken.
    const kind = this.#kinds.idOf(events.gvk)
    const firstSequence = this.#nextSequence
    this.#nextSequence += events.count
    const floor = before?.lastEventTime ?? 0
    const isFirstList = (before?.recordedSince ?? 0) === 0
    const firstTime = events.firstTime()
    const lastTime = Math.max(floor, events.lastTime())
    const receivedFloor = before?.lastReceivedTime ?? 0
    let lastReceived = Math.max(receivedFloor, events.lastReceived(), lastTime)
    if (events.count > 0) {
      this.#open.add(split, {
        ...{ kind, firstSequence, events: events.count, firstTime, lastTime, lastReceived },
        timeFloor: firstTime < floor ? floor : 0,
        receivedFloor: events.firstReceived() < receivedFloor ? receivedFloor : 0,
      })
    }
    for (let index = 0; index < events.newObjectCount; index++) {
      const object = events.newObject(index)
      const { number, uid, namespace, name } = object
      const owners = this.#ownerSets.of(namespace, object.ownerReferences)
      this.#owners.named(owners.unrecorded)
      const isKnown = number < (before?.nextObjectNumber ?? 1)
      const floors = { time: floor, received: receivedFloor }
      const replaced = isKnown ? changeTimesOf(events, number, floors, this.#now()) : undefined
      this.#rows.object({ kind, number, uid, namespace, name, firstSequence, owners: owners.id, replaced })
    }
    for (let index = 0; index < events.gapCount; index++) {
      const gap = events.gap(index)
      this.#placeGap(gap.gvk === undefined ? kind : this.#kinds.idOf(gap.gvk), gap)
    }
    let lastKnownTime = lastTime
    for (let index = 0; index < events.podLifeCount; index++) {
      const life = events.podLife(index)
      this.#pods.add(this.#nextSequence++, life)
      this.#owners.named(this.#ownersOfPod(life))
      lastKnownTime = Math.max(lastKnownTime, life.time)
      lastReceived = Math.max(lastReceived, life.received ?? life.time)
    }
    for (let index = 0; index < events.lateRangeCount; index++) {
      // A frame has events or lifecycles that are late; without either, the range is placed at what came before.
      const sequence = Math.min(firstSequence, this.#nextSequence - 1)
      this.#rows.late.add({ sequence, kind, range: events.lateRange(index) })
    }
    if (events.redacted.length > 0) this.redacted.add(events.gvk, events.redacted)
    this.#kinds.advance(
      events,
      { lastTime: lastKnownTime, lastReceived },
      this.metadata.get("clusterUid") ?? "",
      this.#now(),
    )
    const lost = isFirstList && lostGapOf(this.metadata, this.#lostBeginning, this.#kinds.get(events.gvk))
    if (lost) this.#placeGap(kind, lost)
    this.#senders.accept(sender, incarnation, number)
    this.#pendingBytes += frame.length
    if (this.#open.isFull) this.#seal()
    return "appended"
  }

  /** Records a gap without a frame, such as that of a stopped kind. It is durable with the next commit. */
  recordGap(gvk: string, gap: Gap): void {
    this.#placeGap(this.#kinds.idOf(gvk), gap)
  }

  /**
   * Whether this very gap has been recorded, durably or not yet: a caller that did not receive the result of {@link recordGap} repeats the
   * call, and the gap must not be recorded twice.
   */
  hasGap(gvk: string, gap: Gap): boolean {
    const kind = this.#kinds.get(gvk)?.id
    if (kind === undefined) return false
    try {
      this.#database.regain(this.#cut)
      return this.#rows.hasGap(kind, gap)
    } catch (error) {
      throw toArchiveError(this.directory, "looking for a gap", error)
    }
  }

  /**
   * Takes a frame with owners that were looked up, exactly once like any frame. Owners read from the recording itself are never replaced.
   * `byteLength`: of the frame.
   */
  appendOwners(
    sender: string,
    incarnation: number,
    number: number,
    answers: ReadonlyArray<AnsweredOwner>,
    byteLength: number,
  ): AppendResult {
    const admission = this.#senders.admit(sender, incarnation, number)
    if (admission !== "new") return admission
    for (const answer of answers) {
      this.#owners.answered(answer, this.#ownerSets.unrecorded(answer.namespace, answer.ownerReferences))
    }
    this.#senders.accept(sender, incarnation, number)
    this.#pendingBytes += byteLength
    return "appended"
  }

  /**
   * Adds who wrote, durably and at once; what was added before stays as it is. `range`: of the log. Returns how many writes were to kinds that
   * are recorded: the others are not kept. @throws ArchiveError: nothing of it was added
   */
  addAuthors(writes: ReadonlyArray<AuthoredWrite>, range: AuditedRange): number {
    this.#database.regain(this.#cut)
    const place = { database: this.#database, metadata: this.metadata, idOf: (gvk: string) => this.#kinds.idOf(gvk) }
    return this.#authors.add(place, writes, range)
  }

  /** Windows that are kept. @throws ArchiveError if the database is in doubt */
  get pins(): Pins {
    this.#database.regain(this.#cut)
    return this.#pins
  }

  setRecordedKinds(kinds: ReadonlyArray<string>): void {
    this.#ownerSets.setRecordedKinds(kinds)
  }

  /** Whether an owner that is named and not recorded waits to be looked up, as of the last commit. */
  get hasOpenOwners(): boolean {
    return this.#owners.hasOpen
  }

  /**
   * Makes everything taken durable. If there is nothing to write, it still acknowledges repeated frames.
   *
   * After an I/O error or a failed sync the database is first closed, checked and opened again.
   *
   * @throws DiskFullError, ArchiveIoError: nothing of it is on disk, everything is still pending; retry.
   * @throws CorruptArchiveError: what was committed before is lost or damaged. End this writer with {@link abandon}.
   */
  commit(): CommitResult {
    // First: what cannot be trusted, retention does not touch.
    this.#database.regain(this.#cut)
    if (this.retention.isMakingRoom) throw new DiskFullError({ directory: this.directory, operation: "commit" })
    const events = this.#nextSequence - 1 - this.#cut - this.#pods.pending
    const bytes = this.#pendingBytes
    if (this.#open.hasPending && this.#open.isNearlyFull) this.#seal()
    const part = this.#open.hasPending ? this.#open.packPending() : undefined
    let countCheckpoints: (() => void) | undefined
    if (this.#pendingBytes > 0 || this.#rows.hasGaps || this.hasSealedBlock) {
      this.#database.transaction("commit", () => {
        this.#rows.save(part)
        this.#pods.save()
        this.#ownerSets.save()
        this.#owners.save()
        this.#kinds.save()
        if (this.redacted.all.length > 0) this.metadata.set(REDACTED_KEY, this.redacted.text)
        this.#senders.save()
        countCheckpoints = this.#checkpoints.save(this.#rows.summaries, (id) => this.#kinds.byId(id))
      })
    }
    countCheckpoints?.()
    const blocks = this.#rows.sealedBlocks
    this.#open.markDurable()
    this.#kinds.markSaved()
    this.#pods.markSaved()
    this.#ownerSets.markSaved()
    const namedOwners = this.#owners.takeNamed()
    this.#rows.clear()
    this.#pendingBytes = 0
    this.#cut = this.#nextSequence - 1
    return {
      acknowledgements: this.#senders.takeAcknowledgements(),
      events,
      bytes,
      blocks,
      cut: this.#cut,
      namedOwners,
    }
  }

  /**
   * Flushes what is committed to the disk, off this thread. Each call covers every commit that returned before it. With `fsync: "always"`
   * there is nothing to do.
   *
   * Rejects with ArchiveIoError or DiskFullError. The system may have dropped what it could not write, so a repetition that succeeds would
   * prove nothing about the commits before it: the next call, and the next commit, first check the database, and reject with
   * CorruptArchiveError if it is not what was committed.
   */
  async sync(): Promise<void> {
    this.#database.regain(this.#cut)
    if (!this.#isSynchronous) await this.#database.sync()
  }

  /** Writes the log into the database and cuts it. @throws what SQLite throws */
  shrinkLog(): void {
    this.#database.checkpoint("TRUNCATE")
  }

  /** Whether an I/O error has left the database in doubt, until it has been checked. */
  get isDistrusted(): boolean {
    return this.#database.isDistrusted
  }

  /** Frees the directory and leaves its files as they are, which are not what they should be. Nothing is written any more. */
  abandon(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.retention.stop()
    try {
      this.#database.abandon()
    } finally {
      this.#lock.release()
    }
  }

  /**
   * State from which a watcher of this kind resumes, as committed.
   *
   * @throws UncommittedFramesError while frames of the kind wait for a commit.
   */
  kindState(gvk: string): KindState {
    this.#refuseUncommitted(gvk)
    const kind = this.#kinds.get(gvk)
    if (kind === undefined) return unknownKind(gvk)
    const { id: _, ...state } = kind
    return state
  }

  /**
   * Objects of a kind that are alive as of now, in batches ordered by number; later commits do not affect the result.
   *
   * @throws UncommittedFramesError while frames of the kind wait for a commit.
   */
  liveObjects(gvk: string): Iterable<ReadonlyArray<LiveObject>> {
    this.#refuseUncommitted(gvk)
    const kind = this.#kinds.get(gvk)
    if (kind === undefined) return []
    return liveObjectsOf(this.#database.shared, this.directory, this.#history, kind, this.#cut)
  }

  /** Number for the next pod that was never seen to run. */
  get nextPodNumber(): number {
    return this.#pods.nextNumber
  }

  /**
   * Pods that were seen to run and still exist, in batches ordered by number: the state from which the next pod watcher resumes.
   *
   * @throws UncommittedFramesError while lifecycle records wait for a commit.
   */
  livingPods(): Iterable<ReadonlyArray<LivingPod>> {
    if (this.#pods.pending > 0) throw new UncommittedFramesError({ gvk: podLivesKind })
    return this.#pods.living()
  }

  /**
   * A new incarnation for a sender that starts: higher than any before, also across restarts of the process. From now on
   * frames of earlier incarnations are fenced. Commit and read the kind's state after this, not before.
   */
  nextIncarnation(sender: string): number {
    try {
      this.#database.regain(this.#cut)
      return this.#senders.nextIncarnation(sender)
    } catch (error) {
      throw this.#database.noteTrouble(toArchiveError(this.directory, "noting a sender's start", error))
    }
  }

  /** Number of the sender's last durable frame within this incarnation, 0 if there is none: it must continue from there. */
  lastFrame(sender: string, incarnation: number): number {
    return this.#senders.lastFrame(sender, incarnation)
  }

  /** Commits, seals the open block, and frees the directory, even if that commit fails. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.retention.stop()
    try {
      if (!this.#open.isEmpty) this.#seal()
      this.commit()
      this.metadata.set(WRITER_KEY, "closed")
      this.#database.checkpoint("TRUNCATE")
    } catch (error) {
      throw toArchiveError(this.directory, "close", error)
    } finally {
      try {
        this.#database.close()
      } finally {
        this.#lock.release()
      }
    }
  }

  #seal(): void {
    this.#rows.seal(this.#open.packWhole(), this.#open.hasDurable)
    this.#open.clear()
  }

  /** Pods of a recorded kind may be named twice, with their event and with their lifecycle; the second time has no effect. */
  #ownersOfPod({ identity, ownerReferences }: PodLife): ReadonlyArray<NamedOwner> {
    return identity === undefined ? [] : this.#ownerSets.of(identity.namespace, ownerReferences).unrecorded
  }

  #placeGap(kind: number, gap: Gap): void {
    this.#rows.gap({ sequence: this.#nextSequence++, kind, gap })
  }

  #refuseUncommitted(gvk: string): void {
    if (this.#kinds.isChanged(gvk)) throw new UncommittedFramesError({ gvk })
  }
}
