import { describe, expect, test } from "vitest"
import { circles, totalsOf, unusedExports } from "../../scripts/house.ts"
import { count } from "../../scripts/sources.ts"

const lines = (...texts: ReadonlyArray<string>): string => `${texts.join("\n")}\n`

describe("one file", () => {
  test("has lines of code, comment and neither", () => {
    const text = lines("/**", " * A clock.", " */", "const now = 1 // of today", "", "// Why.", "/* One. */", "now")
    expect(count("src/clock.ts", text)).toMatchObject({ code: 2, comment: 5, blank: 1 })
  })

  test("has casts, and `as const` is none", () => {
    const text = lines("const a = {} as unknown as string", "const b = [1] as const", "const c = <number>(a as any)")
    expect(count("src/a.ts", text).casts).toBe(3)
  })

  test("has functions, with their lengths and parameters, methods and arrows included", () => {
    const text = lines(
      "class A {",
      "  run(a, b) {",
      "    return () => 1",
      "  }",
      "}",
      "export function f(",
      "  a,",
      ") {}",
    )
    const { functionLengths, parameterCounts } = count("src/a.ts", text)
    expect([functionLengths, parameterCounts]).toEqual([
      [3, 1, 3],
      [2, 0, 1],
    ])
  })

  test("counts characters beyond ASCII as the parser does", () => {
    const text = lines("// µs — “time” 🎞️", "const f = () => {", "  return 1", "}")
    expect(count("src/a.ts", text).functionLengths).toEqual([3])
  })

  test("that is no TypeScript is an error", () => {
    expect(() => count("src/a.ts", "const = 1")).toThrow()
  })
})

describe("of several files", () => {
  const files = [
    count(
      "src/kube/gvk.ts",
      'import { used } from "./names/one.ts"\nexport const gvk = used\nexport const { a, b } = {}',
    ),
    count("src/kube/names/one.ts", 'import type { A } from "../a.ts"\nexport const used = 1\nexport const idle = 2'),
    count("src/kube/a.ts", "export interface A {}\nexport class Lonely {}\nconst c = 1\nexport { c as see }"),
    count("src/cli/run.ts", 'export const run = () => import("../kube/gvk.ts")'),
    count("test/kube/a.test.ts", 'export { see } from "../../src/kube/a.ts"\nexport const idle = 1'),
  ]

  test("an export that no other file imports is named, and all of a module that is imported as a whole are used", () => {
    expect(unusedExports(files)).toEqual(["src/kube/names/one.ts idle", "src/kube/a.ts Lonely", "src/cli/run.ts run"])
  })

  test("folders of a room that import each other are a circle, and those of two rooms are not", () => {
    expect(circles(files)).toEqual([["src/kube", "src/kube/names"]])
    expect(
      circles([count("src/a/x/one.ts", 'import "../../b/two.ts"'), count("src/b/two.ts", 'import "../a/x/one.ts"')]),
    ).toEqual([])
  })

  test("a door passes on what is used, is in no circle, and tests of other rooms should import nothing else", () => {
    const house = [
      count("src/kube/index.ts", 'export { a } from "./names/a.ts"\nexport { idle } from "./b.ts"'),
      count("src/kube/names/a.ts", 'import { b } from "../b.ts"\nexport const a = b'),
      count("src/kube/b.ts", "export const b = 1\nexport const idle = 2"),
      count("test/kube/a.test.ts", 'import { b } from "../../src/kube/b.ts"'),
      count(
        "test/trace/a.test.ts",
        'import { b } from "../../src/kube/b.ts"\nimport { a } from "../../src/kube/index.ts"',
      ),
    ]
    expect(unusedExports(house)).toEqual(["src/kube/index.ts idle"])
    expect(circles(house)).toEqual([])
    expect(totalsOf(house)["imports of tests past a door"]).toBe(1)
  })

  test("totals are those of src, and the lines of test", () => {
    expect(totalsOf(files)).toMatchObject({
      lines: 11,
      files: 4,
      "largest file": 4,
      "folders in circles": 2,
      "exports that no file imports": 3,
      "lines of test": 2,
    })
  })
})
