import { execFile } from "node:child_process"
import { access, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { build, describeReport } from "../../scripts/build.ts"

const run = promisify(execFile)
const project = fileURLToPath(new URL("../..", import.meta.url))

test("every bundle of this project builds", async () => {
  const report = await build()
  expect(report.failed).toEqual([])
})

describe("a small project", () => {
  let root = ""

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "kubereel-build-"))
    await symlink(join(project, "node_modules"), join(root, "node_modules"))
    await write("package.json", JSON.stringify({ exports: { ".": {}, "./trace": {} } }))
    await write("src/kube/gvk.ts", `export const kind = (text: string): string => "kind " + text\n`)
    await write("src/actors/entries/one.ts", `import { kind } from "../../kube/gvk.ts"\nconsole.log(kind("one"))\n`)
    await write(
      "src/host/entries/two.ts",
      `import * as Option from "effect/Option"\nconsole.log(Option.some(2).value)\n`,
    )
    await write("test/runtime/workers/toy.ts", `console.log("toy")\n`)
    await write("src/cli/main.ts", `console.log("reel", process.argv.slice(2).join(" "))\n`)
    await write("src/library/trace.ts", `export { kind } from "../kube/gvk.ts"\n`)
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), text)
  }
  const output = async (name: string): Promise<string> =>
    (await run(process.execPath, [join(root, "dist", `${name}.js`)])).stdout.trim()
  const partsOf = async (): Promise<ReadonlyArray<string>> =>
    (await readdir(join(root, "dist"))).filter((name) => /^part-.*\.js$/.test(name)).sort()
  const exists = (file: string): Promise<boolean> =>
    access(join(root, file)).then(
      () => true,
      () => false,
    )

  test("becomes one file per entry point that needs nothing beside it", async () => {
    const report = await build(root)
    expect([...report.built].sort()).toEqual(["cli", "lib/trace", "test-workers/toy", "workers/one", "workers/two"])
    expect(report.absent).toEqual(["."])
    await rm(join(root, "node_modules"))
    await rm(join(root, "src"), { recursive: true })
    expect(await output("workers/one")).toBe("kind one")
    expect(await output("workers/two")).toBe("2")
    expect(await output("test-workers/toy")).toBe("toy")
  })

  test("keeps a source map beside each bundle", async () => {
    await build(root)
    const map = JSON.parse(await readFile(join(root, "dist/workers/one.js.map"), "utf8")) as { sources: string[] }
    expect(map.sources).toContain("../../src/kube/gvk.ts")
    expect(await readFile(join(root, "dist/workers/one.js"), "utf8")).toMatch(/\/\/# sourceMappingURL=one\.js\.map\n$/)
  })

  test("has one byte a character, and a map that still finds what comes after an escaped one", async () => {
    await write(
      "src/actors/entries/one.ts",
      `const said = ["…", "\u{1f3a5}", /[x…]/u.test("…")].join()\nconsole.log(said, new Error("here").stack)\n`,
    )
    await build(root)
    const code = await readFile(join(root, "dist/workers/one.js"), "latin1")
    expect(code).not.toMatch(/[^\0-\x7f]/)
    const mapped = (await run(process.execPath, ["--enable-source-maps", join(root, "dist/workers/one.js")])).stdout
    expect(mapped).toMatch(/^…,\u{1f3a5},true Error: here\n/u)
    expect(mapped).toContain("src/actors/entries/one.ts:2:23)")
  })

  test("is left alone when nothing changed, also when a file was written again with the same content", async () => {
    await build(root)
    await write("src/kube/gvk.ts", await readFile(join(root, "src/kube/gvk.ts"), "utf8"))
    const report = await build(root)
    expect(report.built).toEqual([])
    expect(report.fresh).toHaveLength(5)
  })

  test("has only those bundles made again whose inputs changed", async () => {
    await build(root)
    await write("src/kube/gvk.ts", `export const kind = (text: string): string => "new " + text\n`)
    const report = await build(root)
    expect([...report.built].sort()).toEqual(["lib/trace", "workers/one"])
    expect(await output("workers/one")).toBe("new one")
  })

  test("has a bundle made again when a module that only passes on names another one", async () => {
    await write("src/kube/index.ts", `export { kind } from "./gvk.ts"\n`)
    await write("src/kube/other.ts", `export const kind = (text: string): string => "other " + text\n`)
    await write("src/actors/entries/one.ts", `import { kind } from "../../kube/index.ts"\nconsole.log(kind("one"))\n`)
    await build(root)
    expect(await output("workers/one")).toBe("kind one")
    await write("src/kube/index.ts", `export { kind } from "./other.ts"\n`)
    expect((await build(root)).built).toEqual(["workers/one"])
    expect(await output("workers/one")).toBe("other one")
  })

  test("has all bundles made again when the installed packages changed", async () => {
    await build(root)
    await write("package-lock.json", "{}")
    expect((await build(root)).fresh).toEqual([])
  })

  test("has a bundle made again that somebody deleted", async () => {
    await build(root)
    await rm(join(root, "dist/cli.js"))
    expect((await build(root)).built).toEqual(["cli"])
  })

  test("has a command in parts, each loaded on demand, and made again when one of them was deleted", async () => {
    await write(
      "src/cli/main.ts",
      `import { kind } from "../kube/gvk.ts"\nconsole.log(kind((await import("./late.ts")).name))\n`,
    )
    await write("src/cli/late.ts", `import { kind } from "../kube/gvk.ts"\nexport const name = kind("late")\n`)
    await build(root)
    expect(await output("cli")).toBe("kind kind late")
    const parts = await partsOf()
    expect(parts.length).toBeGreaterThan(0)
    await rm(join(root, "dist", parts[0] ?? ""))
    expect((await build(root)).built).toEqual(["cli"])
    expect(await partsOf()).toEqual(parts)
  })

  test("keeps the parts of the build before for processes that run, and removes older ones", async () => {
    const writeCommand = async (text: string): Promise<ReadonlyArray<string>> => {
      await write("src/cli/main.ts", `console.log((await import("./late.ts")).name)\n`)
      await write("src/cli/late.ts", `export const name = "${text}"\n`)
      await build(root)
      return partsOf()
    }
    const first = await writeCommand("first")
    const second = await writeCommand("second")
    expect(second).toEqual(expect.arrayContaining([...first]))
    const third = await writeCommand("third")
    expect(third).not.toEqual(expect.arrayContaining([...first]))
    expect(third).toHaveLength(second.length)
    expect(await output("cli")).toBe("third")
  })

  test("loses the bundle of a worker that no longer exists", async () => {
    await build(root)
    await rm(join(root, "src/host/entries/two.ts"))
    await build(root)
    expect(await exists("dist/workers/two.js")).toBe(false)
    expect(await exists("dist/workers/one.js")).toBe(true)
  })

  test.each([
    ["a syntax error", `const = 1\n`],
    ["a module that does not exist", `import { x } from "./missing.ts"\nconsole.log(x)\n`],
    ["a package that is not installed", `import x from "no-such-package-here"\nconsole.log(x)\n`],
  ])("puts the reason in place of a bundle with %s, and makes the others", async (_what, text) => {
    await build(root)
    await write("src/actors/entries/one.ts", text)
    const report = await build(root)
    expect(report.failed.map(({ name }) => name)).toEqual(["workers/one"])
    expect(report.fresh).toHaveLength(4)
    await expect(output("workers/one")).rejects.toThrow("src/actors/entries/one.ts does not build")
    expect(describeReport(report)).toMatch(/^dist\/workers\/one\.js: /)
    expect((await build(root)).failed).toHaveLength(1)
  })

  test("builds at the same time as another build of it", async () => {
    const reports = await Promise.all([build(root), build(root), build(root)])
    expect(reports.flatMap((report) => report.failed)).toEqual([])
    expect(await output("workers/one")).toBe("kind one")
  })
})
