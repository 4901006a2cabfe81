/** What a frame must contain, however full it is. */
import { expect, test } from "vitest"
import { FrameWriter } from "../../../src/actors/watcher/frame-writer.ts"
import { ProgressByNamespace } from "../../../src/actors/watcher/kind-progress.ts"
import { decodeObservations } from "../../../src/wire/observations.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { nothingRecorded as resume } from "./nothing-recorded.ts"

const clock = { wallMicros: () => 1_000_000, monotonicMs: () => 0, after: () => ({ cancel: () => undefined }) }

/** Writes events of the given size into slabs of 64 KiB; returns each frame's last version and the version it states. */
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
  writer.object({ number: 1, uid: "uid", namespace: "shop", name: "settings" }, 2)
  const object = Buffer.alloc(objectBytes, 120)
  for (let index = 0; index < 2000; index++) {
    writer.event(frameEvent({ objectNumber: 1, version: version(index), bytes: object }))
    writer.reach(version(index))
  }
  writer.close()
  return frames
}

test("a frame filled to the brim with events still has room for its progress", () => {
  // Every size leaves a different rest at the end of the slab, from none to one object.
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
    const states = namespaces.map((namespace) => ({
      namespace,
      completeThrough: "5",
      completeTime: 1_763_740_000_000_000,
      listReason: isComplete ? ("" as const) : ("cluster-restored" as const),
    }))
    for (let objectBytes = 100; objectBytes < 260; objectBytes += 7) {
      const progress = new ProgressByNamespace(states, [], clock)
      for (const standing of progress.standings) standing.isWatched = () => isComplete
      let slab = Buffer.alloc(0)
      let frames = 0
      const outlet = {
        isWritable: true,
        reserve: (minimumBytes: number) => {
          slab = Buffer.alloc(Math.max(64 * 1024, minimumBytes))
          return slab
        },
        commit: (length: number) => {
          const frame = decodeObservations(slab.subarray(0, length))
          const completeThrough = frame.count === 0 ? "none" : frame.resourceVersionText(frame.count - 1)
          expect(frame.isComplete).toBe(isComplete)
          expect(frame.namespaceCount).toBe(100)
          expect(frame.namespace(0)).toMatchObject({ namespace: namespaces[0], completeThrough })
          return ++frames
        },
      }
      const writer = new FrameWriter("v1.ConfigMap", outlet, clock, resume, { byNamespace: progress })
      writer.object({ number: 1, uid: "uid", namespace: "shop", name: "settings" }, 2)
      const object = Buffer.alloc(objectBytes, 120)
      for (let index = 0; index < 1000; index++) {
        const version = 10_000_000_000_000 + index
        writer.event(frameEvent({ objectNumber: 1, version, bytes: object }))
        for (const standing of progress.standings) standing.reach(version)
      }
      writer.close()
      expect(frames).toBeGreaterThan(1)
    }
  },
)

test("an object's first event is in the frame that names it, late or not, however full the frame is", () => {
  const stretch = { notBefore: 0, notAfter: undefined, cause: "disconnected" as const }
  for (let objectBytes = 100; objectBytes < 400; objectBytes += 7) {
    let slab = Buffer.alloc(0)
    const named: number[][] = []
    const seen: number[][] = []
    const outlet = {
      isWritable: true,
      reserve: (bytes: number) => {
        slab = Buffer.alloc(bytes)
        return slab
      },
      commit: (length: number) => {
        const frame = decodeObservations(slab.subarray(0, length))
        named.push(Array.from({ length: frame.newObjectCount }, (_, index) => frame.newObject(index).number))
        return seen.push(Array.from({ length: frame.count }, (_, index) => frame.objectNumber(index)))
      },
    }
    const writer = new FrameWriter("v1.ConfigMap", outlet, clock, resume)
    const object = Buffer.alloc(objectBytes, 120)
    for (let number = 1; number <= 700; number++) {
      const isLate = number % 50 === 0
      const version = 1000 + number
      const observed = isLate
        ? { timing: "late" as const, stretch, sinceMicros: 0, happenedMicros: 0, version }
        : undefined
      writer.object(
        { number, uid: `uid-${number}`, namespace: "shop", name: `settings-${number}` },
        objectBytes,
        observed,
      )
      writer.event(frameEvent({ objectNumber: number, version, bytes: object }), observed)
    }
    writer.close()
    expect(named.length).toBeGreaterThan(2)
    expect(named).toEqual(seen)
  }
})

test("a frame names only the namespaces that have changed since the previous one, and those no longer watched", () => {
  const complete = (namespace: string) =>
    ({ namespace, completeThrough: "5", completeTime: 0, listReason: "" }) as const
  const progress = new ProgressByNamespace(
    ["shop", "stock"].map((namespace) => ({ ...complete(namespace), completeTime: 900_000 })),
    ["bank", "shop", "stock"].map(complete),
    clock,
  )
  for (const standing of progress.standings) standing.isWatched = () => true
  const slab = Buffer.alloc(128 * 1024)
  const told: string[] = []
  const outlet = {
    isWritable: true,
    reserve: () => slab,
    commit: (length: number) => {
      const frame = decodeObservations(slab.subarray(0, length))
      const moved = Array.from({ length: frame.namespaceCount }, (_, index) => frame.namespace(index))
      const texts = moved.map(({ namespace, completeThrough }) => `${namespace} ${completeThrough}`)
      return told.push([...texts, ...frame.leftNamespaces.map((namespace) => `${namespace} left`)].join(", "))
    },
  }
  const writer = new FrameWriter("v1.ConfigMap", outlet, clock, resume, { byNamespace: progress })
  writer.flush()
  writer.flush()
  progress.standings[0]?.reach(6)
  writer.flush()
  progress.standings[1]?.reach(7)
  progress.standings[0]?.reach(8)
  writer.flush()
  writer.flush()
  expect(told).toEqual(["bank left", "shop 6", "shop 8, stock 7"])
})
