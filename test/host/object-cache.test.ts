/** The object cache: what all controllers look at, and what they are told of it. */

import { describe, expect, test } from "vitest"
import { ObjectCache } from "../../src/host/object-cache.ts"
import type { ApiObject } from "../../src/kube/client/objects.ts"

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
    const story = told(cache)
    cache.watched(object("old", 10), false)
    cache.wrote(object("mine", 30))
    cache.flush()
    story.length = 0
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
