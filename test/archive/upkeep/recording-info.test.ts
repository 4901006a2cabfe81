/** How fast a recording grows, also if some of its kinds are kept for a shorter time than others. */
import { expect, onTestFinished, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import type { RetentionPolicy } from "../../../src/archive/retention/policy.ts"
import { readRecordingInfo } from "../../../src/archive/upkeep/recording-info.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const kinds = ["v1.Event", "v1.Pod"]
const minutes = 120

/** Two kinds that grow alike, an event a second each. */
const growthWith = (policy: RetentionPolicy): number => {
  const directory = temporaryDirectory()
  let time = START
  const writer = ArchiveWriter.open(directory, {
    now: () => time,
    limits: { blockBytes: 20_000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } },
  })
  onTestFinished(() => writer.close())
  let version = 0
  for (let minute = 0; minute < minutes; minute++) {
    for (const gvk of kinds) {
      const events = Array.from({ length: 60 }, (_, second) => {
        version++
        const object = `${version} ${Math.sin(version)} `.repeat(10)
        return { action: "applied", number: 1, time: time + second * 1_000_000, version, object } as const
      })
      const newObjects = minute === 0 ? [1] : []
      writer.append(gvk, 1, minute + 1, encodeFrame({ gvk, events, newObjects, completeThrough: String(version) }))
    }
    time += 60_000_000
    writer.commit()
  }
  writer.retention.setPolicy(policy)
  while (writer.retention.step(() => false));
  return readRecordingInfo(directory, time).growthPerDay ?? Number.NaN
}

test("what was removed of one kind does not make it grow more slowly", () => {
  const whole = growthWith({ kinds: new Map() })
  expect(whole).toBeGreaterThan(0)
  const shortened = growthWith({ kinds: new Map([["v1.Event", { forMicros: 10 * 60_000_000 }]]) })
  // Free pages and whole blocks: not to the byte.
  expect(shortened / whole).toBeGreaterThan(0.7)
  expect(shortened / whole).toBeLessThan(1.4)
})
