import { describe, expect, test } from "vitest"
import { equal, parseExactly } from "../cluster/exact-json.ts"
import { keptPart, removeAll } from "../cluster/kept-part.ts"

describe("removing pointers", () => {
  test("removes the value and leaves its neighbours", () => {
    expect(removeAll({ a: { b: 1, c: 2 } }, ["/a/b"])).toEqual({ a: { c: 2 } })
  })

  test("treats an object whose members are all ignored as absent, up to the root", () => {
    expect(removeAll({ a: { b: { c: 1 } }, d: 1 }, ["/a/b/c"])).toEqual({ d: 1 })
    expect(removeAll({ a: { b: { c: 1 } } }, ["/a/b/c"])).toBeUndefined()
  })

  test("keeps an empty object that no pointer leads into", () => {
    expect(removeAll({ emptyDir: {}, a: { b: 1 } }, ["/a/b"])).toEqual({ emptyDir: {} })
  })

  test("understands ~1 and ~0, and numbers in lists", () => {
    expect(removeAll({ a: { "x/y": 1, "x~y": 2, z: 3 } }, ["/a/x~1y", "/a/x~0y"])).toEqual({ a: { z: 3 } })
    expect(removeAll({ a: [{ b: 1, c: 1 }, { b: 2 }] }, ["/a/0/b"])).toEqual({ a: [{ c: 1 }, { b: 2 }] })
  })

  test("leaves a value without the member unchanged", () => {
    expect(removeAll({ a: "text", b: [1] }, ["/a/b", "/b/7/c", "/c/d"])).toEqual({ a: "text", b: [1] })
  })

  test("rejects what is not a pointer", () => {
    expect(() => removeAll({}, ["metadata"])).toThrow("not a JSON pointer")
  })
})

describe("the kept part", () => {
  const pod = {
    metadata: { name: "a", resourceVersion: "1", generation: 2, managedFields: [], labels: { x: "1" } },
    spec: { nodeName: "node", priority: 1 },
    status: { phase: "Running" },
  }

  test("of content is all but status and what changes with every write", () => {
    expect(keptPart("v1.Pod", pod, { detect: "content" })).toEqual({
      metadata: { name: "a", labels: { x: "1" } },
      spec: pod.spec,
    })
  })

  test("of a Pod's spec excludes its node, even for list items without a kind", () => {
    expect(keptPart("v1.Pod", pod, { detect: "spec" })).toEqual({ priority: 1 })
    expect(keptPart("v1.Other", pod, { detect: "spec" })).toEqual(pod.spec)
  })

  test("of an object without a spec is the same as of one whose spec is null", () => {
    expect(keptPart("v1.ConfigMap", { data: {} }, { detect: "spec" })).toBeNull()
    expect(keptPart("v1.ConfigMap", { spec: null }, { detect: "spec" })).toBeNull()
  })

  test("does not depend on whether the object carries its type", () => {
    for (const detect of ["all", "content", "spec"] as const)
      expect(keptPart("v1.Pod", { apiVersion: "v1", kind: "Pod", ...pod }, { detect })).toEqual(
        keptPart("v1.Pod", pod, { detect }),
      )
  })
})

describe("exact JSON", () => {
  test("distinguishes numbers that are equal to JavaScript, and writes them back unchanged", () => {
    const text = '{"a":9007199254740993,"b":0.10,"c":1}'
    expect(JSON.stringify(parseExactly(text))).toBe(text)
    expect(equal(parseExactly("9007199254740993"), parseExactly("9007199254740992"))).toBe(false)
    expect(equal(parseExactly("[1,9007199254740993]"), parseExactly("[1,9007199254740993]"))).toBe(true)
  })

  test("compares members in any order, elements in theirs, and absent with undefined", () => {
    expect(equal({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 })).toBe(true)
    expect(equal([1, 2], [2, 1])).toBe(false)
    expect(equal({ a: undefined }, {})).toBe(true)
    expect(equal({ a: null }, {})).toBe(false)
    expect(equal({}, [])).toBe(false)
  })
})
