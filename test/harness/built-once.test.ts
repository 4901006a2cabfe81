import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { buildOnce, textsBelow } from "./built-once.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

test("what is built from the same sources is built once, and each has a file of its own", () => {
  const directory = temporaryDirectory()
  let builds = 0
  const build = (name: string, source: string): string => {
    const output = join(directory, name)
    buildOnce(["a test of built-once", directory, source], output, (path) =>
      writeFileSync(path, `${source} ${++builds}`),
    )
    return output
  }
  const first = build("first", "a")
  writeFileSync(first, "changed")
  expect(readFileSync(build("second", "a"), "utf8")).toBe("a 1")
  expect(readFileSync(build("third", "b"), "utf8")).toBe("b 2")
})

test("a build that fails is repeated by the next", () => {
  const output = join(temporaryDirectory(), "output")
  const fail = () => {
    throw new Error("it does not compile")
  }
  expect(() => buildOnce([output], output, fail)).toThrow("it does not compile")
  buildOnce([output], output, (path) => writeFileSync(path, "built"))
  expect(readFileSync(output, "utf8")).toBe("built")
})

test("another text or name of a file below a folder makes other sources", () => {
  const folder = temporaryDirectory()
  mkdirSync(join(folder, "below"))
  const path = join(folder, "below/a.ts")
  writeFileSync(path, "1")
  const before = textsBelow(folder)
  writeFileSync(path, "2")
  expect(before).toEqual([path, "1"])
  expect(textsBelow(folder)).toEqual([path, "2"])
})
