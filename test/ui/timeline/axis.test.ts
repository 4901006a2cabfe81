import { expect, test } from "vitest"
import { ticksOf } from "../../../src/ui/timeline/axis.ts"

const second = 1_000_000
const start = Date.parse("2026-11-29T15:41:00Z") * 1000

test("a mark whose label would be cut by the end of the axis has none", () => {
  const labels = (until: number) =>
    ticksOf({ from: start, to: start + until * second }, 800, { isUtc: true }).map(({ label }) => label)
  expect(labels(10.3)).toEqual(["15:41:00", "15:41:02", "15:41:04", "15:41:06", "15:41:08", ""])
  expect(labels(11)).toEqual(["15:41:00", "15:41:02", "15:41:04", "15:41:06", "15:41:08", "15:41:10"])
})
