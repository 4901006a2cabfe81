/**
 * Retention: removes the beginning of a recording in small steps, between which its writer commits.
 *
 * 1. A stride is planned: blocks from the front whose time is up, or that no longer have room. Nothing comes before: merging and giving back stop
 *    once there is more than the limit of bytes, and merging also between two blocks if a limit of time or of a kind's bytes is exceeded.
 * 2. Their tables of contents are folded to the last event of each object.
 * 3. The beginning moves, in one transaction: those states become remains (checkpoints/state-history.ts), and the blocks count no more. From here
 *    on the state at the new beginning is exact, and what is before is not there for any reader.
 * 4. After some strides, block by block, events that nothing needs any more are removed; the last ones of objects that live on are written anew, with all that
 *    they have, under their own numbers.
 * 5. Once as many events were carried over as had remained, those that are superseded are removed, with the rows of objects, owners and pods that
 *    ended before. So everything that is kept is in proportion to what is alive and what is in the window.
 * 6. Free pages are given back.
 *
 * On a full disk even that needs room: then a reserve is given up (disk-reserve.ts), and made again once there is room. Without a limit of bytes
 * commits wait until it is: once they had taken what is left of the room, nothing could be removed when its time is up.
 *
 * A process may end anywhere: the next one continues 4 from what the rows say, walks everything for 5, and does the
 * rest again. An error of the disk gives up the step; the next one begins where rows say.
 *
 * Memory: 33 bytes for each event of a stride and each object that changed in several of them, 8 bytes for each live object while 5 runs, and one unpacked block.
 */

import { liveSequences, type ObjectStates, type Sequences } from "../checkpoints/object-states.ts"
import { mergeAll } from "../checkpoints/state-history.ts"
import { DiskFullError, toArchiveError } from "../directory/archive-errors.ts"
import { removeExpiredLeases } from "../leases/lease.ts"
import { AuthorRemoval } from "../rows/author-rows.ts"
import { RetainedKinds } from "../rows/beginnings.ts"
import { type Connection, numberOf } from "../tables/database.ts"
import { BeginningMove, type WriterParts } from "./beginning-move.ts"
import { BlockMerging, type MergingBounds, mergingBounds } from "./block-merging.ts"
import { BytesLimit, DiskReserve, type DiskUse, diskUse, giveBack, RESERVE_BYTES, usedBytes } from "./disk-reserve.ts"
import { type Holds, holdsOn } from "./holds.ts"
import { isNamed, keepsAll, type RetentionPolicy, removesAnything, STRIDES, shortestOf } from "./policy.ts"
import { type PlannedStride, type StrideBounds, StridePlan, strideBounds } from "./stride-plan.ts"
import { CarriedOver, Sweeping } from "./sweeping.ts"

/** Sizes that tests make smaller. */
export interface RetentionSizes {
  /** Default {@link strideBounds}. */
  readonly stride: StrideBounds
  /** Carried-over events and ended objects before superseded ones are looked for, at least. Default 4096. */
  readonly collectAfter: number
  /** Of the file that is given up on a full disk. Default {@link RESERVE_BYTES}. */
  readonly reserveBytes: number
  /** Default {@link mergingBounds}. */
  readonly merging: MergingBounds
}

/** Since the writer was opened. */
interface RetentionStatistics {
  /** Blocks and events that were removed, and events that were carried over. */
  readonly blocks: number
  readonly events: number
  readonly carried: number
  /** Whether something is to be removed, and a reader's lease keeps it. */
  readonly isHeldUp: boolean
  /** µs since the Unix epoch up to which kinds that no limit names have been removed; 0: nothing was. */
  readonly removedThrough: number
  /** Events that were removed although they were held. */
  readonly unsentEvents: number
}

/**
 * Strides that are swept together: an object that changes in each of them is carried over once. Where 30,000 objects change at random, one stride carries
 * over 63 % of its events and takes 16 µs of CPU for each of them; 4 together, 24 % and 9 µs. Until they are swept nothing is free, so they are not more.
 */
const STRIDES_PER_SWEEP = 4

/** Of a MB each. */
const GIVE_BACK_STEPS = 16

/** From this part of the limit of bytes on, the first blocks stay as they are: this part of the events, which is removed before merging has paid. */
const NEAR_LIMIT = 7 / 8
const SOON_REMOVED = 1 / 4

/** µs, and attempts, for which a file that is to be cut waits for readers. */
const CUT_MICROS = 10_000_000
const CUT_ATTEMPTS = 10_000

