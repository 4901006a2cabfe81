/** The reported disk space is correct: that of the file system, or of the volume's limit. */
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { REPLACED_PREFIX, SET_ASIDE_PREFIX } from "../../../src/archive/set-aside.ts"
import {
  type Disk,
  DiskMetrics,
  readVolumeBytes,
  setAsidePrefixes,
} from "../../../src/recorder/metrics/disk-metrics.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const disk = (free: number, used: number): Disk => ({
  room: async () => ({ size: 1000, free }),
  used: async () => used,
})

const valuesOf = async (metrics: DiskMetrics): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries(
    (await metrics.now()).map(({ name, samples }) => [
      name.replace("kubereel_store_", ""),
      samples[0]?.value ?? Number.NaN,
    ]),
  )

const values = (directory: string, volumeBytes: number | undefined, given?: Disk) =>
  valuesOf(new DiskMetrics(directory, volumeBytes, new ManualClock(), given))

describe("the room of a recording", () => {
  test.each([
    ["is the file system's on a claim", undefined, 600, 100, { free: 600, size: 1000 }],
    ["is the rest of an emptyDir's limit", 300, 600, 100, { free: 200, size: 300 }],
    ["is the file system's where that has less than the limit", 300, 50, 100, { free: 50, size: 300 }],
    ["is none beyond the limit", 300, 600, 301, { free: 0, size: 300 }],
    ["is the file system's where the limit is larger than that", 5000, 600, 100, { free: 600, size: 1000 }],
  ])("%s", async (_, limit, free, used, expected) => {
    expect(await values("/", limit, disk(free, used))).toEqual({
      disk_free_bytes: expected.free,
      disk_size_bytes: expected.size,
      recording_bytes: used,
    })
  })

  test("is omitted if it cannot be read, but the size of the recording is not", async () => {
    const lost = (): Promise<never> => Promise.reject(new Error("stale file handle"))
    expect(await values("/", undefined, { ...disk(1, 7), room: lost })).toEqual({ recording_bytes: 7 })
    expect(await values("/", 10, { ...disk(5, 1), used: lost })).toEqual({ disk_free_bytes: 5, disk_size_bytes: 10 })
    expect(await values("/nowhere/at/all", undefined)).toEqual({})
  })

  test("is not awaited for more than a second, nor read again before the last read returns", async () => {
    const clock = new ManualClock()
    const answers: Array<(room: { size: number; free: number }) => void> = []
    const hanging = new DiskMetrics("/", undefined, clock, {
      room: () => new Promise((resolve) => answers.push(resolve)),
      used: async () => 7,
    })
    for (let scrape = 0; scrape < 3; scrape++) {
      const asked = valuesOf(hanging)
      clock.advance(1000)
      expect(await asked).toEqual({})
    }
    expect(answers).toHaveLength(1)
    const late = valuesOf(hanging)
    answers[0]?.({ size: 10, free: 3 })
    expect(await late).toEqual({ disk_free_bytes: 3, disk_size_bytes: 10, recording_bytes: 7 })
    void valuesOf(hanging)
    expect(answers).toHaveLength(2)
  })

  test("is read from statfs and the files' blocks", async () => {
    const directory = mkdtempSync(join(tmpdir(), "kubereel-disk-"))
    try {
      writeFileSync(join(directory, "recording.db"), Buffer.alloc(300_000, 1))
      mkdirSync(join(directory, "below"))
      writeFileSync(join(directory, "below", "other"), Buffer.alloc(300_000, 1))
      const { disk_size_bytes: size, recording_bytes: used } = await values(directory, undefined)
      const { blocks, bsize } = statfsSync(directory)
      expect(size).toBe(blocks * bsize)
      expect(used).toBeGreaterThanOrEqual(300_000)
      expect(used).toBeLessThan(400_000)
      expect(setAsidePrefixes).toEqual([SET_ASIDE_PREFIX, REPLACED_PREFIX])
      for (const [index, prefix] of setAsidePrefixes.entries()) {
        mkdirSync(join(directory, `${prefix}20261125T224302Z`))
        writeFileSync(join(directory, `${prefix}20261125T224302Z`, "recording.db"), Buffer.alloc(300_000, 1))
        expect((await values(directory, undefined)).recording_bytes).toBeGreaterThanOrEqual(600_000 + 300_000 * index)
      }
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

test.each([
  ["10737418240", 10_737_418_240],
  // The kubelet's value if nothing is requested.
  ["0", undefined],
  ["", undefined],
  [undefined, undefined],
  ["10Gi", undefined],
  ["-1", undefined],
])("a volume of %j bytes has %j", (text, bytes) => expect(readVolumeBytes(text)).toBe(bytes))
