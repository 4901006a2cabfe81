/** Recordings of parts of a time are one past: at each moment the state of the whole, or what was known last, and changes that lead from one to the other. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { JoinedPast, type Past, type PastChange } from "../../../src/serve/index.ts"
import { at, pastOf, type Step } from "../trace-items.ts"

const gvk = "v1.ConfigMap"

const anySteps: fc.Arbitrary<ReadonlyArray<Step>> = fc
  .array(
    fc.record({ minutes: fc.integer({ min: 1, max: 59 }), name: fc.constantFrom("a", "b", "c"), gone: fc.boolean() }),
    {
      maxLength: 25,
    },
  )
  .map((steps) => {
    const alive = new Map<string, string>()
    return steps
      .toSorted((one, other) => one.minutes - other.minutes)
      .map(({ minutes, name, gone }, index): Step => {
        const uid = alive.get(name) ?? `uid-${name}-${index}`
        const isDeletion = gone && alive.has(name)
        if (isDeletion) alive.delete(name)
        else alive.set(name, uid)
        return { minutes, gvk, name, uid, version: index + 1, action: isDeletion ? "deleted" : "applied" }
      })
  })

/** Of a plain list: by name, UID and version of what exists after everything up to a minute. */
const stateOf = (steps: ReadonlyArray<Step>, minutes: number): ReadonlyMap<string, string> => {
  const alive = new Map<string, string>()
  for (const { name, uid, version, action } of steps.filter((step) => step.minutes <= minutes))
    if (action === "deleted") alive.delete(name)
    else alive.set(name, `${uid}@${version}`)
  return alive
}

/** A recording that begins with the state at a minute and ends at another. */
const recordingOf = (steps: ReadonlyArray<Step>, from: number, to: number): Promise<Past> =>
  pastOf({
    steps: [
      ...[...stateOf(steps, from)].map(([name, text]): Step => {
        const [uid = "", version = ""] = text.split("@")
        return { minutes: -1, gvk, name, uid, version }
      }),
      ...steps.filter(({ minutes }) => minutes > from && minutes <= to),
    ],
    header: { window: { start: at(from), end: at(to) + 1 }, kinds: [gvk] },
  })

const folded = async (batches: AsyncIterable<ReadonlyArray<PastChange>>, state = new Map<string, string>()) => {
  for await (const batch of batches)
    for (const { action, name, uid, version } of batch)
      if (action === "applied") state.set(name, `${uid}@${version}`)
      else state.delete(name)
  return state
}

test("states and changes of any two recordings of one history, with a time between them or one that both have", async () => {
  await fc.assert(
    fc.asyncProperty(
      anySteps,
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 59 }),
      fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 2, maxLength: 6 }),
      async (steps, firstEnds, secondBegins, minutes) => {
        const parts = [await recordingOf(steps, 0, firstEnds), await recordingOf(steps, secondBegins, 60)]
        const joined = new JoinedPast(parts)
        try {
          const expected = (minute: number) =>
            stateOf(steps, minute <= firstEnds || minute >= secondBegins ? minute : firstEnds)
          expect([joined.begin, joined.end]).toEqual([at(0), at(60)])
          const moments = minutes.toSorted((one, other) => one - other)
          for (const minute of moments) {
            expect(await folded(joined.stateAt(gvk, at(minute)))).toEqual(expected(minute))
            const { gaps } = await joined.shortcomings(gvk, at(minute))
            const isUnknown = minute > firstEnds && minute < secondBegins
            expect(gaps.map(({ reason, fromTime, toTime }) => [reason, fromTime, toTime])).toEqual(
              isUnknown ? [["stopped", at(firstEnds), at(secondBegins)]] : [],
            )
          }
          for (const [index, through] of moments.slice(1).entries()) {
            const after = moments[index] as number
            const state = await folded(joined.changes(gvk, at(after), at(through)), new Map(expected(after)))
            expect(state).toEqual(expected(through))
          }
        } finally {
          joined.close()
        }
      },
    ),
    { numRuns: 150 },
  )
})

test("kinds of all recordings are there, each since it was known first", async () => {
  const one = await pastOf({ steps: [{ minutes: -1, gvk: "v1.Pod", name: "a", version: 1 }] })
  const other = await recordingOf([{ minutes: 5, gvk, name: "b", version: 2 }], 3, 60)
  const joined = new JoinedPast([one, other])
  expect(joined.kinds.map((kind) => [kind.gvk, kind.since])).toEqual([
    ["v1.Pod", at(0)],
    [gvk, at(3)],
  ])
  expect(await folded(joined.stateAt("v1.Pod", at(10)))).toEqual(new Map([["a", "uid-a@1"]]))
  expect(await folded(joined.stateAt("v1.Secret", at(10)))).toEqual(new Map())
  expect(joined.name).toBe("morning.ndjson, morning.ndjson")
  joined.close()
})
