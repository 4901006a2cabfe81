/** On a full disk, retention makes room for a commit as large as its own reserve, also if a process before was killed at any step of making room. */
import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { DiskFullError } from "../../../src/archive/directory/archive-errors.ts"
import { lendReserve } from "../../../src/archive/retention/disk-reserve.ts"
import { isThorough } from "../../harness/effort.ts"
import { LoopDevice, noLoopDevice } from "../../harness/loop-device.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { START } from "../sample-frames.ts"
import { Changes, canCommit, fill, retain } from "./filling-changes.ts"

// The last two are where a commit was repeated for ever, when a failed one did not write the log into the file.
const kills = isThorough() ? [0, 46, 59] : [0, 59]

test.skipIf(noLoopDevice() !== undefined).each(kills)("killed after %i steps of making room", (steps) => {
  using device = new LoopDevice(mkdtempSync(join(temporaryDirectory(), "device-")), 40 * 1024 * 1024)
  const data = join(device.path, "data")
  const clock = { micros: START }
  /** As the store does: on a full disk with what the reserve has. */
  const open = (): ArchiveWriter => {
    try {
      return ArchiveWriter.open(data, { now: () => clock.micros })
    } catch (error) {
      if (!(error instanceof DiskFullError) || !lendReserve(data)) throw error
      return open()
    }
  }
  const begin = (): ArchiveWriter => {
    const writer = open()
    writer.retention.setPolicy({ bytes: 2 ** 30, kinds: new Map() })
    return writer
  }
  const first = begin()
  retain(first)
  const before = new Changes(first)
  expect(fill(first, clock, before)).toBeInstanceOf(DiskFullError)
  first.retention.press()
  for (let step = 0; step < steps && first.retention.step(() => true); step++) if (step % 5 === 0) canCommit(first)
  first.abandon()

  const writer = begin()
  const changes = new Changes(writer, before.next + 1000)
  while (writer.pendingBytes < 9 * 1024 * 1024) {
    clock.micros += 1000
    changes.append(clock.micros)
  }
  let attempts = 1
  for (; !canCommit(writer) && attempts < 20; attempts++) retain(writer)
  expect(attempts).toBeLessThan(20)
  writer.close()
  expect(verifyRecording(data)).toMatchObject({ faults: [], damagedBlocks: [] })
})