/** Belongs to the writer of a recording. */
export class Retention {
  readonly #parts: WriterParts
  readonly #sizes: RetentionSizes
  readonly #database: Connection
  readonly #plan: StridePlan
  readonly #retained: RetainedKinds
  readonly #move: BeginningMove
  readonly #carriedOver: CarriedOver
  readonly #merging: BlockMerging
  readonly #authors: AuthorRemoval
  #policy: RetentionPolicy = keepsAll
  #work: Generator<void, void, void> | undefined
  /** Bytes on disk of each event that was removed last. */
  #eventBytes = 0
  #reserve: DiskReserve
  /** Commits find no room. */
  #isPressed = false
  /** The reserve is to be made again, and for that more to be removed. Once for each time that there was no room: others may take what was given back. */
  #isOwed: boolean
  /** The reserve has been given up for what is being removed: meanwhile commits wait, or they would take the room. */
  #isMakingRoom = false
  /** The log is to be written into the database, for which there was no room before. */
  #isLogLeft = false
  #isHeldUp = false
  /** What is to be removed belongs to a pinned window without a copy. */
  #isPinned = false
  /** Nobody commits between the steps. */
  #isAlone = false
  readonly #limit = new BytesLimit(() => usedBytes(this.diskUse()))
  /** The limit was exceeded when this step began, and nothing has been removed since. */
  #isOver = false
  /** Merging was given up, because a limit of time, or of the bytes of a kind, had something to be removed. */
  #isDue = false
  #isGivingBack = false
  #heldAfter = Number.POSITIVE_INFINITY
  #unsentEvents = 0
  #blocks = 0
  #events = 0

