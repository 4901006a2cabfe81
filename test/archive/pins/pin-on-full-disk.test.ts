/** Without room for the copy of a pinned window retention waits; when commits find no room, recording goes first. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { LoopDevice, noLoopDevice } from "../../harness/loop-device.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { Changes, canCommit } from "../retention/filling-changes.ts"
import { START } from "../sample-frames.ts"

const megabyte = 1024 * 1024
const second = 1_000_000

const finished = async (writer: ArchiveWriter): Promise<void> => {
  // A flush on another thread takes as many turns as it takes.
  while (writer.retention.step(() => true)) await turn()
}

describe.skipIf(noLoopDevice() !== undefined)("on a small device", () => {
  const recorded = (changes: number, megabytes: number) => {
    const device = new LoopDevice(mkdtempSync(join(temporaryDirectory(), "device-")), megabytes * megabyte)
    const data = join(device.path, "data")
    const clock = { micros: START }
    const writer = ArchiveWriter.open(data, { now: () => clock.micros })
    const all = new Changes(writer)
    for (let change = 0; change < changes; change++) {
      clock.micros += 1000
      all.append(clock.micros)
      if (change % 10 === 0) writer.commit()
    }
    writer.commit()
    const pin = writer.pins.add({ from: START, until: clock.micros - 100_000, source: "command" })
    return { device, data, clock, writer, all, pin }
  }

  test("a window whose copy has no room stays where it is, until there is some", async () => {
    const { device, data, clock, writer } = recorded(400, 96)
    using _ = device
    writer.retention.setPolicy({ forMicros: second, kinds: new Map() })
    const ballast = join(device.path, "ballast")
    writeFileSync(ballast, Buffer.alloc(45 * megabyte, 1))
    clock.micros += 3600 * second
    await finished(writer)
    expect(writer.retention.pinTrouble).toMatch(
      /^Pin .* keeps them, and there is no room for its copy of about \d+ bytes\.$/,
    )
    expect(writer.retention.statistics).toMatchObject({ events: 0, isHeldUp: true })
    expect(writer.pins.all()[0]?.place).toBe("recording")
    rmSync(ballast)
    await finished(writer)
    expect(writer.pins.all()[0]?.place).toBe("kept")
    expect(writer.retention.statistics.events).toBeGreaterThan(300)
    await finished(writer)
    expect(writer.retention.pinTrouble).toBeUndefined()
    writer.close()
    expect(verifyRecording(data)).toMatchObject({ faults: [], damagedBlocks: [] })
  })

  test("a full disk takes what is pinned before it stops recording, and the pin says so", async () => {
    const { device, data, clock, writer, all } = recorded(1000, 64)
    using _ = device
    writer.retention.setPolicy({ bytes: 2 ** 40, kinds: new Map() })
    await finished(writer)
    expect(writer.pins.all()[0]?.place).toBe("open")
    let refused = 0
    for (let change = 0; change < 1500; change++) {
      clock.micros += 1000
      all.append(clock.micros)
      for (let attempt = 0; !canCommit(writer); attempt++) {
        refused++
        expect(attempt).toBeLessThan(50)
        await finished(writer)
      }
    }
    expect(refused).toBeGreaterThan(0)
    const [pin] = writer.pins.all()
    expect(pin).toMatchObject({ place: "open", bytes: 0 })
    expect(pin?.lostThrough).toBeGreaterThan(START)
    clock.micros += 3600 * second
    expect(writer.pins.all()).toMatchObject([{ id: pin?.id, place: "lost" }])
    // Until the pin is removed.
    for (let round = 0; round < 3; round++) {
      await finished(writer)
      expect(writer.retention.pinTrouble).toBe(
        `For lack of room, what pins keep was removed without a copy: ${pin?.id}.`,
      )
    }
    writer.pins.remove(pin?.id ?? "")
    expect(writer.retention.pinTrouble).toBeUndefined()
    writer.close()
    expect(verifyRecording(data)).toMatchObject({ faults: [], damagedBlocks: [] })
    expect(statSync(data).mode & 0o777).toBe(0o700)
  })
})
