/** A server that sends lines without end to one kind, while another kind is watched as usual. */
import { expect, test } from "vitest"
import { LineBudget } from "../../../src/kube/scanner/line-splitter.ts"
import { eventually } from "../../harness/eventually.ts"
import { holding, watchedSandboxes } from "./watched-sandbox.ts"

const { watching } = watchedSandboxes()
const mebibyte = 1024 * 1024

test("a kind whose lines never end is failing with the reason, and tries again; the others notice nothing", async () => {
  const memory = LineBudget.memory()
  const budget = (slot: number): LineBudget => new LineBudget(memory, slot, 2 * mebibyte)
  const offender = await watching({ before: holding("a"), lineBudget: budget(0) })
  const other = await watching({ before: holding("b"), lineBudget: budget(1) })
  offender.sandbox.faults.garbage("configmaps", `{"type":"ADDED","object":{"data":"${"x".repeat(12 * mebibyte)}`)
  const large = other.put("b", { text: "y".repeat(mebibyte) })
  await eventually(() => expect(offender.isWaiting).toBe(true))
  await eventually(() => expect(other.notebook.events).toEqual([`applied ${large}`]))
  const reason = /bytes without the end of a line or a list item, and no memory is left for large lines of all kinds/
  expect(offender.notebook.of("state").at(-1)).toMatch(reason)
  expect(offender.notebook.state).toBe("failing")
  expect(offender.session.statistics.malformedLines).toBe(1)
  expect(new Int32Array(memory).every((taken) => taken === 0)).toBe(true)
  await offender.passes()
  await offender.isWatching()
  const change = offender.put("a")
  await offender.caughtUp()
  expect(offender.notebook.events).toEqual([`applied ${change}`])
  expect(other.notebook.of("state")).toEqual(["listing: first list", "watching: from version 1003"])
})