  constructor(parts: WriterParts, sizes: Partial<RetentionSizes> = {}) {
    this.#parts = parts
    this.#sizes = {
      stride: strideBounds,
      collectAfter: 4096,
      reserveBytes: RESERVE_BYTES,
      merging: mergingBounds,
      ...sizes,
    }
    this.#reserve = new DiskReserve(parts.directory, this.#sizes.reserveBytes)
    this.#isOwed = !this.#reserve.isWhole
    this.#database = parts.database.shared
    this.#plan = new StridePlan(this.#database, this.#sizes.stride)
    this.#retained = new RetainedKinds(this.#database)
    this.#move = new BeginningMove(parts, this.#retained)
    const carried = "SELECT sum(carried) AS value FROM block WHERE last_sequence <= ?"
    const earlier = numberOf(this.#database, carried, this.#retained.lastSequence())
    this.#carriedOver = new CarriedOver(new Sweeping(parts, this.#retained), earlier, this.#sizes.collectAfter)
    this.#authors = new AuthorRemoval(this.#database, (write) => parts.database.transaction("retention", write))
    this.#merging = new BlockMerging(
      this.#database,
      (write) => parts.database.transaction("merging", write),
      this.#sizes.merging,
    )
  }

  /** A process that ended while it made room has left a reserve that is not whole, and what is left of the room is not for commits. */
  setPolicy(policy: RetentionPolicy): void {
    this.#policy = policy
    this.#limit.set(policy.bytes)
    this.#isMakingRoom = this.#isOwed && removesAnything(policy) && this.#reserve.available() < this.#reserve.bytes
  }

  /**
   * Blocks that end after this sequence number stay as they are, because they are still to be copied elsewhere; but when commits find no room, retention
   * goes on beyond it, and what it removes there is a gap of each kind. Infinity: nothing is held.
   */
  hold(heldAfter: number): void {
    this.#heldAfter = heldAfter
  }

  /** Whether the room that there is serves to make more. Nothing may be committed meanwhile. */
  get isMakingRoom(): boolean {
    return this.#isMakingRoom
  }

  #lend(): boolean {
    const had = this.#reserve.lend()
    this.#isMakingRoom ||= had
    return had
  }

  get policy(): RetentionPolicy {
    return this.#policy
  }

  get statistics(): RetentionStatistics {
    const isHeldUp = this.#isHeldUp
    const shared = this.#parts.kinds.all().filter(({ gvk }) => !isNamed(this.#policy, gvk))
    const removedThrough = Math.max(0, ...shared.map(({ id }) => this.#retained.of(id).removedThrough))
    const { count: carried } = this.#carriedOver
    return {
      ...{ blocks: this.#blocks, events: this.#events, unsentEvents: this.#unsentEvents },
      ...{ carried, isHeldUp, removedThrough },
    }
  }

  /** Why a pinned window keeps what is to be removed, or was lost; one sentence. `undefined`: none does. */
  get pinTrouble(): string | undefined {
    return this.#parts.pins.trouble
  }

  /**
   * A commit found no room. Everything is removed now whose time is up, and with a limit of bytes the oldest, although the limit is not reached,
   * until there is room for the reserve again.
   */
  press(): void {
    this.#isPressed = true
    this.#isOwed = true
    // Until it has been checked, nothing can be removed, and the check itself needs room.
    if (this.#parts.database.isDistrusted && removesAnything(this.#policy)) this.#lend()
  }

  /** A commit found room. */
  relax(): void {
    this.#isPressed = false
  }

  /** Whether room is lacking that retention may find. */
  get isShort(): boolean {
    return (this.#isPressed || this.#isOwed) && removesAnything(this.#policy)
  }

  /** Nothing is left to be removed, and its pages are being given back, which has time. */
  get isGivingBack(): boolean {
    return this.#isGivingBack
  }

  /** Bytes by which the recording has outgrown its limit of bytes ({@link BytesLimit.outgrown}). @throws what SQLite and the file system throw */
  outgrown(): number {
    // A database in doubt is not asked.
    return this.#parts.database.isDistrusted ? 0 : this.#limit.outgrown()
  }

  /** Bytes on disk. @throws what SQLite and the file system throw */
  diskUse(): DiskUse {
    return diskUse(this.#database, this.#parts.directory)
  }

  /**
   * Works until `isTimeUp`, which is looked at after each transaction: some ms, at most as long as writing a checkpoint of the largest kind; or until
   * pages were given back. Returns whether there is more to do now.
   *
   * @throws DiskFullError, ArchiveIoError, CorruptArchiveError: what has been done stays, the rest is done later.
   */
  step(isTimeUp: () => boolean): boolean {
    if (this.#parts.database.isDistrusted) return false
    this.#work ??= this.#round()
    const work = this.#work
    try {
      this.#isOver = this.#limit.isExceeded()
      do {
        if (work.next().done !== true) continue
        this.#work = undefined
        return this.#isOver || this.#isDue
      } while (!isTimeUp() && !this.#isGivingBack)
      return true
    } catch (error) {
      this.#work = undefined
      this.#isGivingBack = false
      this.#retained.reload()
      const known = this.#parts.database.noteTrouble(toArchiveError(this.#parts.directory, "retention", error))
      const isFull = known instanceof DiskFullError
      const canGoOn = isFull && removesAnything(this.#policy) && this.#lend()
      this.#isMakingRoom = canGoOn || (isFull && this.#reserve.isLent && this.#isKeptForLater())
      this.#isLogLeft = isFull
      if (!canGoOn) throw known
      this.#isOwed = true
      return true
    }
  }

  *#round(): Generator<void, void, void> {
    // A commit that found no room cannot begin the log anew before it is written into the file, and SQLite writes it only after a commit: with a whole reserve,
    // and nothing left to be removed, a commit of 6 MB was repeated for ever beside a log of 9 MB.
    if (this.#isLogLeft || (this.#isPressed && removesAnything(this.#policy)))
      this.#parts.database.checkpoint("PASSIVE")
    this.#isLogLeft = false
    this.#isDue = false
    yield* this.#remove()
    yield* this.#authors.remove(
      new Map(this.#parts.kinds.all().map(({ id }) => [id, this.#retained.of(id).removedThrough])),
    )
    this.#limit.noteRemoved()
    this.#isOver = false
    yield* this.#giveBack()
    // It needs some room before it gives back more.
    if (!this.#isPressed && !this.#isMakingRoom) yield* this.#mergeIfRoom()
    if (removesAnything(this.#policy)) yield* this.#restore()
    else this.#reserve.remove()
    this.#isMakingRoom = this.#reserve.isLent && this.#isKeptForLater()
    this.#isOwed = this.#isMakingRoom
  }

  /**
   * Whether what is left of a reserve that was given up is for removing more later. With a limit of bytes commits may
   * have it: all that could be removed has been, unless it is being read, and what they add can be removed in its turn.
   */
  #isKeptForLater(): boolean {
    return removesAnything(this.#policy) && (this.#isHeldUp || this.#policy.bytes === undefined)
  }

  /** While someone reads, the file keeps its length, although its last pages are free, and the log what has been written into the file. */
  *#restore(): Generator<void, void, void> {
    const until = this.#parts.now() + CUT_MICROS
    for (let attempt = 0; attempt < CUT_ATTEMPTS && !this.#reserve.restore(); attempt++) {
      const { database, file, log } = this.diskUse()
      // Commits that need not wait for the reserve do not wait for readers of the log either.
      const isLogTooLong = this.#isMakingRoom && this.#isKeptForLater() && log > 0
      if ((file <= database && !isLogTooLong) || this.#parts.now() > until) return
      if (isLogTooLong) this.#parts.database.emptyLog()
      else this.#parts.database.checkpoint("PASSIVE")
      yield
    }
  }

  *#remove(): Generator<void, void, void> {
    yield* this.#carriedOver.sweep()
    if (removesAnything(this.#policy)) {
      this.#parts.pins.beginRound(this.#isPinned)
      for (;;) {
        const live = yield* this.#moveOn()
        if (live === undefined) {
          if (this.#isPinned && (yield* this.#copyPin())) continue
          break
        }
        yield* this.#carriedOver.sweep(live)
        yield* this.#carriedOver.collectIfMany(this.#manyCarried())
        // Commits wait: the rest is for the next round.
        if (this.#isMakingRoom && this.#lacking(this.diskUse().free) <= 0) return
      }
      if (this.#isPressed) yield* this.#carriedOver.removeSuperseded()
    }
  }

  /** Copies the window that holds the beginning back. Returns whether it does so no more. */
  *#copyPin(): Generator<void, boolean, void> {
    const { directory, source, history, pins } = this.#parts
    const recording = { directory, database: this.#database, source, history }
    return yield* pins.copyNext(recording, {
      // Room for what is recorded meanwhile, and for the reserve, comes first.
      room: () => this.#reserve.available() - 2 * this.#reserve.bytes,
      isGivenUp: () => this.#isPressed,
      isAlone: this.#isAlone,
    })
  }

  /** Moves the beginning by some strides; returns, by kind, what lives on of their events. `undefined`: there was none. */
  *#moveOn(): Generator<void, ReadonlyMap<number, Sequences> | undefined, void> {
    const states = new Map<number, ObjectStates>()
    const most = this.isShort ? 1 : STRIDES_PER_SWEEP
    let [strides, unswept, removed] = [0, 0, 0]
    for (; strides < most; strides++) {
      const stride = this.#next(unswept)
      if (stride === undefined) break
      const folded = yield* this.#move.fold(stride)
      // Someone may have begun to read meanwhile.
      if (stride.removedThrough >= this.#holds().all) break
      const { events, ended } = this.#move.move(stride, folded, this.#heldAfter)
      if (stride.throughSequence > this.#heldAfter) this.#unsentEvents += events
      this.#blocks += stride.blocks.length
      this.#events += events
      this.#carriedOver.noteEnded(ended)
      removed += events
      unswept += stride.storedBytes
      for (const [kind, later] of folded.states) {
        const earlier = states.get(kind)
        states.set(kind, earlier === undefined ? later : mergeAll([earlier, later]))
      }
      yield
    }
    this.#eventBytes = unswept / Math.max(1, removed)
    return strides === 0 ? undefined : new Map([...states].map(([kind, each]) => [kind, liveSequences(each)]))
  }

  /** Events that have a thirty-second of the limit of bytes. */
  #manyCarried(): number {
    const { bytes = Number.POSITIVE_INFINITY } = this.#policy
    return bytes / STRIDES / Math.max(1, this.#eventBytes)
  }

  /**
   * What has just been recorded is merged between strides: both replace blocks. A block that is not done when there is more than the limit of bytes is merged
   * later; other limits are looked at after each block, because a round of large blocks takes minutes on a busy machine.
   */
  *#merge(after: number): Generator<void, void, void> {
    let { merged } = this.#merging
    for (const _ of this.#merging.round(after, this.#heldAfter, shortestOf(this.#policy) / STRIDES)) {
      if (this.#isOver) return
      if (merged !== this.#merging.merged) {
        merged = this.#merging.merged
        this.#isDue = this.#hasDueStride()
        if (this.#isDue) return
      }
      yield
    }
  }

  /** Up to where blocks are retention's own, or at a limit of bytes will soon be. */
  #mergeAfter(): number {
    const first = this.#retained.lastSequence()
    if (!this.#limit.isUsed(NEAR_LIMIT)) return first
    const lastBlock = numberOf(this.#database, "SELECT max(last_sequence) AS value FROM block")
    return first + Math.floor(Math.max(0, lastBlock - first) * SOON_REMOVED)
  }

  /** Without room the blocks stay as they are, and are merged later: the reserve is for what removes something. */
  *#mergeIfRoom(): Generator<void, void, void> {
    try {
      yield* this.#merge(this.#mergeAfter())
    } catch (error) {
      if (!(error instanceof DiskFullError)) throw error
    }
  }

  /** Gives up what is under way, before the recording is closed. */
  stop(): void {
    this.#work?.return()
    this.#work = undefined
  }

  /** Removes everything that nothing refers to, for a recording that is to be as small as it can. */
  *compact(): Generator<void, void, void> {
    this.stop()
    this.#isAlone = true
    this.#reserve.remove()
    this.#reserve = new DiskReserve(this.#parts.directory, 0)
    this.#isOwed = false
    this.#retained.reload()
    yield* this.#remove()
    yield* this.#carriedOver.collect()
    const after = this.#retained.lastSequence()
    for (let before = -1; before < this.#merging.merged; yield* this.#merge(after)) before = this.#merging.merged
    while (giveBack(this.#database, true)) yield
  }

  #next(unswept: number): PlannedStride | undefined {
    const nowMicros = this.#parts.now()
    const kinds = this.#parts.kinds.all()
    const demand = { nowMicros, ...this.#demand(), unswept, ...this.#urgency() }
    const planFor = (leasedFrom: number) => this.#plan.next(this.#policy, kinds, { ...demand, leasedFrom })
    removeExpiredLeases(this.#parts.directory, nowMicros)
    const { all, readers, pins } = this.#holds()
    const stride = planFor(all)
    const isKept = (by: number, others: number): boolean =>
      stride === undefined && by !== Number.POSITIVE_INFINITY && planFor(others) !== undefined
    this.#isHeldUp = isKept(all, Number.POSITIVE_INFINITY)
    this.#isPinned = this.#isHeldUp && isKept(pins, readers)
    return stride
  }

  #urgency(): { readonly heldAfter: number; readonly isShort: boolean } {
    return { heldAfter: this.#isPressed ? Number.POSITIVE_INFINITY : this.#heldAfter, isShort: this.isShort }
  }

  /** Whether a limit of time, or of the bytes of a kind, has something to remove that no lease of a reader holds. */
  #hasDueStride(): boolean {
    if (!removesAnything(this.#policy)) return false
    const demand = { nowMicros: this.#parts.now(), used: 0, excess: 0, unswept: 0, ...this.#urgency() }
    const leasedFrom = this.#holds().all
    return this.#plan.next(this.#policy, this.#parts.kinds.all(), { ...demand, leasedFrom }) !== undefined
  }

  /** Bytes on disk, and those beyond what is allowed, as far as removing rows helps. */
  #demand(): { readonly used: number; readonly excess: number } {
    const { bytes } = this.#policy
    const used = usedBytes(this.diskUse())
    if (bytes === undefined) return { used, excess: 0 }
    const isRoomy = this.#reserve.isWhole && !this.isShort
    return { used, excess: isRoomy ? used - bytes : Math.max(used - bytes, this.#lacking(this.diskUse().free)) }
  }

  /**
   * Bytes that are to become free, for the reserve and the next blocks. Once the reserve could not be made again,
   * because others took the room, as much stays free in the file, where no other program can take it.
   */
  #lacking(free: number): number {
    const wanted = this.#isOwed ? this.#reserve.bytes + this.#reserve.bytes / 2 : this.#reserve.bytes
    return wanted - free - this.#reserve.available()
  }

  /** While commits find no room although there is no copy that is being made, recording goes before pinned windows. */
  #holds(): Holds {
    const isRoomLacking = this.#isPressed && this.#reserve.available() < this.#reserve.bytes
    return holdsOn(this.#parts, isRoomLacking)
  }

  /** So many steps that the next round, which may have something to remove, need not wait for long. */
  *#giveBack(): Generator<void, void, void> {
    for (let step = 0; step < GIVE_BACK_STEPS && !this.#isOver; step++) {
      const { database, log } = this.diskUse()
      const isLarge = database + log > (this.#policy.bytes ?? Number.POSITIVE_INFINITY)
      const isForReserve = this.isShort && !this.#reserve.isWhole && this.#reserve.available() < this.#reserve.bytes
      // The log of a full disk cannot begin anew while the file is shorter than its pages: free ones do not help a commit then. With a limit of bytes so
      // much is removed that it can.
      const isForLog = this.#isPressed && removesAnything(this.#policy) && this.#policy.bytes === undefined
      this.#isGivingBack = giveBack(this.#database, isLarge || isForReserve || isForLog)
      // Only then is the file shorter.
      if (isForReserve || isForLog) this.#parts.database.checkpoint("PASSIVE")
      if (!this.#isGivingBack) return
      yield
    }
    this.#isGivingBack = false
  }
}
