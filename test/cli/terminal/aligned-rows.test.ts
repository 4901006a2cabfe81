import { expect, test } from "vitest"
import { alignedRows } from "../../../src/cli/terminal/display-width.ts"

test("columns are as wide as their widest cell on a terminal, and lines have no spaces at the end", () => {
  expect(
    alignedRows([
      ["A", "B", "C"],
      ["節点", "b", ""],
      ["x", "longer", "c"],
    ]),
  ).toEqual(["A      B        C", "節点   b", "x      longer   c"])
  expect(alignedRows([])).toEqual([])
})
