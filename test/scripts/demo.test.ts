import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { recordedKinds } from "../../scripts/demo.ts"
import { compareKind, type NamedChange } from "../../scripts/demo-comparison.ts"

const change = (uid: string, version: number, isDeleted = false): NamedChange => ({
  uid,
  resourceVersion: String(version),
  isDeleted,
})

const done = [change("a", 1), change("b", 2), change("a", 3), change("b", 4, true), change("a", 5)]

describe("the demo's verdict", () => {
  test("is that both agree only if every change was recorded once and in order", () => {
    expect(compareKind("v1.Pod", done, 0, done).difference).toBeUndefined()
    for (let index = 0; index < done.length; index++) {
      expect(compareKind("v1.Pod", done, 0, done.toSpliced(index, 1)).difference).toBeDefined()
      expect(
        compareKind("v1.Pod", done, 0, done.toSpliced(index, 0, done[index] as NamedChange)).difference,
      ).toBeDefined()
    }
    expect(compareKind("v1.Pod", done, 0, [done[1], done[0], ...done.slice(2)] as NamedChange[]).difference).toBe(
      "version 2 of b stands where version 1 of a belongs",
    )
    expect(compareKind("v1.Pod", done, 0, done.slice(0, 4)).difference).toBe("version 5 of a is missing")
    expect(compareKind("v1.Pod", done, 0, [...done, change("c", 6)]).difference).toBe("version 6 of c never happened")
  })

  test("expects of what was there before the last states only, in any order", () => {
    const later = [change("a", 7), change("c", 8)]
    const before = [...done, change("c", 6)]
    const all = [...before, ...later]
    expect(
      compareKind("v1.Pod", all, before.length, [change("c", 6), change("a", 5), ...later]).difference,
    ).toBeUndefined()
    expect(compareKind("v1.Pod", all, before.length, [change("c", 6), ...later]).difference).toBeDefined()
    expect(
      compareKind("v1.Pod", all, before.length, [change("a", 3), change("c", 6), ...later]).difference,
    ).toBeDefined()
  })

  test("is about the kinds that the demo's configuration records", () => {
    const { trackedObjects } = parse(readFileSync(new URL("../../scripts/demo.yml", import.meta.url), "utf8")) as {
      readonly trackedObjects: Readonly<Record<string, unknown>>
    }
    expect(Object.keys(trackedObjects)).toEqual([...recordedKinds])
  })
})
