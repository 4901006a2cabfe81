/** What the page weighs: it is loaded by people who look for the cause of an incident, through a proxy perhaps, and is in every exported file. */

import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { builtFile } from "../../src/page/built-page.ts"
import { builtPage } from "../../src/page/index.ts"

const weightOf = (name: "page.js" | "file.js" | "page.css"): number => gzipSync(builtFile(name) ?? "").length

test("the page's script and style are 60 kB at most, compressed, without what a plot needs", () => {
  expect(builtPage().script).not.toContain("sourceMappingURL")
  for (const script of ["page.js", "file.js"] as const) {
    expect(weightOf(script)).toBeGreaterThan(20_000)
    expect(weightOf(script) + weightOf("page.css")).toBeLessThan(60_000)
  }
})
