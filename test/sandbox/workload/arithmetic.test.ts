/** Hashes, numbers, schedules: pure functions with one correct result for every input. */

import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseDuration } from "../../../src/kube/index.ts"
import { microTime } from "../../../src/sandbox/workload/nodes/virtual-nodes.ts"
import {
  fnv32a,
  hashTemplate,
  revisionData,
  revisionHash,
  safeEncode,
} from "../../../src/sandbox/workload/pods/controller-revisions.ts"
import { formatIndexes, parseIndexes, scaledValue } from "../../../src/sandbox/workload/pods/statuses.ts"
import type { StatefulSet } from "../../../src/sandbox/workload/stateful-set-controller.ts"

describe("Hashes", () => {
  test("name the recorded StatefulSet's revision as the real controller did", () => {
    const file = new URL("../../data/recording/statefulsets.watch", import.meta.url)
    const states = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes('"name":"db"'))
      .map((line) => (JSON.parse(line.slice(line.indexOf(" ") + 1)) as { object: StatefulSet }).object)
    const recorded = states.find(({ status }) => status?.currentRevision !== undefined)?.status?.currentRevision
    expect(`db-${revisionHash(revisionData(states[0]?.spec.template as StatefulSet["spec"]["template"]), 0)}`).toBe(
      recorded,
    )
  })

  test("are FNV-1a, in the letters of generated names", () => {
    expect(fnv32a(Buffer.from(""))).toBe(0x811c9dc5)
    expect(fnv32a(Buffer.from("foobar"))).toBe(0xbf9cf968)
    expect(safeEncode("0123456789")).toBe("456789bcdf")
  })

  test("do not depend on the order of members, and do on the collision count", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (template) => {
        const reversed = Object.fromEntries(Object.entries(template).reverse())
        expect(hashTemplate(reversed)).toBe(hashTemplate(template))
        expect(hashTemplate(template)).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]+$/)
      }),
    )
    expect(hashTemplate({ a: 1 }, 1)).not.toBe(hashTemplate({ a: 1 }))
  })
})

describe("Amounts", () => {
  test("as percentages round up for a surge and down for unavailable Pods", () => {
    expect([scaledValue("25%", 6, true), scaledValue("25%", 6, false), scaledValue(3, 6, true)]).toEqual([2, 1, 3])
    expect(scaledValue(undefined, 6, true)).toBe(0)
  })
})

describe("Completed indexes", () => {
  test("are written and read back", () => {
    expect(formatIndexes([0, 2, 3, 5, 6, 7])).toBe("0,2,3,5-7")
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 60 })), (indexes) => {
        const sorted = [...indexes].sort((left, right) => left - right)
        expect(parseIndexes(formatIndexes(indexes), 61)).toEqual(sorted)
        expect(parseIndexes(formatIndexes(indexes), 30)).toEqual(sorted.filter((index) => index < 30))
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseIndexes(text, 10).every(Number.isInteger)).toBe(true)
      }),
    )
  })
})

describe("Durations and times", () => {
  test("are Go's", () => {
    expect(["3s", "1h2m3.5s", "200ms", "0", "1.5m", "10µs"].map(parseDuration)).toEqual([
      3000, 3_723_500, 200, 0, 90_000, 0.01,
    ])
    expect(["", "3", "s", "-1s", "1d", "never", "1s "].map(parseDuration)).toEqual(Array(7).fill(undefined))
    expect(microTime(1_700_000_000_000_042)).toBe("2023-11-14T22:13:20.000042Z")
  })
})
