/** What a frame must carry, however full it is. */
import { expect, test } from "vitest"
import { FrameWriter } from "../../../src/actors/watcher/frame-writer.ts"
import { decodeObservations } from "../../../src/trace/observations.ts"

const resume = {
  resumeVersion: "",
  epoch: 0,
  nextObjectNumber: 1,
  lastTime: 0,
  completeTime: 0,
  clusterUid: "",
  listReason: "",
  selection: "",
}
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
