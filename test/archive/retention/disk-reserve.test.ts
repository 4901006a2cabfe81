import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { DiskFullError } from "../../../src/archive/directory/archive-errors.ts"
import { DiskReserve, lendReserve, RESERVE_FILE } from "../../../src/archive/retention/disk-reserve.ts"
import { LoopDevice, noLoopDevice } from "../../harness/loop-device.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { START } from "../sample-frames.ts"
import { Changes, fill } from "./filling-changes.ts"

const bytes = 1024 * 1024
const sizeIn = (directory: string): number | undefined =>
  statSync(join(directory, RESERVE_FILE), { throwIfNoEntry: false })?.size

describe("a reserve", () => {
  test("is made, given up, and made again; its file belongs to its user alone", () => {
    const directory = temporaryDirectory()
    const reserve = new DiskReserve(directory, bytes)
    expect(reserve.isWhole).toBe(false)
    expect(reserve.restore()).toBe(true)
    expect(sizeIn(directory)).toBe(bytes)
    expect(statSync(join(directory, RESERVE_FILE)).mode & 0o077).toBe(0)
    expect(reserve.lend()).toBe(true)
    expect(sizeIn(directory)).toBe(0)
    expect(reserve.lend()).toBe(false)
    expect(reserve.restore()).toBe(true)
    expect([reserve.isWhole, reserve.isLent]).toEqual([true, false])
    reserve.remove()
    expect(sizeIn(directory)).toBeUndefined()
    expect([reserve.isWhole, reserve.isLent]).toEqual([false, false])
  })

  test("that was given up is known to a later process as given up, and one that never was is not", () => {
    const directory = temporaryDirectory()
    expect(new DiskReserve(directory, bytes).isLent).toBe(false)
    new DiskReserve(directory, bytes).restore()
    expect(new DiskReserve(directory, bytes).isLent).toBe(false)
    expect(lendReserve(directory)).toBe(true)
    const later = new DiskReserve(directory, bytes)
    expect([later.isWhole, later.isLent]).toEqual([false, true])
  })

  test("of an earlier process counts if it is whole, and is given up for a recording that cannot be opened", () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, RESERVE_FILE), Buffer.alloc(bytes - 1))
    expect(new DiskReserve(directory, bytes).isWhole).toBe(false)
    expect(new DiskReserve(directory, bytes - 1).isWhole).toBe(true)
    expect(lendReserve(directory)).toBe(true)
    expect(lendReserve(directory)).toBe(false)
  })

  test("that cannot be made is not there: a directory that is gone is for the next commit to report", () => {
    const directory = temporaryDirectory()
    const reserve = new DiskReserve(directory, bytes)
    rmSync(directory, { recursive: true })
    expect(() => reserve.restore()).toThrow("ENOENT")
  })
})

const skipped = noLoopDevice()

describe.skipIf(skipped !== undefined)("on a device", () => {
  test("a reserve for which there is no room leaves nothing behind", () => {
    const directory = temporaryDirectory()
    using device = new LoopDevice(mkdtempSync(join(directory, "device-")), 4 * 1024 * 1024)
    const reserve = new DiskReserve(device.path, 64 * bytes)
    expect(reserve.restore()).toBe(false)
    expect(sizeIn(device.path)).toBeUndefined()
  })

  test.each([
    ["bytes", { bytes: 2 ** 40, kinds: new Map() }, true],
    ["time", { forMicros: 200_000, kinds: new Map() }, true],
    ["nothing", { kinds: new Map() }, false],
  ])("retention with a limit of %s makes room if it may", (_, policy, isHealed) => {
    const directory = temporaryDirectory()
    using device = new LoopDevice(mkdtempSync(join(directory, "device-")), 40 * 1024 * 1024)
    const data = join(device.path, "data")
    const clock = { micros: START }
    const writer = ArchiveWriter.open(data, { now: () => clock.micros })
    writer.retention.setPolicy(policy)
    while (writer.retention.step(() => false));
    expect(sizeIn(data) !== undefined).toBe(isHealed)
    const changes = new Changes(writer)
    expect(fill(writer, clock, changes)).toBeInstanceOf(DiskFullError)
    writer.retention.press()
    while (writer.retention.step(() => false));
    if (isHealed) {
      expect(sizeIn(data)).toBeGreaterThan(0)
      writer.commit()
      const { blocks, events } = writer.retention.statistics
      expect(blocks).toBeGreaterThan(5)
      // However large the limit is, a quarter at least is kept.
      expect(events).toBeLessThan(0.75 * changes.next)
      writer.close()
      expect(verifyRecording(data)).toMatchObject({ faults: [], damagedBlocks: [] })
    } else {
      expect(() => writer.commit()).toThrow(DiskFullError)
      expect(writer.retention.statistics.blocks).toBe(0)
      writer.abandon()
    }
  })
})
