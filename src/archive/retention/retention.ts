/**
 * Retention: removes the beginning of a recording in small steps, between which its writer commits.
 *
 * 1. A stride is planned: blocks from the front whose time is up, or that no longer have room.
 * 2. Their tables of contents are folded to the last event of each object.
 * 3. The beginning moves, in one transaction: those states become remains (checkpoints/state-history.ts), and the blocks count no more. From here
 *    on the state at the new beginning is exact, and what is before is not there for any reader.
 * 4. Block by block, events that nothing needs any more are removed; the last ones of objects that live on are written anew, with all that
 *    they have, under their own numbers.
 * 5. Once as many events were carried over as had remained, those that are superseded are removed, with the rows of objects, owners and pods that
 *    ended before. So everything that is kept is in proportion to what is alive and what is in the window.
 * 6. Free pages are given back.
 *
 * A process may end anywhere: 4 is gone on with from what the rows say, 5 walks everything, the rest is done again. An error of the disk gives up the
 * step; the next one begins where rows say.
 *
 * Memory: 33 bytes for each event of a stride, 8 bytes for each live object while 5 runs, and one unpacked block.
 */
import type { DatabaseSync } from "node:sqlite"
import { toArchiveError } from "../archive-errors.ts"
import { heldLeases, removeExpiredLeases } from "../leases/lease.ts"
import { BlockMerging, type MergingBounds, mergingBounds } from "../upkeep/block-merging.ts"
import { BeginningMove } from "./beginning-move.ts"
import { isNamed, keepsAll, type RetentionPolicy, removesAnything, STRIDES, shortestOf } from "./policy.ts"
import { RetainedKinds } from "./retained-kinds.ts"
import { liveSequences } from "./sequences.ts"
import { type DiskUse, diskUse, giveBack } from "./space.ts"
import { type PlannedStride, type StrideBounds, StridePlan, strideBounds } from "./stride-plan.ts"
import { Sweeping } from "./sweeping.ts"
import type { WriterParts } from "./writer-parts.ts"

/** Sizes that tests make smaller. */
export interface RetentionSizes {
  /** Default {@link strideBounds}. */
  readonly stride: StrideBounds
  /** Carried-over events and ended objects before superseded ones are looked for, at least. Default 4096. */
  readonly collectAfter: number
  /** Default {@link mergingBounds}. */
  readonly merging: MergingBounds
}

/** Since the writer was opened. */
export interface RetentionStatistics {
  /** Blocks and events that were removed, and events that were carried over. */
  readonly blocks: number
  readonly events: number
  readonly carried: number
  /** Whether something is to be removed, and a reader's lease keeps it. */
  readonly isHeldUp: boolean
  /** µs since the Unix epoch up to which kinds that no limit names have been removed; 0: nothing was. */
  readonly removedThrough: number
}

/** Of a MB each. */
const GIVE_BACK_STEPS = 16

/** Belongs to the writer of a recording. */
export class Retention {
  readonly #parts: WriterParts
  readonly #sizes: RetentionSizes
  readonly #database: DatabaseSync
  readonly #plan: StridePlan
  readonly #retained: RetainedKinds
  readonly #move: BeginningMove
  readonly #sweeping: Sweeping
  readonly #merging: BlockMerging
  #policy: RetentionPolicy = keepsAll
  #work: Generator<void, void, void> | undefined
  /** Carried over, or ended, since superseded events were last looked for; and what was alive then. */
  #uncollected: number
  #aliveThen = 0
  #isShort = false
  #isHeldUp = false
  #isGivingBack = false
  #blocks = 0
  #events = 0
  #carried = 0

