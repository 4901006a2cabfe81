/** What the page weighs: it is loaded by people who look for the cause of an incident, through a proxy perhaps, and is in every exported file. */

import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { builtPage } from "../../src/page/index.ts"

test("the page's script and style are 60 kB at most, compressed, without what a plot needs", () => {
  const { script, style } = builtPage()
  expect(script).not.toContain("sourceMappingURL")
  expect(gzipSync(script).length + gzipSync(style).length).toBeLessThan(60_000)
})
