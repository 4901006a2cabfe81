/** The work queue and the object cache: what all controllers stand on. */

import { describe, expect, test } from "vitest"
import { ObjectCache } from "../../../src/host/object-cache.ts"
import { WorkQueue } from "../../../src/host/work-queue.ts"
import type { ApiObject } from "../../../src/kube/client/objects.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

describe("The work queue", () => {
  test("works on a key once at a time, and once more for whatever came meanwhile", async () => {
    const releases: Array<() => void> = []
    let running = 0
    let most = 0
    const queue = new WorkQueue({
      clock: new ManualClock(),
      process: async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => releases.push(resolve))
        running--
      },
    })
    queue.add("a")
    await turn()
    for (let times = 0; times < 5; times++) queue.add("a")
    expect(releases).toHaveLength(1)
    releases[0]?.()
    await turn()
    expect(releases).toHaveLength(2)
    releases[1]?.()
    await turn()
    expect([releases.length, most, queue.depth]).toEqual([2, 1, 0])
  })

  test("tries a failed key again after 5, 10, 20 ms, and forgets the failures with a success", async () => {
    const clock = new ManualClock()
    let failures = 3
    const runs: number[] = []
    const queue = new WorkQueue({
      clock,
      process: () => {
        runs.push(clock.monotonicMs())
        return failures-- > 0 ? Promise.reject(new Error("no")) : Promise.resolve()
      },
    })
    queue.add("a")
    for (let ms = 0; ms < 40; ms++) {
      await turn()
      clock.advance(1)
    }
    await turn()
    const gaps = runs.slice(1).map((at, index) => at - (runs[index] ?? 0))
    expect(gaps).toEqual([5, 10, 20])
    failures = 1
    queue.add("a")
    await turn()
    expect(clock.untilNext).toBe(5)
  })

  test("keeps the earliest of several delays, and drops them all when it is closed", async () => {
    const clock = new ManualClock()
    const runs: string[] = []
    const queue = new WorkQueue({ clock, process: async (key) => void runs.push(key) })
    queue.addAfter("a", 100)
    queue.addAfter("a", 50)
    queue.addAfter("a", 80)
    expect(clock.pending).toBe(1)
    clock.advance(50)
    await turn()
    expect(runs).toEqual(["a"])
    queue.addAfter("b", 100)
    await queue.close()
    expect(clock.pending).toBe(0)
    queue.add("c")
    await turn()
    expect(runs).toEqual(["a"])
  })
})

describe("The object cache", () => {
  const object = (name: string, version: number, uid = name, owner?: string): ApiObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      namespace: "default",
      uid,
      resourceVersion: String(version),
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: "v1", kind: "X", name: "x", uid: owner, controller: true }] }),
    },
  })
  const told = (cache: ObjectCache<ApiObject>): string[] => {
    const story: string[] = []
    cache.onChange((changes) => {
      for (const { previous, current } of changes) {
        story.push(`${previous?.metadata.resourceVersion ?? "-"}>${current?.metadata.resourceVersion ?? "-"}`)
      }
    })
    return story
  }

  test("takes own writes at once and tells each state once, however it came", () => {
    const cache = new ObjectCache<ApiObject>()
    const story = told(cache)
    cache.wrote(object("a", 10))
    cache.watched(object("a", 10), false)
    cache.watched(object("a", 12), false)
    cache.wrote(object("a", 11))
    cache.flush()
    expect(story).toEqual(["->10", "10>12"])
  })

  test("does not bring back what is gone: late answers, late events, lists from before", () => {
    const cache = new ObjectCache<ApiObject>()
    cache.watched(object("a", 10), false)
    cache.watched(object("a", 11), true)
    cache.wrote(object("a", 10))
    expect(cache.size).toBe(0)
    cache.watched(object("b", 12), false)
    cache.removed(object("b", 12))
    cache.watched(object("b", 13), false)
    expect(cache.size).toBe(0)
    cache.listStarted()
    cache.listedItem(object("b", 13))
    cache.listCompleted("14")
    expect(cache.size).toBe(0)
    cache.watched(object("b", 15), true)
    cache.watched(object("b", 16, "another"), false)
    expect(cache.get("default", "b")?.metadata.uid).toBe("another")
  })

  test("after a list holds what is in it, and own writes that are newer", () => {
    const cache = new ObjectCache<ApiObject>()
    cache.watched(object("old", 10), false)
    cache.wrote(object("mine", 30))
    cache.flush()
    const story = told(cache)
    cache.listStarted()
    cache.listedItem(object("new", 15))
    cache.listCompleted("20")
    expect([...cache.all()].map(({ metadata }) => metadata.name).sort()).toEqual(["mine", "new"])
    expect(story).toEqual(["10>-", "->15"])
  })

  test("takes lower versions after the history has begun anew", () => {
    const cache = new ObjectCache<ApiObject>()
    cache.watched(object("a", 1000), false)
    cache.newHistory()
    cache.listStarted()
    cache.listedItem(object("a", 5))
    cache.listCompleted("6")
    expect(cache.get("default", "a")?.metadata.resourceVersion).toBe("5")
  })

  test("finds objects by controller, also after it has changed", () => {
    const cache = new ObjectCache<ApiObject>()
    cache.watched(object("a", 10, "a", "one"), false)
    cache.watched(object("a", 11, "a", "two"), false)
    expect(cache.controlledBy("one")).toEqual([])
    expect(cache.controlledBy("two")).toHaveLength(1)
    cache.watched(object("a", 12, "a", "two"), true)
    expect(cache.controlledBy("two")).toEqual([])
  })
})
