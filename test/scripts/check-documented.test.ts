import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { undocumented, undocumentedIn } from "../../scripts/check-documented.ts"

describe("an export", () => {
  test.each([
    "const limit = 5",
    "class Clock {",
    "abstract class Clock {",
    "interface Options {",
    "type Speed = number",
    "async function run() {",
  ])("%s needs a comment of its own", (declaration) => {
    const exported = `export ${declaration}`
    expect(undocumentedIn(`/** The module. */\nimport "x"\n\n${exported}`)).toEqual([expect.stringMatching(/^4 \w+$/)])
    expect(undocumentedIn(`/** The module. */\n\n${exported}`)).toHaveLength(1)
    expect(undocumentedIn(`/** What it is. */\n${exported}`)).toEqual([])
    expect(undocumentedIn(`/**\n * What it is.\n */\n${exported}`)).toEqual([])
    expect(undocumentedIn(`// Not for editors.\n${exported}`)).toHaveLength(1)
    expect(undocumentedIn(declaration)).toEqual([])
  })
})

test("files of the rooms that have comments everywhere are read, and no others", () => {
  const root = mkdtempSync(join(tmpdir(), "documented-"))
  try {
    for (const folder of ["src/simulation/pods", "src/cli"]) {
      mkdirSync(join(root, folder), { recursive: true })
      writeFileSync(join(root, folder, "limits.ts"), "export const limit = 5\n")
    }
    expect(undocumented(root)).toEqual(["src/simulation/pods/limits.ts:1 limit"])
  } finally {
    rmSync(root, { recursive: true })
  }
})
