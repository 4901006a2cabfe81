/** The threads' limits stay within the container's, and always let every role work. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  describeShortage,
  measuredMemory,
  memoryLimits,
  memoryLimitsOf,
  shareOf,
  unlimitedMegabytes,
  type WorkerRole,
  watcherWorkers,
  worstMegabytes,
} from "../../../src/recorder/memory/memory-shares.ts"

const mebibyte = 1024 * 1024
const roles: ReadonlyArray<WorkerRole> = ["watcher", "store", "owner-resolver", "exporter", "reader"]
const within = (bytes: number) => ({ bytes, file: "/sys/fs/cgroup/memory.max" })
const machine = (bytes: number) => ({ bytes, file: undefined })

const kinds = fc.integer({ min: 1, max: 300 })
const objects = fc.integer({ min: 0, max: 3_000_000 })

test("with all threads at their limits, one watcher grown to its own, everything fits into the manifests' limit", () => {
  fc.assert(
    fc.property(kinds, objects, (watched, alive) => {
      const bytes = worstMegabytes(watched, alive) * 1e6
      const limits = memoryLimitsOf(within(bytes), watched)
      const limited = roles.reduce((sum, role) => sum + limits[role].oldGenerationMb * mebibyte, 0)
      const others = (watcherWorkers(watched) - 1) * measuredMemory.watcherHeap * 1e6
      expect(limited + others + unlimitedMegabytes(watched) * 1e6).toBeLessThanOrEqual(bytes)
    }),
  )
})

test("each role keeps its measured needs, for as many objects as the manifests were made for", () => {
  fc.assert(
    fc.property(kinds, fc.integer({ min: 0, max: 500_000 }), (watched, alive) => {
      const limits = memoryLimitsOf(within(worstMegabytes(watched, alive) * 1e6), watched)
      const megabytes = (role: WorkerRole): number => (limits[role].oldGenerationMb * mebibyte) / 1e6
      // 75 MB with the lives of 100,000 pods; an export of 100,000 objects 117 MB with its garbage, 80 without.
      expect(megabytes("watcher")).toBeGreaterThan(8.5 + (0.67 * alive) / 1000)
      expect(megabytes("exporter")).toBeGreaterThan(30 + (0.6 * alive) / 1000)
      expect(megabytes("store")).toBeGreaterThan(10)
      expect(megabytes("owner-resolver")).toBeGreaterThan(24)
      expect(megabytes("reader")).toBeGreaterThan(10)
    }),
  )
})

test("more memory never means a lower limit, and more kinds never a higher one", () => {
  const size = fc.integer({ min: 1, max: 64 * 1024 }).map((megabytes) => megabytes * 1e6)
  fc.assert(
    fc.property(size, size, kinds, kinds, (one, other, few, many) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)]
      for (const role of roles) {
        const limit = (bytes: number, count: number): number =>
          memoryLimitsOf(within(bytes), count)[role].oldGenerationMb
        expect(limit(less, few)).toBeLessThanOrEqual(limit(more, few))
        expect(limit(less, Math.max(few, many))).toBeLessThanOrEqual(limit(less, Math.min(few, many)))
      }
    }),
  )
})

test("with plentiful memory the limits are the usual ones, and young generations always are", () => {
  expect(memoryLimitsOf(machine(64e9), 7)).toEqual(memoryLimits)
  for (const role of roles)
    expect(memoryLimitsOf(within(1e6), 7)[role].youngGenerationMb).toBe(memoryLimits[role].youngGenerationMb)
})

test("the pod that reel k8s prints by default gives each role room", () => {
  // 7 kinds, 10,000 objects.
  expect(memoryLimitsOf(within(720 * mebibyte), 7)).toMatchObject({
    watcher: { oldGenerationMb: 72 },
    store: { oldGenerationMb: 25 },
    "owner-resolver": { oldGenerationMb: 33 },
    exporter: { oldGenerationMb: 75 },
    reader: { oldGenerationMb: 17 },
  })
})

describe("a shortage of memory", () => {
  test("is reported with the bound, its source, the need and advice", () => {
    expect(describeShortage(within(268_435_456), 7)).toBe(
      "/sys/fs/cgroup/memory.max limits this process to 256 MiB of memory, and a recorder of 7 kinds needs 693 MiB when the disk is full during " +
        "an export: it may then be killed for lack of memory. Increase it (for a pod, resources.limits.memory, which reel k8s computes), or record fewer kinds",
    )
    expect(describeShortage(shareOf(within(536_870_912), 2), 7)).toMatch(
      /^\/sys\/fs\/cgroup\/memory.max limits this process to 512 MiB of memory for 2 recorders, and a recorder of 7 kinds /,
    )
    expect(describeShortage(machine(268_435_456), 1)).toMatch(
      /^this machine has 256 MiB of memory, and a recorder of 1 kind /,
    )
  })

  test("does not affect a pod with the manifests' memory", () => {
    fc.assert(
      fc.property(kinds, objects, (watched, alive) => {
        expect(describeShortage(within(worstMegabytes(watched, alive) * 1e6), watched)).toBeUndefined()
      }),
    )
  })

  test("leaves every role its minimum", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 400e6 }), kinds, (bytes, watched) => {
        const limits = memoryLimitsOf(within(bytes), watched)
        expect(roles.map((role) => limits[role].oldGenerationMb)).toEqual([60, 24, 32, 64, 16])
      }),
    )
  })
})
