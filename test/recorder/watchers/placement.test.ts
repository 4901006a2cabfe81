/** Where watchers live: decided on measured reading, with threads that the test plays. */
import fc from "fast-check"
import { expect, test } from "vitest"
import {
  defaultSharing,
  type PlaceForMany,
  Placement,
  type SharingPolicy,
} from "../../../src/recorder/watchers/placement.ts"
import type { StartThread } from "../../../src/runtime/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const policy: SharingPolicy = { ...defaultSharing, aloneUpTo: 3, residents: 4, mostMoved: 2, calmLooks: 3 }
const megabyte = 1_000_000

interface PlayedThread extends PlaceForMany {
  utilisation: number
  readonly lose: () => void
}

const stage = (kinds: ReadonlyArray<string>, given: Partial<SharingPolicy> = {}) => {
  const clock = new ManualClock()
  const threads: Array<PlayedThread> = []
  /** By kind: the number of its thread, or `alone`. */
  const places = new Map<string, number | "alone">()
  const read = new Map<string, number>()
  const told: Array<string> = []
  const unmovable = new Set<string>()
  let watched = kinds.length
  let starting = ""
  const startAt = (place: number | "alone"): StartThread => {
    return () => {
      places.set(starting, place)
      return { send: () => undefined, kill: async () => undefined }
    }
  }
  const placement = new Placement({
    policy: { ...policy, ...given },
    clock,
    alone: startAt("alone"),
    openShared: ({ onLost = () => undefined }) => {
      const number = threads.length
      const thread: PlayedThread = {
        utilisation: 0,
        start: startAt(number),
        takeUtilisation: () => thread.utilisation,
        lose: () => onLost("out of memory\nwith a stack"),
      }
      threads.push(thread)
      return thread
    },
    watchers: () => watched,
    staysAlone: (gvk) => gvk === "v1.Pod",
    bytesRead: async (gvk) => read.get(gvk) ?? 0,
    mayMove: (gvk) => !unmovable.has(gvk),
    move: async (gvk) => start(gvk),
    told: (sentence) => told.push(sentence),
  })
  const start = (gvk: string): void => {
    starting = gvk
    placement.startOf(gvk)({ event: () => undefined, ended: () => undefined })
  }
  for (const gvk of kinds) start(gvk)
  /** A second later, in which the kinds have read so many bytes. */
  const look = async (bytes: Readonly<Record<string, number>> = {}): Promise<void> => {
    clock.advance(1000)
    for (const [gvk, more] of Object.entries(bytes)) read.set(gvk, (read.get(gvk) ?? 0) + more)
    await placement.look()
  }
  const busy = (share = 0.5): void => {
    for (const thread of threads) thread.utilisation = share
  }
  const setWatched = (count: number): void => {
    watched = count
  }
  return { placement, threads, places, told, unmovable, start, look, busy, clock, setWatched }
}

test("few watchers each have a worker, many share threads evenly, and that of pods never shares", () => {
  expect([...stage(["a", "b", "v1.Pod"]).places.values()]).toEqual(["alone", "alone", "alone"])
  const { places, placement } = stage(["a", "b", "c", "v1.Pod", "d", "e"])
  expect([...places]).toEqual([
    ["a", 0],
    ["b", 1],
    ["c", 0],
    ["v1.Pod", "alone"],
    ["d", 1],
    ["e", 0],
  ])
  expect(placement.threads).toBe(2)
})

test("a watcher that reads much of what a busy thread reads moves out after two looks, and no other", async () => {
  const { places, look, busy, told, start } = stage(["a", "b", "c", "d"])
  busy()
  await look()
  await look({ a: 3 * megabyte, b: 2 * megabyte })
  expect(places.get("a")).toBe(0)
  await look({ a: 3 * megabyte, b: 2 * megabyte })
  expect([...places.values()]).toEqual(["alone", 0, 0, 0])
  expect(told).toEqual(["a moves to a worker of its own: it reads 3.0 MB/s in a shared one"])
  // Wherever its next life begins, after a crash too.
  start("a")
  expect(places.get("a")).toBe("alone")
})

