/**
 * The rules about imports work: each finds a file that breaks it, and lets one pass that only just obeys it. Rooms and their doors are checked by
 * scripts/layers.ts, packages and circles by Biome, here in a copy of its configuration. A rule that cannot fail would be useless.
 */

import { execFile } from "node:child_process"
import { copyFile, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve as resolvePath } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { foundations, isDoor, layers, violations } from "../scripts/layers.ts"
import { count } from "../scripts/sources.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const folders = layers.map(({ folder }) => folder)
const importing = (file: string, text: string) => violations(count(file, text))

describe("the table of layers", () => {
  test("contains every folder of src, and no other", async () => {
    const present = (await readdir(join(root, "src"), { withFileTypes: true })).filter((entry) => entry.isDirectory())
    expect(present.map((entry) => entry.name).sort()).toEqual([...folders].sort())
  })

  test("lets a folder import only folders above its own line, so there are no circles", () => {
    const upwards = layers.flatMap(({ folder, imports }, line) =>
      imports.filter((path) => folders.indexOf(path.split("/")[0] ?? "") >= line).map((path) => `${folder} > ${path}`),
    )
    expect(upwards).toEqual([])
  })

  test("keeps the API server's read half apart from the sandbox, and the foundations apart from everything", () => {
    const importsOf = (room: string) => layers.find(({ folder }) => folder === room)?.imports
    expect(importsOf("apiserver")).not.toContain("sandbox")
    for (const foundation of ["runtime", "text", "blob"]) expect(importsOf(foundation)).toEqual([])
    expect(importsOf("kube")).toEqual(["text"])
  })
})

describe("a module", () => {
  test.each(folders)(
    "of src/%s imports the rooms that the table allows, through their doors, and nothing else",
    (from) => {
      const allowed = layers.find(({ folder }) => folder === from)?.imports ?? []
      for (const to of folders.filter((folder) => folder !== from))
        for (const [file, path] of [
          [`src/${from}/a.ts`, `../${to}`],
          [`src/${from}/deeper/a.ts`, `../../${to}`],
        ] as const) {
          expect(importing(file, `import { a } from "${path}/index.ts"`).length).toBe(allowed.includes(to) ? 0 : 1)
          if (to !== "library") expect(importing(file, `import { a } from "${path}/deeper/b.ts"`)).toHaveLength(1)
        }
    },
  )

  test("imports a second door like the first, or alone where the table allows no more", () => {
    expect(importing("src/trace/a.ts", 'import { a } from "../kube/offline.ts"')).toEqual([])
    expect(importing("src/cli/a.ts", 'import { a } from "../kube/offline.ts"')).toEqual([])
    expect(importing("src/trace/a.ts", 'import { a } from "../kube/index.ts"')).toHaveLength(1)
    expect(importing("src/blob/a.ts", 'import { a } from "../kube/offline.ts"')).toHaveLength(1)
    expect(isDoor("src/kube/offline.ts")).toBe(true)
    expect(isDoor("src/trace/offline.ts")).toBe(false)
  })

  test.each([
    ['import type { A } from "../runtime/index.ts"'],
    ['export { a } from "../runtime/index.ts"'],
    ['export * from "../runtime/index.ts"'],
    ['export const load = () => import("../runtime/index.ts")'],
    ['export type A = import("../runtime/index.ts").A'],
    ['import "../../src/runtime/index.ts"'],
  ])("cannot get around the table with %s", (text) => {
    expect(importing("src/trace/a.ts", text)).toHaveLength(1)
  })

  test("imports the modules of its own room, and not its door, which imports them", () => {
    expect(importing("src/trace/a.ts", 'import { a } from "./deeper/b.ts"')).toEqual([])
    expect(importing("src/trace/deeper/b.ts", 'import { a } from "../index.ts"')).toHaveLength(1)
  })

  test("of any room imports the foundations, and these nothing of src", () => {
    for (const file of foundations) {
      for (const folder of folders)
        expect(importing(`src/${folder}/a.ts`, `import { a } from "../${file}"`)).toEqual([])
      expect(importing(`src/${file}`, 'import { gvk } from "./kube/index.ts"')).toHaveLength(1)
    }
  })
})

interface Example {
  readonly file: string
  readonly text: string
  readonly rule: string | undefined
}

const imports = (specifier: string): string => `import { thing } from "${specifier}"\nconsole.log(thing)\n`
const restricted = "lint/style/noRestrictedImports"
const circle = "lint/suspicious/noImportCycles"
const examples: ReadonlyArray<Example> = [
  { file: "src/kube/barrel.ts", text: imports("effect"), rule: restricted },
  { file: "src/root.ts", text: imports("effect"), rule: restricted },
  { file: "src/kube/deep.ts", text: imports("effect/Effect"), rule: undefined },
  { file: "src/kube/client.ts", text: imports("@kubernetes/client-node"), rule: restricted },
  { file: "src/kube/credentials/exec.ts", text: imports("@kubernetes/client-node"), rule: undefined },
  { file: "src/kube/credentials/barrel.ts", text: imports("effect"), rule: restricted },
  { file: "test/cluster/judge.ts", text: imports("../../src/trace/event.ts"), rule: restricted },
  { file: "src/kube/ring-a.ts", text: `import { b } from "./ring-b.ts"\nexport const a = () => b\n`, rule: circle },
  { file: "src/kube/ring-b.ts", text: `import { a } from "./ring-a.ts"\nexport const b = () => a\n`, rule: circle },
  {
    file: "src/kube/silent.ts",
    text: "try {\n  console.log(1)\n} catch {}\n",
    rule: "lint/suspicious/noEmptyBlockStatements",
  },
]

describe("Biome", () => {
  let directory = ""
  let rulesByFile: ReadonlyMap<string, ReadonlyArray<string>> = new Map()

  beforeAll(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "kubereel-structure-")))
    await copyFile(join(root, "biome.json"), join(directory, "biome.json"))
    for (const { file, text } of examples) {
      await mkdir(dirname(join(directory, file)), { recursive: true })
      await writeFile(join(directory, file), text)
    }
    rulesByFile = await lint(directory)
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  test.each(examples)("finds in $file: $rule", ({ file, rule }) => {
    expect(rulesByFile.get(file) ?? []).toEqual(rule === undefined ? [] : [rule])
  })
})

/** Runs Biome on a directory that holds its own biome.json; returns the broken rules, per file. */
const lint = (cwd: string): Promise<Map<string, string[]>> =>
  new Promise((resolve, reject) => {
    const biome = join(root, "node_modules", ".bin", "biome")
    const flags = ["lint", "--reporter=github", "--max-diagnostics=none", "--error-on-warnings"]
    execFile(biome, flags, { cwd, maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
      // Exit code 1 says that something was found; what was found is in the annotations.
      if (error !== null && error.code !== 1) return reject(new Error(`biome did not run: ${stderr}`))
      const found = new Map<string, string[]>()
      for (const [, rule = "", file = ""] of stdout.matchAll(/^::error title=([^,]*),file=([^,]*),/gm)) {
        const name = relative(cwd, resolvePath(cwd, file))
        found.set(name, [...(found.get(name) ?? []), rule])
      }
      resolve(found)
    })
  })
