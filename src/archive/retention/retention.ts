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
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import type { Gap } from "../../wire/observations.ts"
import { isDamage, toArchiveError } from "../archive-errors.ts"
import { type BlockFrame, pack } from "../blocks/block.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import { encodeStates, NO_STATES, type ObjectStates, StateCollector } from "../checkpoints/object-states.ts"
import { mergeAll, REMAINS, type StateHistory } from "../checkpoints/state-history.ts"
import { heldLeases, removeExpiredLeases } from "../leases/lease.ts"
import type { KindTable } from "../rows/kind-table.ts"
import type { OwnerSets } from "../rows/owner-sets.ts"
import type { TrustedDatabase } from "../trusted-database.ts"
import { fromTheFirst, type RetainedRow, readRetained } from "./beginnings.ts"
import { BlockSweep, type Fate } from "./block-sweep.ts"
import { DeadRows } from "./dead-rows.ts"
import { isNamed, keepsAll, type RetentionPolicy, removesAnything } from "./policy.ts"
import { type DiskUse, diskUse, giveBack } from "./space.ts"
import { type PlannedStride, type StrideBounds, StridePlan, strideBounds } from "./stride-plan.ts"

/** What the writer of a recording lends. */
export interface RetentionScene {
  readonly directory: string
  readonly database: TrustedDatabase
  readonly kinds: KindTable
  readonly ownerSets: OwnerSets
  readonly source: BlockSource
  readonly history: StateHistory
  /** Whether frames wait for a commit. */
  readonly isPending: () => boolean
  /** Notes a gap, durable with the next commit. */
  readonly noteGap: (gvk: string, gap: Gap) => void
  /** µs since the Unix epoch. */
  readonly now: () => number
}

/** Sizes that tests make smaller. */
export interface RetentionSizes {
  /** Default {@link strideBounds}. */
  readonly stride: StrideBounds
  /** Carried-over events and ended objects before superseded ones are looked for, at least. Default 4096. */
  readonly collectAfter: number
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

const GAP_DETAIL =
  "a damaged block that retention removed: objects that were last changed in it are not in the states at the beginning"

/** What the tables of contents of a stride say. */
interface Folded {
  /** By kind, the last event of each object. */
  readonly states: ReadonlyMap<number, ObjectStates>
  /** Blocks of which the table of contents is damaged. */
  readonly damaged: ReadonlySet<number>
}

/** Sequence numbers in ascending order. */
type Sequences = Float64Array

/** Belongs to the writer of a recording. */
export class Retention {
  readonly #scene: RetentionScene
  readonly #sizes: RetentionSizes
  readonly #database: DatabaseSync
  readonly #plan: StridePlan
  readonly #sweep: BlockSweep
  readonly #dead: DeadRows
  readonly #statements: ReturnType<typeof statementsOf>
  #policy: RetentionPolicy = keepsAll
  #work: Generator<void, void, void> | undefined
  /** By kind. */
  #retained: Map<number, RetainedRow>
  /** Carried over, or ended, since superseded events were last looked for; and what was alive then. */
  #uncollected: number
  #aliveThen = 0
  #isShort = false
  #isHeldUp = false
  #isGivingBack = false
  #blocks = 0
  #events = 0
  #carried = 0