  constructor(parts: WriterParts, sizes: Partial<RetentionSizes> = {}) {
    this.#parts = parts
    this.#sizes = { stride: strideBounds, collectAfter: 4096, merging: mergingBounds, ...sizes }
    this.#database = parts.database.shared
    this.#plan = new StridePlan(this.#database, this.#sizes.stride)
    this.#retained = new RetainedKinds(this.#database)
    this.#move = new BeginningMove(parts, this.#retained)
    this.#sweeping = new Sweeping(parts, this.#retained)
    this.#merging = new BlockMerging(
      this.#database,
      (write) => parts.database.transaction("merging", write),
      this.#sizes.merging,
    )
    this.#uncollected = carriedThrough(this.#database, this.#retained.lastSequence())
  }

  setPolicy(policy: RetentionPolicy): void {
    this.#policy = policy
  }

  get policy(): RetentionPolicy {
    return this.#policy
  }

  get statistics(): RetentionStatistics {
    const isHeldUp = this.#isHeldUp
    const shared = this.#parts.kinds.all().filter(({ gvk }) => !isNamed(this.#policy, gvk))
    const removedThrough = Math.max(0, ...shared.map(({ id }) => this.#retained.of(id).removedThrough))
    return { blocks: this.#blocks, events: this.#events, carried: this.#carried, isHeldUp, removedThrough }
  }

  /** The disk is full: with a limit of bytes more is removed until {@link relax}, although the limit is not reached. */
  press(): void {
    this.#isShort = this.#policy.bytes !== undefined
  }

  relax(): void {
    this.#isShort = false
  }

  /** Nothing is left to be removed, and its pages are being given back, which has time. */
  get isGivingBack(): boolean {
    return this.#isGivingBack
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
      do {
        if (work.next().done !== true) continue
        this.#work = undefined
        return false
      } while (!isTimeUp() && !this.#isGivingBack)
      return true
    } catch (error) {
      this.#work = undefined
      this.#isGivingBack = false
      this.#retained.reload()
      throw this.#parts.database.noteTrouble(toArchiveError(this.#parts.directory, "retention", error))
    }
  }

  *#round(): Generator<void, void, void> {
    yield* this.#counted(this.#sweeping.removed())
    if (removesAnything(this.#policy)) {
      for (let stride = this.#next(); stride !== undefined; stride = this.#next()) {
        const folded = yield* this.#move.fold(stride)
        // Someone may have begun to read meanwhile.
        if (stride.removedThrough >= this.#leasedFrom()) break
        const { events, ended } = this.#move.move(stride, folded)
        this.#blocks += stride.blocks.length
        this.#events += events
        this.#uncollected += ended
        yield
        const live = new Map([...folded.states].map(([kind, each]) => [kind, liveSequences(each)]))
        yield* this.#counted(this.#sweeping.removed(live))
        if (this.#uncollected > Math.max(this.#sizes.collectAfter, this.#aliveThen)) yield* this.#collect()
      }
    }
    // It needs some room before it gives back more.
    if (!this.#isShort) yield* this.#merge()
    yield* this.#giveBack()
  }

  /** What has just been recorded is merged between strides: both replace blocks. */
  *#merge(): Generator<void, void, void> {
    yield* this.#merging.round(this.#retained.lastSequence(), shortestOf(this.#policy) / STRIDES)
  }

  /** Removes everything that nothing refers to, for a recording that is to be as small as it can. */
  *compact(): Generator<void, void, void> {
    this.#work = undefined
    this.#retained.reload()
    yield* this.#round()
    yield* this.#collect()
    for (let before = -1; before < this.#merging.merged; yield* this.#merge()) before = this.#merging.merged
    while (giveBack(this.#database, true)) yield
  }

  #next(): PlannedStride | undefined {
    const now = this.#parts.now()
    const kinds = this.#parts.kinds.all()
    const excess = this.#excess()
    const isWithout = (leasedFrom: number) => this.#plan.next(this.#policy, kinds, now, excess, leasedFrom)
    removeExpiredLeases(this.#parts.directory, now)
    const leasedFrom = this.#leasedFrom()
    const stride = isWithout(leasedFrom)
    this.#isHeldUp =
      stride === undefined &&
      leasedFrom !== Number.POSITIVE_INFINITY &&
      isWithout(Number.POSITIVE_INFINITY) !== undefined
    return stride
  }

  /** Bytes on disk beyond what is allowed, as far as removing rows helps. */
  #excess(): number {
    const { bytes } = this.#policy
    if (bytes === undefined) return 0
    const { database, free, log } = this.diskUse()
    const used = database - free + log
    return this.#isShort ? Math.max(used - bytes, 1) : used - bytes
  }

  #leasedFrom(): number {
    const { directory, now } = this.#parts
    return Math.min(Number.POSITIVE_INFINITY, ...heldLeases(directory, now()).map(({ fromTime }) => fromTime))
  }

  /** So many steps that the next round, which may have something to remove, need not wait for long. */
  *#giveBack(): Generator<void, void, void> {
    for (let step = 0; step < GIVE_BACK_STEPS; step++) {
      const { database, log } = this.diskUse()
      const isShort = this.#isShort || database + log > (this.#policy.bytes ?? Number.POSITIVE_INFINITY)
      this.#isGivingBack = giveBack(this.#database, isShort)
      if (!this.#isGivingBack) return
      yield
    }
    this.#isGivingBack = false
  }

  *#collect(): Generator<void, void, void> {
    const alive = yield* this.#counted(this.#sweeping.collect())
    if (alive === undefined) return
    this.#aliveThen = alive
    this.#uncollected = 0
  }

  /** Counts what the steps carry over. */
  *#counted<Result>(steps: Generator<number, Result, void>): Generator<void, Result, void> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value
      this.#carried += step.value
      this.#uncollected += step.value
      yield
    }
  }
}

/** Events up to a sequence number that were carried over. @throws what SQLite throws */
const carriedThrough = (database: DatabaseSync, last: number): number =>
  Number(database.prepare("SELECT sum(carried) AS carried FROM block WHERE last_sequence <= ?").get(last)?.carried ?? 0)
