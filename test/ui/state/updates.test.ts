/** The page as a state machine: whatever happens in whatever order, what is shown makes sense. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { rowCount } from "../../../src/ui/state/rows.ts"
import { firstState, type PageState, shortestWindow } from "../../../src/ui/state/state.ts"
import { type Input, updated } from "../../../src/ui/state/updates.ts"

const from = 1_700_000_000_000_000
const span = { from, to: from + 3600e6 }
const object = { gvk: "v1.Pod", namespace: "shop", name: "web", uid: "1" }
const overview = { name: "demo", kinds: [], span, lacks: [] }
const keys =
  "ArrowDown ArrowUp ArrowLeft ArrowRight PageDown PageUp Home End Enter Escape + - < > , . [ ] 0 f F n N c d p w ? constructor"

const share = fc.double({ min: -2, max: 2, noNaN: true })
const time = fc.integer({ min: from - 1e9, max: from + 5e9 })
const parent = fc.constantFrom("", "namespace/a", "namespace/b", "a.1")
const lane = fc.record({
  id: fc.constantFrom("namespace/a", "namespace/b", "a.1", "a.2", "b.1"),
  type: fc.constantFrom("namespace", "object", "owner"),
  object: fc.constant(object),
  children: fc.nat({ max: 3 }),
  objects: fc.nat({ max: 9 }),
})

const input: fc.Arbitrary<Input> = fc.oneof(
  fc.record({ type: fc.constant("key"), key: fc.constantFrom(...keys.split(" ")), isShifted: fc.boolean() }),
  fc.record({ type: fc.constant("overview"), overview: fc.boolean().map((isLive) => ({ ...overview, isLive })) }),
  fc.record({
    ...{ type: fc.constant("lanes"), parent, span: fc.constant(span), offset: fc.nat({ max: 4 }) },
    page: fc.record({
      total: fc.nat({ max: 9 }),
      lanes: fc.uniqueArray(lane, { selector: ({ id }) => id, maxLength: 3 }),
    }),
  }),
  fc.record({ type: fc.constant("zoomed"), factor: fc.double({ min: 0.01, max: 100, noNaN: true }), at: share }),
  fc.record({ type: fc.constant("panned"), by: share }),
  fc.record({ type: fc.constant("scrolled"), top: fc.integer({ min: -5, max: 50 }) }),
  fc.record({ type: fc.constant("resized"), rows: fc.integer({ min: -1, max: 30 }), width: fc.nat({ max: 4000 }) }),
  fc.record({ type: fc.constant("pressed"), row: fc.nat({ max: 30 }), time, isOther: fc.boolean() }),
  fc.record({ type: fc.constant("toggled"), row: fc.nat({ max: 30 }) }),
  fc.record({ type: fc.constant("opened"), object: fc.constant(object), time }),
  fc.record({ type: fc.constant("followed"), isFollowing: fc.boolean() }),
  fc.record({ type: fc.constant("settled") }),
)

const expectSense = (state: PageState): void => {
  const { window, top, rows, width, overview: known, settled, isFollowing } = state
  expect(window.from).toBeLessThan(window.to)
  expect(rows).toBeGreaterThan(0)
  expect(width).toBeGreaterThan(0)
  expect(top).toBeGreaterThanOrEqual(0)
  expect(top).toBeLessThanOrEqual(Math.max(0, rowCount(state) - 1))
  if (known === undefined) return
  expect(window.to - window.from).toBeGreaterThanOrEqual(shortestWindow)
  if (isFollowing) expect([window, window.to]).toEqual([settled, known.span.to])
}

test("no order of inputs throws or shows what makes no sense", () => {
  fc.assert(
    fc.property(fc.array(input, { maxLength: 60 }), (inputs) => {
      let state = updated(firstState, { type: "overview", overview: { ...overview, isLive: false } })
      for (const each of inputs) {
        state = updated(state, each)
        expectSense(state)
      }
    }),
    { numRuns: 300 },
  )
})

test("a window that is moved or enlarged stays with the recording", () => {
  let state = updated(firstState, { type: "overview", overview: { ...overview, isLive: false } })
  for (let step = 0; step < 40; step++) state = updated(state, { type: "panned", by: 1 })
  expect(state.window.to).toBeLessThanOrEqual(span.to + (state.window.to - state.window.from) / 10 + 1)
  for (let step = 0; step < 40; step++) state = updated(state, { type: "zoomed", factor: 3, at: 0.5 })
  expect(state.window.to - state.window.from).toBeLessThanOrEqual((span.to - span.from) * 1.1 + 1)
})

test("the window of a recording that has just begun keeps its beginning, up to a quarter of an hour", () => {
  const after = (seconds: number) => ({ ...overview, span: { from, to: from + seconds * 1e6 }, isLive: true })
  let state = updated(firstState, { type: "overview", overview: after(3) })
  const lengths = new Set<number>()
  for (let seconds = 3; seconds < 1800; seconds++) {
    state = updated(state, { type: "overview", overview: after(seconds) })
    lengths.add((state.window.to - state.window.from) / 60e6)
    if (seconds <= 900) expect(state.window.from).toBeLessThanOrEqual(from)
  }
  expect([...lengths]).toEqual([1, 2, 4, 8, 15])
})

test("another cluster has the moment, the window and the filter, and nothing of what the one before answered", () => {
  const object = { gvk: "v1.Pod", namespace: "shop", name: "web", uid: "p-1" }
  const quiet = { ...overview, isLive: false }
  const inputs: ReadonlyArray<Input> = [
    { type: "cluster", cluster: "a", isDefault: true },
    { type: "overview", overview: quiet },
    { type: "window", span: { from: from + 1e6, to: from + 5e6 } },
    { type: "filtered", filter: { namespace: "shop" } },
    { type: "opened", object, time: from + 2e6, lane: "1.1" },
  ]
  const before = inputs.reduce(updated, firstState)
  const after = updated(before, { type: "cluster", cluster: "b", isDefault: false })
  const { window, filter, cursor, pane } = before
  expect(after).toMatchObject({ cluster: "b", window, settled: window, filter, cursor, pane })
  expect(after.selection).toEqual({ object: { ...object, uid: "" } })
  expect([after.overview, after.lists.size, after.tiles.size]).toEqual([undefined, 0, 0])
  const late: Input = { type: "overview", overview: quiet }
  expect(updated(after, { type: "answered", cluster: "a", answer: late })).toBe(after)
  expect(updated(after, { type: "answered", cluster: "b", answer: late }).overview).toBe(quiet)
  expect(updated(after, { type: "cluster", cluster: "c", isDefault: true })).toBe(after)
  expect(updated(after, { type: "link", link: "#cluster=c&find=x" })).toMatchObject({
    cluster: "c",
    filter: { find: "x" },
  })
})
