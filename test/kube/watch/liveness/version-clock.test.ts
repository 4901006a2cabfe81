import fc from "fast-check"
import { expect, test } from "vitest"
import { VersionClock } from "../../../../src/kube/watch/liveness/version-clock.ts"

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
