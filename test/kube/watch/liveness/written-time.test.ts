import fc from "fast-check"
import { expect, test } from "vitest"
import { lastWrittenMs, mayBeUntimed, wasTerminating } from "../../../../src/kube/watch/liveness/written-time.ts"
import { observed, secondsText } from "./observed.ts"

const now = Date.UTC(2026, 10, 25, 18, 10, 7)

test("the last write is the latest time in managedFields", () => {
  expect(lastWrittenMs(observed({ writtenMs: now + 350 }))).toBe(now)
})

test("a requested deletion counts from its request, not from the end of its grace period", () => {
  const terminating = observed({
    writtenMs: now - 60_000,
    metadata: { deletionTimestamp: secondsText(now + 30_000), deletionGracePeriodSeconds: 30 },
  })
  expect(lastWrittenMs(terminating)).toBe(now)
  expect(wasTerminating(terminating)).toBe(true)
})

test("an object without times says nothing", () => {
  expect(lastWrittenMs(observed({}))).toBeUndefined()
  expect(wasTerminating(observed({}))).toBe(false)
})

test("scaling leaves an entry without a time, which counts until a controller has observed it", () => {
  const managedFields = [
    { manager: "kubectl", subresource: "scale" },
    { manager: "kubectl", time: secondsText(now) },
  ]
  expect(mayBeUntimed(observed({ metadata: { generation: 3, managedFields } }))).toBe(true)
  const seen = { generation: 3, managedFields, annotations: { odd: '"observedGeneration"' }, observedGeneration: 3 }
  expect(mayBeUntimed(observed({ metadata: seen }))).toBe(false)
  expect(mayBeUntimed(observed({ writtenMs: now, metadata: { generation: 3 } }))).toBe(false)
})

test("texts that only look like times are none", () => {
  const odd = observed({
    metadata: {
      annotations: { deletionTimestamp: "soon", note: '"time":"2030-01-01T00:00:00Z"' },
      managedFields: [{ time: "yesterday, or the day before" }, { time: secondsText(now) }],
    },
  })
  expect(lastWrittenMs(odd)).toBe(now)
})

test("any times, in any order and with any white space, are read", () => {
  const times = fc.array(fc.integer({ min: 0, max: 4e9 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(times, fc.constantFrom("", " ", "\n  "), (seconds, space) => {
      const fields = seconds.map((second) => ({ manager: "m", time: secondsText(second * 1000) }))
      const object = observed({})
      const json = JSON.stringify(fields, undefined, space)
      const bytes = Buffer.from(json)
      const scanned = { ...object.scanned, managedFieldsStart: 0, managedFieldsEnd: bytes.length }
      const last = lastWrittenMs({ ...object, bytes, start: 0, end: bytes.length, scanned })
      expect(last).toBe(Math.max(...seconds) * 1000)
    }),
  )
})

test("no bytes make it throw", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      const bytes = Buffer.from(`{"deletionTimestamp":"${text}","deletionGracePeriodSeconds":${text}}`)
      const { scanned } = observed({})
      const object = { ...observed({}), bytes, start: 0, end: bytes.length, scanned }
      const last = lastWrittenMs(object)
      expect(last === undefined || Number.isFinite(last)).toBe(true)
    }),
  )
})