test.each([
  ["the thread is not busy", 0.1, { a: 9 * megabyte }],
  ["nobody reads much", 0.9, { a: megabyte / 2 }],
  ["all read alike", 0.9, { a: 2 * megabyte, b: 2 * megabyte, c: 2 * megabyte, d: 2 * megabyte, e: 2 * megabyte }],
])("nobody moves while %s", async (_why, share, bytes) => {
  const { places, look, busy } = stage(["a", "b", "c", "d", "e"], { residents: 8 })
  busy(share)
  for (let count = 0; count < 5; count++) await look(bytes)
  expect([...places.values()]).toEqual([0, 0, 0, 0, 0])
})

test("a burst that is over by the next look, and a watcher that is being listed, stay", async () => {
  const { places, look, busy, unmovable } = stage(["a", "b", "c", "d"])
  busy()
  unmovable.add("b")
  await look()
  for (let count = 0; count < 4; count++) {
    await look({ a: 5 * megabyte })
    await look({ b: 5 * megabyte })
  }
  await look({ b: 5 * megabyte })
  expect([...places.values()]).toEqual([0, 0, 0, 0])
  unmovable.delete("b")
  await look({ b: 5 * megabyte })
  expect(places.get("b")).toBe("alone")
})

test("one that has moved out returns only after having been calm for long, and at most so many are out", async () => {
  const { places, look, busy, placement } = stage(["a", "b", "c", "d"], { mostMoved: 1 })
  busy()
  await look()
  await look({ a: 5 * megabyte })
  await look({ a: 5 * megabyte })
  expect(placement.moved).toEqual(["a"])
  for (let count = 0; count < 4; count++) await look({ a: megabyte, b: 5 * megabyte })
  expect(placement.moved).toEqual(["a"])
  // Between calm and busy: neither returns nor counts as calm.
  for (let count = 0; count < 9; count++) await look({ a: megabyte / 5 })
  expect(places.get("a")).toBe("alone")
  await look()
  await look({ a: megabyte })
  await look()
  await look()
  expect(places.get("a")).toBe("alone")
  await look()
  expect(places.get("a")).toBe(0)
  expect(placement.moved).toEqual([])
})

test("a watcher that ends its thread again and again is soon alone in one, whoever it is", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 60 }), fc.nat(), (count, choice) => {
      const kinds = Array.from({ length: count }, (_, index) => `kind-${index}`)
      const culprit = kinds[choice % count] as string
      const { threads, places, start } = stage(kinds, { aloneUpTo: 1, residents: 64 })
      const numberOf = (gvk: string) => places.get(gvk) as number
      const neighbours = () => kinds.filter((gvk) => numberOf(gvk) === numberOf(culprit))
      let ends = 0
      for (let residents = neighbours(); residents.length > 1; residents = neighbours()) {
        threads[numberOf(culprit)]?.lose()
        for (const gvk of residents) start(gvk)
        ends++
      }
      expect(ends).toBeLessThanOrEqual(Math.ceil(Math.log2(count)))
    }),
  )
})

test("a kind that is no longer recorded leaves room for others", () => {
  const { placement, start, places } = stage(["a", "b", "c", "d"])
  placement.forget("a")
  placement.forget("b")
  start("e")
  expect(places.get("e")).toBe(0)
  expect(placement.threads).toBe(1)
})

test("with so few kinds left that each can have a worker, the next life of each does", () => {
  const { setWatched, start, places } = stage(["a", "b", "c", "d"])
  setWatched(3)
  start("b")
  expect([...places.values()]).toEqual([0, "alone", 0, 0])
})

test("it looks every five seconds until it is stopped", async () => {
  const { placement, busy, clock, threads } = stage(["a", "b", "c", "d"])
  busy(0)
  let looks = 0
  for (const thread of threads) thread.takeUtilisation = () => ++looks * 0
  placement.watch()
  clock.advance(4999)
  expect(looks).toBe(0)
  for (let count = 1; count <= 3; count++) {
    clock.advance(count === 1 ? 1 : 5000)
    await new Promise(setImmediate)
    expect(looks).toBe(count)
  }
  placement.stop()
  clock.advance(60_000)
  expect(looks).toBe(3)
})
