/** Two traces: equal ones have no differences, and a known edit is found, and nothing else. */
import fc from "fast-check"
import { expect, test } from "vitest"
import {
  type ComparedTrace,
  compareTraces,
  type TraceComparison,
  type TraceComparisonOptions,
} from "../../../src/trace/comparison/compare-traces.ts"
import type { ObjectEvent } from "../../../src/trace/event.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"

/** µs since the Unix epoch. */
const start = 1_700_000_000_000_000

/** A state of an object. No two states of a trace are equal, so that every event is a change. */
interface Step {
  readonly object: number
  /** µs after the start. */
  readonly time: number
  /** `undefined`: deleted. */
  readonly value: number | undefined
}

const nameOf = (object: number): string => `object-${object}`

const eventOf = ({ object, time, value }: Step, uid = "one"): ObjectEvent => ({
  ...{ type: "object", sequence: 0, time: start + time, gvk: "v1.ConfigMap", namespace: "shop", name: nameOf(object) },
  ...{ action: value === undefined ? "deleted" : "applied", uid: `${uid}-${object}`, resourceVersion: "1" },
  object: Buffer.from(
    JSON.stringify({
      metadata: { uid: `${uid}-${object}`, name: nameOf(object), namespace: "shop", resourceVersion: uid },
      data: { value },
      status: { seen: uid },
    }),
  ),
})

/** Items in chunks of three, as a decoder gives them. `shift`: µs by which the whole trace is later. */
const traceOf = (steps: ReadonlyArray<Step>, uid?: string, shift = 0): ComparedTrace => ({
  open: async () => {
    const window = { start: start + shift, end: start + shift + 1_000_000_000 }
    const items: TraceItem[] = [
      { type: "header", window, cut: 1, kinds: [], incomplete: [] },
      ...steps
        .toSorted((one, other) => one.time - other.time)
        .map((step): TraceItem => {
          const event = eventOf(step, uid)
          return { type: "event", isSnapshot: false, event: { ...event, time: event.time + shift } }
        }),
    ]
    return chunks(items)
  },
})

async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<Iterable<TraceItem>, void> {
  for (let at = 0; at < items.length; at += 3) yield items.slice(at, at + 3)
}

const compare = (
  one: ComparedTrace,
  other: ComparedTrace,
  options: Partial<TraceComparisonOptions> = {},
): Promise<TraceComparison> => compareTraces(one, other, { fields: "replayed", tolerance: 0, ...options })

/** Up to eight objects with up to six states each, of which some are deleted at the end. */
const anySteps: fc.Arbitrary<ReadonlyArray<Step>> = fc
  .array(
    fc.record({
      times: fc.uniqueArray(fc.integer({ min: 0, max: 900_000_000 }), { minLength: 1, maxLength: 6 }),
      isDeleted: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((objects) =>
    objects.flatMap(({ times, isDeleted }, object) =>
      times
        .toSorted((one, other) => one - other)
        .map((time, index) => ({
          ...{ object, time },
          value: isDeleted && index > 0 && index === times.length - 1 ? undefined : 100 * object + index,
        })),
    ),
  )

/** What a comparison found, without what all comparisons have. */
const found = ({ onlyInFirst, onlyInSecond, changed, changes, times }: TraceComparison) => ({
  ...{ onlyInFirst, onlyInSecond, changed, changes },
  ...{ earlier: times.earlier, later: times.later },
})

const nothing = { onlyInFirst: [], onlyInSecond: [], changed: [], changes: [], earlier: 0, later: 0 }
const named = (object: number) => ({ gvk: "v1.ConfigMap", namespace: "shop", name: nameOf(object) })

test("a trace does not differ from itself, with all fields too", async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, fc.constantFrom("replayed" as const, "all" as const), async (steps, fields) => {
      const comparison = await compare(traceOf(steps), traceOf(steps), { fields })
      expect(found(comparison)).toEqual(nothing)
      expect([comparison.isSame, comparison.times.maximum, comparison.times.pairs]).toEqual([true, 0, steps.length])
    }),
  )
})

test("another cluster at another time, with other UIDs, versions and status, does not differ", async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, fc.integer({ min: 0, max: 10 ** 15 }), async (steps, shift) => {
      expect(found(await compare(traceOf(steps), traceOf(steps, "two", shift)))).toEqual(nothing)
    }),
  )
  const steps = [{ object: 0, time: 0, value: 1 }]
  const whole = await compare(traceOf(steps), traceOf(steps, "two"), { fields: "all" })
  expect(whole.changed[0]?.differences?.map(({ path }) => path)).toEqual([
    ...["metadata.resourceVersion", "metadata.uid", "status.seen"],
  ])
})

const edits = ["drop object", "add object", "drop event", "change state", "shift time"] as const

