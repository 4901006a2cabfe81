import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { ObservedObject } from "../../../../src/kube/watch/liveness/observed-object.ts"
import { VersionClock } from "../../../../src/kube/watch/liveness/version-clock.ts"
import {
  createdSeconds,
  hasMoved,
  type Writes,
  WrittenTimes,
} from "../../../../src/kube/watch/liveness/written-time.ts"
import { observed, secondsText } from "./observed.ts"

const start = 1_763_000_000_000_000

test("every watcher finds the nearest samples of all", () => {
  const memory = VersionClock.memory()
  const [pods, maps] = [new VersionClock(memory), new VersionClock(memory)]
  pods.note(100, start)
  pods.note(140, start + 4_000_000)
  expect(maps.before(120, 1)).toEqual({ version: 100, micros: start })
  expect(maps.after(120, 1000)).toEqual({ version: 140, micros: start + 4_000_000 })
  expect(maps.before(120, 101)).toBeUndefined()
  expect(maps.after(120, 139)).toBeUndefined()
})

test("a version that has another's place is no sample of it", () => {
  const clock = new VersionClock(VersionClock.memory())
  clock.note(5, start)
  clock.note(5 + 4096, start + 1_000_000)
  expect(clock.before(5, 1)).toBeUndefined()
  expect(clock.before(5 + 4096, 1)).toEqual({ version: 5 + 4096, micros: start + 1_000_000 })
})

test("versions that are no numbers, or beyond 2^53, are not kept", () => {
  const clock = new VersionClock(VersionClock.memory())
  clock.note("abc", start)
  clock.note(2n ** 60n, start)
  expect(clock.after(0, 5000)).toBeUndefined()
})

test("for any samples, the nearest on both sides are found, to the millisecond", () => {
  const samples = fc.uniqueArray(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(
      samples,
      fc.integer({ min: 1, max: 4000 }),
      fc.integer({ min: 0, max: 2 ** 40 }),
      (versions, asked, base) => {
        const clock = new VersionClock(VersionClock.memory())
        for (const version of versions) clock.note(base + version, start + version * 1000)
        const below = Math.max(...versions.filter((version) => version <= asked), Number.NEGATIVE_INFINITY)
        const above = Math.min(...versions.filter((version) => version > asked), Number.POSITIVE_INFINITY)
        expect(clock.before(base + asked, 1)?.version).toBe(Number.isFinite(below) ? base + below : undefined)
        const after = clock.after(base + asked, base + 5000)
        expect(after?.version).toBe(Number.isFinite(above) ? base + above : undefined)
        if (after !== undefined) expect(after.micros).toBe(start + above * 1000)
      },
    ),
  )
})

const now = Date.UTC(2026, 10, 25, 18, 10, 7)
const seconds = now / 1000

const read = (object: ObservedObject): ObservedObject => {
  new WrittenTimes().read(object)
  return object
}

test("the last write is the latest time in managedFields", () => {
  expect(read(observed({ writtenMs: now + 350 })).written).toBe(seconds)
})

describe("a requested deletion counts from its request, not from the end of its grace period", () => {
  const creationTimestamp = secondsText(now - 90_000)
  const deletionTimestamp = secondsText(now + 30_000)
  const deletionGracePeriodSeconds = 30
  test.each([
    ["of a built-in kind", { creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds }, seconds],
    ["of a custom resource", { creationTimestamp, deletionGracePeriodSeconds, deletionTimestamp }, seconds],
    ["without a grace period", { creationTimestamp, deletionTimestamp }, seconds + 30],
  ])("%s", (_kind, metadata, requested) => {
    expect(read(observed({ writtenMs: now - 60_000, metadata })).written).toBe(requested)
  })
})

test("an object without times says nothing", () => {
  const { created, written, writes } = read(observed({}))
  expect({ created, written, writes }).toEqual({ created: 0, written: 0, writes: 0 })
})

test("creation is read wherever it is", () => {
  const times = new WrittenTimes()
  for (const metadata of [{ generation: 1 }, { generation: 12 }, {}, { labels: { creationTimestamp: "soon" } }]) {
    const object = observed({ metadata: { ...metadata, creationTimestamp: secondsText(now) } })
    times.read(object)
    expect(object.created).toBe("labels" in metadata ? 0 : seconds)
    expect(createdSeconds(object)).toBe(object.created)
  }
})

describe("the times of an object move", () => {
  const writes = (...managers: ReadonlyArray<readonly [name: string, afterMs: number]>): Writes =>
    read(
      observed({
        metadata: {
          managedFields: managers.map(([manager, afterMs]) => ({ manager, time: secondsText(now + afterMs) })),
        },
      }),
    )
  const before = writes(["a", 0], ["b", 5000])

  test("when a manager writes, old or new", () => {
    expect(hasMoved(writes(["a", 9000], ["b", 5000]), before)).toBe(true)
    expect(hasMoved(writes(["a", 0], ["b", 5000], ["c", 9000]), before)).toBe(true)
  })

  test("when one writes in the second of the last write", () => {
    expect(hasMoved(writes(["a", 5000], ["b", 5000]), before)).toBe(true)
    expect(hasMoved(writes(["a", 0], ["b", 5000], ["c", 5000]), before)).toBe(true)
  })

  test("not when fields are only removed, or a manager with its last field", () => {
    expect(hasMoved(writes(["a", 0], ["b", 5000]), before)).toBe(false)
    expect(hasMoved(writes(["b", 5000]), before)).toBe(false)
    expect(hasMoved(writes(["a", 0]), before)).toBe(false)
  })
})

test("texts that only look like times are none", () => {
  const odd = observed({
    metadata: {
      annotations: { deletionTimestamp: "soon", note: '"time":"2030-01-01T00:00:00Z"' },
      managedFields: [
        { time: "yesterday, or the day before" },
        { time: secondsText(now) },
        { time: "2030-01-01T00:00:0xZ", fieldsV1: { 'f:"2030-01-01T00:00:00Z"': {}, "f:a": "2030-01-01T00:00:00Z" } },
      ],
    },
  })
  expect(read(odd).written).toBe(seconds)
})

test("any times, in any order and with any white space, are read", () => {
  const times = fc.array(fc.integer({ min: 1, max: 4e9 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(times, fc.string({ maxLength: 12 }), fc.constantFrom("", " ", "\n  "), (all, manager, space) => {
      const fields = all.map((second) => ({ manager, time: secondsText(second * 1000), fieldsType: "FieldsV1" }))
      const object = observed({})
      const json = JSON.stringify(fields, undefined, space)
      const bytes = Buffer.from(json)
      const scanned = { ...object.scanned, managedFieldsStart: 0, managedFieldsEnd: bytes.length }
      const result = read({ ...object, bytes, start: 0, end: bytes.length, scanned })
      expect(result.written).toBe(Math.max(...all))
      expect(result.writes).toBe(all.reduce((sum, second) => (sum + second - Date.UTC(2020) / 1000) | 0, 0))
    }),
  )
})

test("no bytes make it throw", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.nat(400), (text, cut) => {
      const bytes = Buffer.from(
        `{"creationTimestamp":"${text}","deletionTimestamp":"${text}","deletionGracePeriodSeconds":${text}`,
      )
      const end = Math.min(cut, bytes.length)
      const { scanned } = observed({})
      const spans = { ...scanned, managedFieldsStart: 0, managedFieldsEnd: end }
      const { created, written } = read({ ...observed({}), bytes, start: 0, end, scanned: spans })
      expect(created >= 0 && written >= 0).toBe(true)
    }),
  )
})