  constructor(scene: RetentionScene, sizes: Partial<RetentionSizes> = {}) {
    this.#scene = scene
    this.#sizes = { stride: strideBounds, collectAfter: 4096, ...sizes }
    this.#database = scene.database.shared
    this.#plan = new StridePlan(this.#database, this.#sizes.stride)
    this.#sweep = new BlockSweep(this.#database, scene.kinds)
    this.#dead = new DeadRows(this.#database, (write) => this.#transaction(write))
    this.#statements = statementsOf(this.#database)
    this.#retained = retainedRows(this.#database)
    const last = Math.max(0, ...[...this.#retained.values()].map(({ throughSequence }) => throughSequence))
    this.#uncollected = Number(this.#statements.countCarried.get(last)?.carried)
  }

  setPolicy(policy: RetentionPolicy): void {
    this.#policy = policy
  }

  get policy(): RetentionPolicy {
    return this.#policy
  }

  get statistics(): RetentionStatistics {
    const isHeldUp = this.#isHeldUp
    const shared = this.#scene.kinds.all().filter(({ gvk }) => !isNamed(this.#policy, gvk))
    const removedThrough = Math.max(0, ...shared.map(({ id }) => this.#retained.get(id)?.removedThrough ?? 0))
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
    return diskUse(this.#database, this.#scene.directory)
  }

  /**
   * Works until `isTimeUp`, which is looked at after each transaction: some ms, at most as long as writing a checkpoint of the largest kind; or until
   * pages were given back. Returns whether there is more to do now.
   *
   * @throws DiskFullError, ArchiveIoError, CorruptArchiveError: what has been done stays, the rest is done later.
   */
  step(isTimeUp: () => boolean): boolean {
    if (this.#scene.database.isDistrusted) return false
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
      this.#retained = retainedRows(this.#database)
      throw this.#scene.database.noteTrouble(toArchiveError(this.#scene.directory, "retention", error))
    }
  }

  *#round(): Generator<void, void, void> {
    yield* this.#sweepAll(new Map())
    if (removesAnything(this.#policy)) {
      for (let stride = this.#next(); stride !== undefined; stride = this.#next()) {
        const folded = yield* this.#fold(stride)
        // Someone may have begun to read meanwhile.
        if (stride.removedThrough >= this.#leasedFrom()) break
        this.#move(stride, folded)
        yield
        yield* this.#sweepAll(new Map([...folded.states].map(([kind, each]) => [kind, liveSequences(each)])))
        if (this.#uncollected > Math.max(this.#sizes.collectAfter, this.#aliveThen)) yield* this.#collect()
      }
    }
    yield* this.#giveBack()
  }

  /** Removes everything that nothing refers to, for a recording that is to be as small as it can. */
  *compact(): Generator<void, void, void> {
    this.#work = undefined
    this.#retained = retainedRows(this.#database)
    yield* this.#round()
    yield* this.#collect()
    while (giveBack(this.#database, true)) yield
  }

  #next(): PlannedStride | undefined {
    const now = this.#scene.now()
    const kinds = this.#scene.kinds.all()
    const excess = this.#excess()
    const isWithout = (leasedFrom: number) => this.#plan.next(this.#policy, kinds, now, excess, leasedFrom)
    removeExpiredLeases(this.#scene.directory, now)
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
    const { directory, now } = this.#scene
    return Math.min(Number.POSITIVE_INFINITY, ...heldLeases(directory, now()).map(({ fromTime }) => fromTime))
  }

  /** By kind, the last event of each object in the stride. */
  *#fold({ kinds, blocks }: PlannedStride): Generator<void, Folded, void> {
    const damaged = new Set<number>()
    const ids = new Map(kinds.map(({ gvk, id }) => [gvk, id]))
    const collectors = new Map<number, Array<StateCollector>>()
    for (const key of blocks) {
      const frames = this.#framesOf(key)
      if (frames === undefined) damaged.add(key)
      for (const frame of frames ?? []) {
        const kind = ids.get(frame.events.gvk)
        if (kind === undefined || frame.lastSequence <= (this.#retained.get(kind)?.throughSequence ?? 0)) continue
        const all = collectors.get(kind) ?? [new StateCollector()]
        collectors.set(kind, all)
        for (let index = 0; index < frame.events.count; index++) {
          if (all.at(-1)?.isFull) all.push(new StateCollector())
          all.at(-1)?.add(frame, index)
        }
      }
      yield
    }
    return {
      states: new Map([...collectors].map(([kind, all]) => [kind, mergeAll(all.map((each) => each.finish()))])),
      damaged,
    }
  }

  /** `undefined`: the table of contents is damaged. */
  #framesOf(key: number): ReadonlyArray<BlockFrame> | undefined {
    try {
      return this.#scene.source.tableAt(key).frames
    } catch (error) {
      if (!isDamage(error)) throw error
      return undefined
    }
  }

  /** Moves the beginning of the stride's kinds behind it. */
  #move({ kinds, throughSequence, removedThrough, blocks }: PlannedStride, { states, damaged }: Folded): void {
    const moved = new Map(this.#retained)
    const packed = new Map([...states].map(([kind, each]) => [kind, pack(encodeStates(each))]))
    let events = 0
    this.#transaction(() => {
      for (const { id } of kinds) {
        const before = this.#retained.get(id) ?? { kind: id, ...fromTheFirst, sweptSequence: 0 }
        const until = Math.max(before.removedThrough, removedThrough)
        const going = this.#statements.going.get(id, throughSequence)
        const removed = Number(going?.events)
        this.#statements.deleteBlocks.run(id, throughSequence)
        this.#statements.deleteGaps.run(id, throughSequence, until)
        this.#statements.deleteLate.run(id, throughSequence, until)
        this.#statements.deleteFormer.run(id, until)
        // A quiet kind lacks nothing but gaps.
        const row: RetainedRow =
          removed === 0
            ? { ...before, removedThrough: until }
            : // What is before the first block that goes was carried over.
              { kind: id, throughSequence, removedThrough: until, sweptSequence: Number(going?.first) - 1 }
        this.#statements.put.run(row.kind, row.throughSequence, row.removedThrough, row.sweptSequence)
        moved.set(id, row)
        events += removed
        if (removed === 0) continue
        const { bytes, size, checksum } = packed.get(id) ?? pack(encodeStates(NO_STATES))
        const place = [id, throughSequence, until, until, states.get(id)?.count ?? 0, before.throughSequence] as const
        this.#statements.insertRemains.run(...place, size, checksum, bytes)
        this.#statements.deleteCheckpoints.run(id, throughSequence)
        this.#statements.deleteRemains.run(id, throughSequence)
      }
    })
    if (damaged.size > 0) this.#noteDamage(kinds, removedThrough)
    this.#retained = moved
    this.#blocks += blocks.length
    this.#events += events
    for (const each of states.values()) this.#uncollected += each.dead.subarray(0, each.count).filter(Boolean).length
  }

  /** Which objects changed in a block without its table of contents is unknown. */
  #noteDamage(kinds: PlannedStride["kinds"], removedThrough: number): void {
    for (const { gvk } of kinds) {
      this.#scene.noteGap(gvk, {
        ...{ fromVersion: "", toVersion: "", namespace: "" },
        ...{ fromTime: removedThrough, toTime: removedThrough + 1, reason: "damaged", detail: GAP_DETAIL },
      })
    }
  }

  /** `live`: by kind what lives on of the events to be removed, as far as it is known. */
  *#sweepAll(known: ReadonlyMap<number, Sequences>): Generator<void, void, void> {
    const due = [...this.#retained.values()].filter((row) => row.sweptSequence < row.throughSequence)
    if (due.length === 0) return
    const live = new Map<number, Sequences>(known)
    for (const { kind, throughSequence } of due) {
      if (live.has(kind)) continue
      live.set(kind, liveSequences(this.#scene.history.aliveAt(this.#scene.kinds.byId(kind), { throughSequence })))
      yield
    }
    const through = Math.max(...due.map((row) => row.throughSequence))
    const fateOf = (kind: number, last: number): Fate => {
      const row = this.#retained.get(kind)
      if (row === undefined || row.throughSequence < last) return "kept"
      const sequences = live.get(kind)
      if (row.sweptSequence >= last || sequences === undefined) return "carried"
      return (sequence) => includes(sequences, sequence)
    }
    for (let position = Math.min(...due.map((row) => row.sweptSequence)); position < through; ) {
      let next = through
      this.#transaction(() => {
        const swept = this.#sweep.sweep(position, through, fateOf)
        next = swept?.key ?? through
        this.#carried += swept?.carried ?? 0
        this.#uncollected += swept?.carried ?? 0
        for (const row of due) {
          const sweptSequence = Math.max(row.sweptSequence, Math.min(next, row.throughSequence))
          this.#statements.put.run(row.kind, row.throughSequence, row.removedThrough, sweptSequence)
        }
      })
      position = next
      yield
    }
    for (const row of due) this.#retained.set(row.kind, { ...row, sweptSequence: row.throughSequence })
  }

  /** Removes carried-over events that are superseded, and rows of what has ended. */
  *#collect(): Generator<void, void, void> {
    const { history, kinds, ownerSets, isPending } = this.#scene
    // What waits for a commit may name owners that nothing else names.
    if (isPending()) return
    ownerSets.forget()
    const lastOwnerSet = this.#dead.lastOwnerSet()
    const named = new Set<number>()
    const all: Array<Sequences> = []
    const retained = [...this.#retained.values()]
    for (const kind of kinds.all()) {
      const row = this.#retained.get(kind.id)
      const throughSequence = row?.throughSequence ?? 0
      const alive = history.aliveAt(kind, { throughSequence })
      all.push(liveSequences(alive))
      yield
      yield* this.#dead.objects(kind.id, alive.numbers.subarray(0, alive.count), named)
    }
    const live = joined(all)
    this.#aliveThen = live.length
    const through = Math.max(0, ...retained.map((row) => row.throughSequence))
    const fateOf = (kind: number, last: number): Fate => {
      const row = this.#retained.get(kind)
      if (row === undefined || row.throughSequence < last) return "kept"
      return (sequence) => includes(live, sequence)
    }
    for (let position = 0; position < through; ) {
      let next = through
      this.#transaction(() => {
        next = this.#sweep.sweepCarried(position, through, fateOf)?.key ?? through
      })
      position = next
      yield
    }
    const lives = kinds.get(podLivesKind)
    const podRow = lives && this.#retained.get(lives.id)
    if (podRow !== undefined)
      yield* this.#dead.pods({ throughSequence: through, removedThrough: podRow.removedThrough })
    yield* this.#dead.owners(named, lastOwnerSet)
    this.#uncollected = 0
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

  #transaction(write: () => void): void {
    this.#scene.database.transaction("retention", write)
  }
}

const statementsOf = (database: DatabaseSync) => {
  const prepare = (sql: string): StatementSync => database.prepare(sql)
  return {
    countCarried: prepare("SELECT coalesce(sum(carried), 0) AS carried FROM block WHERE last_sequence <= ?"),
    put: prepare(
      "INSERT OR REPLACE INTO retained (kind, through_sequence, removed_through, swept_sequence) VALUES (?, ?, ?, ?)",
    ),
    insertRemains: prepare(`
      INSERT INTO checkpoint (kind, through_sequence, last_time, last_received, is_full, objects, after_sequence, states_size,
        states_checksum, states) VALUES (?, ?, ?, ?, ${REMAINS}, ?, ?, ?, ?, ?)`),
    // States at the beginning are built from the last full checkpoint before it.
    deleteCheckpoints: prepare(`
      DELETE FROM checkpoint WHERE kind = ?1 AND is_full < ${REMAINS} AND through_sequence <
        (SELECT max(through_sequence) FROM checkpoint WHERE kind = ?1 AND through_sequence <= ?2 AND is_full = 1)`),
    // A later checkpoint contains them.
    deleteRemains: prepare(`
      DELETE FROM checkpoint WHERE kind = ?1 AND is_full = ${REMAINS} AND through_sequence <=
        (SELECT max(through_sequence) FROM checkpoint WHERE kind = ?1 AND through_sequence <= ?2 AND is_full < ${REMAINS})`),
    going: prepare(`
      SELECT coalesce(sum(events), 0) AS events, min(last_sequence) AS first FROM block_kind
      WHERE kind = ? AND last_sequence <= ?`),
    deleteBlocks: prepare("DELETE FROM block_kind WHERE kind = ? AND last_sequence <= ?"),
    deleteGaps: prepare("DELETE FROM gap WHERE kind = ? AND sequence <= ? AND to_time <= ?"),
    deleteLate: prepare(
      "DELETE FROM late_range WHERE kind = ?1 AND sequence <= ?2 AND not_after <= ?3 AND received_to <= ?3",
    ),
    deleteFormer: prepare("DELETE FROM former_owner_set WHERE kind = ?1 AND until_time <= ?2 AND until_received <= ?2"),
  }
}

const retainedRows = (database: DatabaseSync): Map<number, RetainedRow> =>
  new Map(readRetained(database).map((row) => [row.kind, row]))

const liveSequences = (states: ObjectStates): Sequences =>
  states.sequences
    .slice(0, states.count)
    .filter((_, index) => states.dead[index] === 0)
    .sort()

const joined = (all: ReadonlyArray<Sequences>): Sequences => {
  const whole = new Float64Array(all.reduce((sum, each) => sum + each.length, 0))
  let at = 0
  for (const each of all) {
    whole.set(each, at)
    at += each.length
  }
  return whole.sort()
}

const includes = (sequences: Sequences, sequence: number): boolean => {
  let low = 0
  let high = sequences.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sequences[middle] as number) < sequence) low = middle + 1
    else high = middle
  }
  return sequences[low] === sequence
}
