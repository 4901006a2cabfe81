/** What a frame must carry, however full it is. */
import { expect, test } from "vitest"
import { FrameWriter } from "../../../src/actors/watcher/frame-writer.ts"
import type { KindProgress } from "../../../src/actors/watcher/progress/kind-progress.ts"
import { formatNamespaces, roomFor } from "../../../src/actors/watcher/progress/namespace-text.ts"
import { decodeObservations } from "../../../src/wire/observations.ts"
import { nothingRecorded as resume } from "./nothing-recorded.ts"

const clock = { wallMicros: () => 1_000_000, monotonicMs: () => 0, after: () => ({ cancel: () => undefined }) }

/** Writes events of the given size into slabs of 64 KiB; answers each frame's last version and the one it says it reaches. */
const framesOf = (objectBytes: number, version: (index: number) => number | string) => {
  const slab = Buffer.alloc(64 * 1024)
  const frames: Array<{ readonly last: string | undefined; readonly complete: string }> = []
  const outlet = {
    isWritable: true,
    reserve: () => slab,
    commit: (length: number) => {
      const frame = decodeObservations(slab.subarray(0, length))
      const last = frame.count === 0 ? undefined : frame.resourceVersionText(frame.count - 1)
      frames.push({ last, complete: frame.completeThrough })
      return frames.length
    },
  }
  const writer = new FrameWriter("v1.ConfigMap", outlet, clock, resume)
  writer.object({ number: 1, uid: "uid", namespace: "shop", name: "settings" })
  const object = Buffer.alloc(objectBytes, 120)
  for (let index = 0; index < 2000; index++) {
    writer.event(1, 1, version(index), 0, 0, object, 0, object.length)
    writer.reach(version(index))
  }
  writer.close()
  return frames
}

test("a frame that events have filled to the brim still says how far it is complete", () => {
  // Every size leaves another rest at the end of the slab, from none to one object.
  for (let objectBytes = 100; objectBytes < 260; objectBytes++) {
    for (const { last, complete } of framesOf(objectBytes, (index) => 100_000_000_000 + index))
      expect(complete).toBe(last)
  }
})

test("an opaque version longer than the room kept for it follows its frame at once", () => {
  const long = (index: number): string => `version-${"v".repeat(200)}-${index}`
  const frames = framesOf(151, long)
  for (const [index, { last, complete }] of frames.entries()) {
    if (last === undefined || complete === last) continue
    expect(complete).toBe("")
    expect(frames[index + 1]).toEqual({ last: undefined, complete: last })
  }
  expect(frames.at(-1)?.complete).toBe(long(1999))
})

test.each([true, false])(
  "a frame filled to the brim still says how far each of 100 namespaces is; all of them complete: %s",
  (isComplete) => {
    const namespaces = Array.from({ length: 100 }, (_, index) => `a-namespace-of-some-length-${index}`)
    for (let objectBytes = 100; objectBytes < 260; objectBytes += 7) {
      let reached = 0
      const parts: KindProgress = {
        room: roomFor(namespaces),
        say: () => {
          const states = namespaces.map((namespace) => ({
            namespace,
            version: String(reached),
            time: isComplete ? undefined : 1_763_740_000_000_000,
            owes: isComplete ? ("" as const) : ("cluster-restored" as const),
          }))
          return { text: formatNamespaces(states), isComplete }
        },
      }
      let slab = Buffer.alloc(0)
      const said: Array<{ readonly last: string; readonly text: string }> = []
      const outlet = {
        isWritable: true,
        reserve: (minimumBytes: number) => {
          slab = Buffer.alloc(Math.max(64 * 1024, minimumBytes))
          return slab
        },
        commit: (length: number) => {
          const frame = decodeObservations(slab.subarray(0, length))
          const last = frame.count === 0 ? "none" : frame.resourceVersionText(frame.count - 1)
          return said.push({ last, text: isComplete ? frame.completeThrough : frame.listReason })
        },
      }
      const writer = new FrameWriter("v1.ConfigMap", outlet, clock, resume, false, parts)
      writer.object({ number: 1, uid: "uid", namespace: "shop", name: "settings" })
      const object = Buffer.alloc(objectBytes, 120)
      for (let index = 0; index < 1000; index++) {
        const version = 10_000_000_000_000 + index
        writer.event(1, 1, version, 0, 0, object, 0, object.length)
        reached = version
      }
      writer.close()
      expect(said.length).toBeGreaterThan(1)
      for (const { last, text } of said) expect(text).toContain(`-0=${last}`)
    }
  },
)
