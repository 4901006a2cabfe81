import { expect, test } from "vitest"
import { findCondition, isConditionTrue, removeCondition, setCondition } from "../../../../src/host/controllers.ts"

const early = "2026-01-01T00:00:00Z"
const late = "2026-01-02T00:00:00Z"
const ready = { type: "Ready", status: "True", reason: "AllGood", message: "fine", observedGeneration: 1 } as const

test("A new condition is appended with the time of now", () => {
  const conditions = setCondition([{ type: "Other", status: "False" }], ready, early)
  expect(conditions).toEqual([
    { type: "Other", status: "False" },
    { ...ready, lastTransitionTime: early },
  ])
  expect(isConditionTrue(conditions, "Ready")).toBe(true)
  expect(isConditionTrue(conditions, "Other")).toBe(false)
})

test("lastTransitionTime moves with the status, and with nothing else; the place in the list stays", () => {
  const before = setCondition(setCondition(undefined, ready, early), { ...ready, type: "Second" }, early)
  const reworded = setCondition(
    before,
    { ...ready, reason: "StillGood", message: "better", observedGeneration: 2 },
    late,
  )
  expect(reworded[0]).toEqual({
    ...ready,
    reason: "StillGood",
    message: "better",
    observedGeneration: 2,
    lastTransitionTime: early,
  })
  const failed = setCondition(reworded, { ...ready, status: "False", reason: "Broken" }, late)
  expect(failed[0]).toMatchObject({ status: "False", reason: "Broken", lastTransitionTime: late })
  expect(failed.map(({ type }) => type)).toEqual(["Ready", "Second"])
})

test("a condition that is so already leaves the very same list, so that no status is written", () => {
  const before = setCondition(undefined, ready, early)
  expect(setCondition(before, ready, late)).toBe(before)
  expect(setCondition(before, { ...ready, observedGeneration: 2 }, late)).not.toBe(before)
  expect(removeCondition(before, "Absent")).toBe(before)
  expect(findCondition(removeCondition(before, "Ready"), "Ready")).toBeUndefined()
})
