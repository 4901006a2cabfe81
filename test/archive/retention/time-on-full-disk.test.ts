/**
 * A limit of time alone, or of one kind, on a full disk. Until the time of something is up nothing can be removed, and the reserve must last until then:
 * without it nothing can be removed afterwards either.
 */
import { closeSync, fsyncSync, openSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { DiskFullError, systemCodeOf } from "../../../src/archive/directory/archive-errors.ts"
import { lendReserve, RESERVE_BYTES, RESERVE_FILE } from "../../../src/archive/retention/disk-reserve.ts"
import type { RetentionPolicy } from "../../../src/archive/retention/policy.ts"
import { LoopDevice, noLoopDevice } from "../../harness/loop-device.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { START } from "../sample-frames.ts"
import { Changes, canCommit, fill, retain } from "./filling-changes.ts"

const megabyte = 1024 * 1024
const hour = 3_600_000_000

const forAnHour: RetentionPolicy = { forMicros: hour, kinds: new Map() }

/** A small device, and a recording on it that is kept for an hour and has filled it within some hundred ms. */
class FullDevice implements Disposable {
  readonly #device = new LoopDevice(temporaryDirectory(), 20 * megabyte, ["-O", "^has_journal"])
  readonly data = join(this.#device.path, "data")
  readonly clock = { micros: START }
  readonly changes: Changes
  readonly #policy: RetentionPolicy
  writer: ArchiveWriter

  /** `before`: called before each commit. */
  constructor(before: (device: FullDevice) => void = () => undefined, policy: RetentionPolicy = forAnHour) {
    this.#policy = policy
    this.writer = this.open()
    retain(this.writer)
    this.changes = new Changes(this.writer)
    do {
      before(this)
      this.clock.micros += 1000
      this.changes.append(this.clock.micros)
    } while (canCommit(this.writer))
  }

  /** As after the end of the process before. */
  open(): ArchiveWriter {
    this.writer = ArchiveWriter.open(this.data, { now: () => this.clock.micros })
    this.writer.retention.setPolicy(this.#policy)
    return this.writer
  }

  /** Fills also what there is without removing anything: pages that are free in the file, and room of the log. */
  useUp(): void {
    for (retain(this.writer); canCommit(this.writer); retain(this.writer))
      expect(fill(this.writer, this.clock, this.changes)).toBeInstanceOf(DiskFullError)
  }

  get reserve(): number | undefined {
    return statSync(join(this.data, RESERVE_FILE), { throwIfNoEntry: false })?.size
  }

  /** Another program's file, of as much as there is room for. */
  take(bytes: number): void {
    const file = openSync(join(this.#device.path, "ballast"), "w")
    try {
      // What the file system has reserved for a file that is not written back yet is more than the file needs: the difference becomes free some time later.
      for (let written = 0, refusals = 0; written < bytes && refusals < 3; ) {
        try {
          written += writeSync(file, Buffer.alloc(Math.min(bytes - written, 256 * 1024)))
        } catch (error) {
          if (systemCodeOf(error) !== "ENOSPC") throw error
          refusals++
          fsyncSync(file)
        }
      }
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  [Symbol.dispose](): void {
    this.writer.abandon()
    this.#device[Symbol.dispose]()
  }
}

const skipped = noLoopDevice()

describe.skipIf(skipped !== undefined)(
  `with a limit of time${skipped === undefined ? "" : ` (${skipped})`}`,
  {
    timeout: patient(20_000),
  },
  () => {
    test("merging that finds no room does not take the reserve, which is for what removes something", () => {
      using full = new FullDevice(({ writer, changes }) => {
        if (changes?.next === 100) retain(writer)
      })
      const { retention } = full.writer
      // As before a commit finds no room.
      retention.relax()
      while (retention.step(() => true)) expect(retention.isMakingRoom).toBe(false)
      expect(full.reserve).toBe(RESERVE_BYTES)
    })

    test("a full disk goes on once the time of some blocks is up, however often", () => {
      using full = new FullDevice()
      const { writer, clock, changes } = full
      for (let round = 1; round <= 4; round++) {
        full.useUp()
        expect(full.reserve).toBe(RESERVE_BYTES)
        const { blocks, removedThrough } = writer.retention.statistics
        // The states that 20 objects have at the end of one block live on until the next is removed too.
        const kept = changes.times.filter((time) => time > removedThrough)
        clock.micros = Math.max(clock.micros, (kept[60] as number) + hour)
        retain(writer)
        expect(writer.retention.statistics.blocks).toBeGreaterThan(blocks)
        expect(canCommit(writer)).toBe(true)
      }
      expect(full.reserve).toBe(RESERVE_BYTES)
      writer.abandon()
      expect(verifyRecording(full.data)).toMatchObject({ faults: [], damagedBlocks: [] })
    })

    test("a limit of one kind does not let another one fill the disk up to the last of the reserve", () => {
      using full = new FullDevice(undefined, { kinds: new Map([["v1.Event", { bytes: megabyte }]]) })
      full.useUp()
      expect(full.reserve).toBe(RESERVE_BYTES)
      expect(full.writer.retention.statistics.blocks).toBe(0)
    })

    test("a recording that needed the reserve to be opened makes it again, although nothing can be removed", () => {
      using full = new FullDevice()
      full.writer.abandon()
      expect(() => full.open()).toThrow(DiskFullError)
      expect(lendReserve(full.data)).toBe(true)
      const { retention } = full.open()
      expect(retention.isMakingRoom).toBe(true)
      retain(full.writer)
      expect(retention.isMakingRoom).toBe(false)
      expect(full.reserve).toBe(RESERVE_BYTES)
      expect(retention.statistics.blocks).toBe(0)
    })

    test("commits do not take what another program left of a reserve that was given up, and what is removed later makes it whole", () => {
      using full = new FullDevice()
      full.writer.abandon()
      lendReserve(full.data)
      full.take(5 * megabyte)
      const writer = full.open()
      new Changes(writer, full.changes.next).append(full.clock.micros)
      for (let attempt = 0; attempt < 3; attempt++) {
        expect(canCommit(writer)).toBe(false)
        retain(writer)
      }
      expect(full.reserve).toBe(0)
      full.clock.micros += hour
      retain(writer)
      expect(full.reserve).toBe(RESERVE_BYTES)
      expect(canCommit(writer)).toBe(true)
      writer.close()
      expect(verifyRecording(full.data)).toMatchObject({ faults: [], damagedBlocks: [] })
    })

    test("nor do they while another program has left nothing of it to remove anything with", () => {
      using full = new FullDevice()
      full.writer.abandon()
      lendReserve(full.data)
      const writer = full.open()
      new Changes(writer, full.changes.next).append(full.clock.micros)
      full.take(5 * megabyte)
      retain(writer)
      expect(full.reserve).toBe(0)
      full.take(20 * megabyte)
      full.clock.micros += hour
      for (let attempt = 0; attempt < 3; attempt++) {
        expect(() => retain(writer)).toThrow(DiskFullError)
        expect(canCommit(writer)).toBe(false)
      }
      full.take(5 * megabyte)
      expect(canCommit(writer)).toBe(false)
      retain(writer)
      expect(full.reserve).toBe(RESERVE_BYTES)
      expect(canCommit(writer)).toBe(true)
    })
  },
)
