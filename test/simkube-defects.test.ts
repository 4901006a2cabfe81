/**
 * SimKube 2.7's defects in tracing and exporting that none of our exports may have: each is guarded by a test that is named after it,
 * and the table in docs/reference/testing.md says where.
 */
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))

/** What concerns an export; the others are those of replaying. */
const guarded = [1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 19, 23, 24, 33, 34].map(
  (number) => `W-${String(number).padStart(2, "0")}`,
)

/** Titles of tests and of their groups, with the file that has them. */
const titles = globSync("test/**/*.test.ts", { cwd: root }).flatMap((file) =>
  [...readFileSync(`${root}/${file}`, "utf8").matchAll(/["'`]([^"'`\n]*\bW-\d\d\b[^"'`\n]*)["'`]/g)].map(
    ([, title = ""]) => ({ file, title }),
  ),
)

/** Rows of the table: number → files. */
const rows = new Map(
  [...readFileSync(`${root}/docs/reference/testing.md`, "utf8").matchAll(/^\| (W-\d\d) \|.*\| ([^|]*) \|$/gm)].map(
    ([, defect = "", files = ""]) => [defect, [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file)] as const,
  ),
)

describe.each(guarded)("%s", (defect) => {
  test("has a test with its number in every file that the table names", () => {
    const files = new Set(titles.filter(({ title }) => title.includes(defect)).map(({ file }) => file))
    const named = rows.get(defect) ?? []
    expect(named).not.toEqual([])
    expect(named.filter((file) => !files.has(file))).toEqual([])
  })
})

test("the table contains no other defects", () => {
  expect([...rows.keys()].sort()).toEqual(guarded)
})