test("a known edit is found, and nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, fc.constantFrom(...edits), fc.nat(), async (steps, edit, choice) => {
      const place = choice % steps.length
      const step = steps[place] as Step
      const own = steps.filter(({ object }) => object === step.object)
      const others = steps.filter((each) => each !== step)
      const isLast = own.at(-1) === step
      const isEndDeleted = own.at(-1)?.value === undefined
      const before = own[own.indexOf(step) - 1]
      const after = async (edited: ReadonlyArray<Step>) => found(await compare(traceOf(steps), traceOf(edited)))
      const lost = { object: named(step.object), onlyInFirst: [step.time], onlyInSecond: [] as number[] }
      switch (edit) {
        case "drop object":
          expect(await after(steps.filter(({ object }) => object !== step.object))).toEqual({
            ...{ ...nothing, onlyInFirst: [named(step.object)] },
          })
          return
        case "add object":
          expect(await after([...steps, { object: 99, time: step.time, value: 1 }])).toEqual({
            ...{ ...nothing, onlyInSecond: [named(99)] },
          })
          return
        case "drop event": {
          if (own.length === 1) return
          const dropped = await after(others)
          expect(dropped.changes).toEqual([lost])
          const end = { path: "data.value", before: step.value, after: before?.value }
          const changed = isEndDeleted
            ? { object: named(step.object), type: "created" }
            : { object: named(step.object), type: "changed", differences: [end] }
          expect(dropped).toEqual({ ...nothing, changes: [lost], changed: isLast ? [changed] : [] })
          return
        }
        case "change state": {
          if (step.value === undefined) return
          const edited = await after([...others, { ...step, value: 5000 }])
          const end = { path: "data.value", before: step.value, after: 5000 }
          expect(edited).toEqual({
            ...nothing,
            changes: [{ ...lost, onlyInSecond: [step.time] }],
            changed: isLast ? [{ object: named(step.object), type: "changed", differences: [end] }] : [],
          })
          return
        }
        case "shift time": {
          // Not beyond the next state of the object, which would be another order.
          const next = own[own.indexOf(step) + 1]?.time ?? 999_000_000
          const shift = Math.floor((next - step.time) / 2)
          if (shift === 0) return
          const moved = await compare(traceOf(steps), traceOf([...others, { ...step, time: step.time + shift }]))
          expect(found(moved)).toEqual({ ...nothing, later: 1 })
          expect(moved.times.largest).toEqual([{ object: named(step.object), offset: step.time, shift }])
          return
        }
      }
    }),
    { numRuns: 300 },
  )
})

test("an event that changes nothing that is compared is no change", async () => {
  const steps = [
    { object: 0, time: 0, value: 1 },
    { object: 0, time: 10, value: 1 },
    { object: 0, time: 20, value: 2 },
  ]
  const comparison = await compare(traceOf(steps), traceOf(steps.filter(({ time }) => time !== 10)))
  expect(comparison.isSame).toBe(true)
  expect(comparison.traces.map(({ events, changes }) => [events, changes])).toEqual([
    [3, 2],
    [2, 2],
  ])
})

/** A trace with one state of an object. */
const written = (text: string): ComparedTrace => ({
  open: async () =>
    chunks([
      {
        ...{ type: "event", isSnapshot: false },
        event: { ...eventOf({ object: 0, time: 0, value: 1 }), object: Buffer.from(text) },
      },
    ]),
})

test.each(["all", "replayed"] as const)(
  "objects without end of nesting are compared too, as their text: %s",
  async (fields) => {
    const deep = (value: number) => written(`{"spec":${'{"a":'.repeat(4000)}${value}${"}".repeat(4001)}`)
    expect((await compare(deep(1), deep(1), { fields })).isSame).toBe(true)
    expect((await compare(deep(1), deep(2), { fields })).changed).toMatchObject([{ type: "changed" }])
  },
)

test("the order of keys and the way a number is written do not count; the order of a list does, and is said", async () => {
  const one = written('{"spec":{"ports":[{"name":"a","port":1},{"name":"b","port":2}],"n":1.0}}')
  expect(
    (await compare(one, written('{"spec":{"n":1,"ports":[{"port":1,"name":"a"},{"name":"b","port":2}]}}'))).isSame,
  ).toBe(true)
  const reordered = await compare(
    one,
    written('{"spec":{"ports":[{"name":"b","port":2},{"name":"a","port":1}],"n":1}}'),
  )
  expect(reordered.changed).toMatchObject([{ type: "changed", differences: [] }])
})

test("times within the tolerance are the same, and the distribution is that of all", async () => {
  const steps = Array.from({ length: 100 }, (_, index) => ({ object: index, time: 1000 * index, value: index }))
  const moved = steps.map((step) => ({ ...step, time: step.time + step.object }))
  const { times, isSame } = await compare(traceOf(steps), traceOf(moved), { tolerance: 97 })
  expect(times).toMatchObject({
    pairs: 100,
    earlier: 0,
    later: 2,
    median: 49,
    percentile90: 89,
    percentile99: 98,
    maximum: 99,
  })
  expect([times.largest.map(({ shift }) => shift), isSame]).toEqual([[99, 98], false])
})

test("an object that is deleted in one trace only, and one of which the other has a deletion only", async () => {
  const whole = [{ object: 0, time: 0, value: 1 }]
  const deleted = [...whole, { object: 0, time: 5, value: undefined }]
  expect(found(await compare(traceOf(whole), traceOf(deleted)))).toMatchObject({
    changed: [{ type: "deleted" }],
    changes: [{ onlyInFirst: [], onlyInSecond: [5] }],
  })
  expect((await compare(traceOf(deleted.slice(1)), traceOf(whole))).changed).toMatchObject([{ type: "created" }])
})
