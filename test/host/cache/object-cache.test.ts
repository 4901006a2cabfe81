/** The object cache: the state that all controllers read, and the changes that they get. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { ObjectChange } from "../../../src/host/cache/change-feed.ts"
import { ObjectCache } from "../../../src/host/cache/object-cache.ts"
import type { ApiObject } from "../../../src/kube/index.ts"
import { rounds } from "../../harness/effort.ts"

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

  test("takes own writes at once and delivers each state once, whether a write or a watch brought it", () => {
    const cache = new ObjectCache<ApiObject>()
    const story = told(cache)
    cache.wrote(object("a", 10))
    cache.watched(object("a", 10), false)
    cache.watched(object("a", 12), false)
    cache.wrote(object("a", 11))
    cache.flush()
    expect(story).toEqual(["->10", "10>12"])
  })

  test("does not bring back deleted objects: late responses, late events, older lists", () => {
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

  test("holds after a list its objects and newer own writes", () => {
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

  test("takes lower versions after a new history has begun", () => {
    const cache = new ObjectCache<ApiObject>()
    cache.watched(object("a", 1000), false)
    cache.newHistory()
    cache.listStarted()
    cache.listedItem(object("a", 5))
    cache.listCompleted("6")
    expect(cache.get("default", "a")?.metadata.resourceVersion).toBe("5")
  })

  test("finds objects by controller, even after it has changed", () => {
    const cache = new ObjectCache<ApiObject>()
    cache.watched(object("a", 10, "a", "one"), false)
    cache.watched(object("a", 11, "a", "two"), false)
    expect(cache.controlledBy("one")).toEqual([])
    expect(cache.controlledBy("two")).toHaveLength(1)
    cache.watched(object("a", 12, "a", "two"), true)
    expect(cache.controlledBy("two")).toEqual([])
  })
})

describe("Handlers of the cache", () => {
  const item = (name: string, version: number, uid = name): ApiObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", uid, resourceVersion: String(version), labels: { app: uid } },
  })
  const inWords = ({ previous, current, isFinalStateUnknown }: ObjectChange<ApiObject>): string =>
    current === undefined
      ? `-${previous?.metadata.uid}@${previous?.metadata.resourceVersion}${isFinalStateUnknown ? "?" : ""}`
      : `${previous === undefined ? "+" : "="}${current.metadata.uid}@${current.metadata.resourceVersion}`
  const listening = (cache: ObjectCache<ApiObject>) => {
    const story: string[] = []
    return { story, end: cache.onChange((changes) => void story.push(...changes.map(inWords))) }
  }
  const list = (cache: ObjectCache<ApiObject>, version: number, ...items: ApiObject[]): void => {
    cache.listStarted()
    for (const each of items) cache.listedItem(each)
    cache.listCompleted(String(version))
  }

  test("added late get the present objects first, then what follows, without gap or repeat", () => {
    const cache = new ObjectCache<ApiObject>()
    list(cache, 5, item("a", 1), item("b", 2))
    cache.watched(item("c", 6), false)
    const { story, end } = listening(cache)
    expect(story).toEqual(["+a@1", "+b@2", "+c@6"])
    cache.watched(item("a", 7), false)
    cache.flush()
    end()
    cache.watched(item("a", 8), false)
    cache.flush()
    expect(story.slice(3)).toEqual(["=a@7"])
  })

  test("added from within a handler get each object once, too", () => {
    const cache = new ObjectCache<ApiObject>()
    let inner: ReadonlyArray<string> = []
    let isFirst = true
    cache.onChange(() => {
      if (!isFirst) return
      isFirst = false
      inner = listening(cache).story
      cache.wrote(item("own", 9))
    })
    list(cache, 5, item("a", 1))
    expect(inner).toEqual(["+a@1", "+own@9"])
  })

  test("learn of a deletion while no watch was open, with the last known state", () => {
    const cache = new ObjectCache<ApiObject>()
    list(cache, 5, item("a", 1), item("b", 2))
    const { story } = listening(cache)
    story.length = 0
    list(cache, 9, item("b", 2))
    expect(story).toEqual(["-a@1?"])
  })

  test("learn of a deletion and a creation when another object has taken the name", () => {
    const cache = new ObjectCache<ApiObject>()
    list(cache, 5, item("a", 1, "first"))
    const { story } = listening(cache)
    story.length = 0
    list(cache, 9, item("a", 8, "second"))
    expect(story).toEqual(["-first@1?", "+second@8"])
  })

  test("get the last state of an object whose deletion was watched, not an older one", () => {
    const cache = new ObjectCache<ApiObject>()
    list(cache, 5, item("a", 1))
    const { story } = listening(cache)
    story.length = 0
    cache.watched(item("a", 6), true)
    cache.flush()
    expect(story).toEqual(["-a@6"])
  })

  test("still get changes when an earlier handler throws, and so does that one", () => {
    const errors: unknown[] = []
    const cache = new ObjectCache<ApiObject>({ onHandlerError: (error) => errors.push(error) })
    let calls = 0
    cache.onChange(() => {
      calls++
      throw new Error("a defect")
    })
    const { story } = listening(cache)
    list(cache, 5, item("a", 1))
    list(cache, 6, item("a", 6))
    expect([story, calls, errors.length]).toEqual([["+a@1", "=a@6"], 2, 2])
  })

  test("see, after any history of lists, watches and own writes, the server's final state, and each deletion once", () => {
    type Happening = {
      readonly do: "put" | "delete" | "write" | "miss-put" | "miss-delete" | "relist"
      readonly name: string
    }
    const happening: fc.Arbitrary<Happening> = fc.record({
      do: fc.constantFrom("put", "delete", "write", "miss-put", "miss-delete", "relist"),
      name: fc.constantFrom("a", "b", "c"),
    })
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40, size: "max" }), (happenings) => {
        const server = new Map<string, ApiObject>()
        let version = 0
        let lives = 0
        let isMissing = false
        const cache = new ObjectCache<ApiObject>()
        const known = new Map<string, string>()
        const wrong: string[] = []
        cache.onChange((changes) => {
          for (const { previous, current } of changes) {
            const uid = (current ?? previous)?.metadata.uid ?? ""
            const object = (current ?? previous) as ApiObject
            if (previous === undefined && known.has(uid)) wrong.push(`${uid} added twice`)
            if (previous !== undefined && !known.has(uid)) wrong.push(`${uid} changed or deleted before it was added`)
            if (current === undefined) known.delete(uid)
            else known.set(uid, object.metadata.resourceVersion ?? "")
          }
        })
        const relist = (): void => {
          list(cache, version, ...server.values())
          isMissing = false
        }
        relist()
        for (const step of happenings) {
          if (step.do === "relist") {
            relist()
            continue
          }
          const before = server.get(step.name)
          version++
          // Events are missed while the watch is down; it resumes with a list.
          if (step.do.startsWith("miss")) isMissing = true
          if (step.do === "delete" || step.do === "miss-delete") {
            if (before === undefined) continue
            server.delete(step.name)
            if (!isMissing) cache.watched(item(step.name, version, before.metadata.uid), true)
          } else {
            const object = item(step.name, version, before?.metadata.uid ?? `${step.name}-${++lives}`)
            server.set(step.name, object)
            if (step.do === "write") cache.wrote(object)
            if (!isMissing) cache.watched(object, false)
          }
          cache.flush()
        }
        relist()
        const expected = [...server.values()].map(({ metadata }) => [metadata.uid, metadata.resourceVersion])
        expect(wrong).toEqual([])
        expect([...known].sort()).toEqual(expected.sort())
        expect([...cache.all()].map(({ metadata }) => metadata.uid).sort()).toEqual(expected.map(([uid]) => uid))
      }),
      { numRuns: rounds(300) },
    )
  })
})

describe("An index", () => {
  test("finds objects by their values, earlier objects and changed ones", () => {
    const cache = new ObjectCache<ApiObject>()
    const labelled = (name: string, version: number, ...apps: string[]): ApiObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, uid: name, resourceVersion: String(version), annotations: { apps: apps.join(",") } },
    })
    cache.watched(labelled("a", 1, "x", "y"), false)
    cache.addIndex("app", ({ metadata }) => metadata.annotations?.apps?.split(",") ?? [])
    cache.watched(labelled("b", 2, "y"), false)
    const names = (app: string): ReadonlyArray<string> => cache.byIndex("app", app).map(({ metadata }) => metadata.name)
    expect([names("x"), names("y"), names("z")]).toEqual([["a"], ["a", "b"], []])
    cache.watched(labelled("a", 3, "z"), false)
    cache.watched(labelled("b", 4), true)
    expect([names("x"), names("y"), names("z")]).toEqual([[], [], ["a"]])
  })
})
