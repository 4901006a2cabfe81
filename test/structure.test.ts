/**
 * The import rules work: for each rule of biome.json, Biome checks a file that breaks it, in a copy of the source tree's folders, and one
 * that only just obeys it. A lint rule that cannot fail would be useless.
 */

import { execFile } from "node:child_process"
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve as resolvePath } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { foundations, layers, withLayers } from "../scripts/layers.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const folders = layers.map(({ folder }) => folder)
const mayImport = (from: string, path: string): boolean => {
  const imports = layers.find(({ folder }) => folder === from)?.imports ?? []
  return imports.includes(path) || imports.includes(path.slice(0, path.indexOf("/")))
}

interface Example {
  readonly file: string
  readonly text: string
  readonly rule: string | undefined
}

const restricted = "lint/style/noRestrictedImports"
const imports = (specifier: string): string => `import { thing } from "${specifier}"\nconsole.log(thing)\n`

const examples: Example[] = []
for (const from of folders)
  for (const to of folders) {
    if (from === to) continue
    const rule = mayImport(from, `${to}/thing.ts`) ? undefined : restricted
    examples.push({ file: `src/${from}/to-${to}.ts`, text: imports(`../${to}/thing.ts`), rule })
    examples.push({ file: `src/${from}/deeper/to-${to}.ts`, text: imports(`../../${to}/deeper/thing.ts`), rule })
  }
const singleModules = new Set(layers.flatMap(({ imports }) => imports.filter((path) => path.includes("/"))))
for (const from of folders)
  for (const path of singleModules) {
    if (path.startsWith(`${from}/`)) continue
    const rule = mayImport(from, path) ? undefined : restricted
    examples.push({ file: `src/${from}/to-${path.replaceAll("/", "-")}`, text: imports(`../${path}`), rule })
  }
for (const from of folders)
  for (const file of foundations)
    examples.push({ file: `src/${from}/to-root-${file}`, text: imports(`../${file}`), rule: undefined })
for (const file of foundations) examples.push({ file: `src/${file}`, text: imports("./kube/gvk.ts"), rule: restricted })
for (const folder of folders) {
  examples.push({ file: `src/${folder}/barrel.ts`, text: imports("effect"), rule: restricted })
  examples.push({ file: `src/${folder}/deep.ts`, text: imports("effect/Effect"), rule: undefined })
  examples.push({ file: `src/${folder}/client.ts`, text: imports("@kubernetes/client-node"), rule: restricted })
}
const inTrace = (name: string, text: string, rule: string | undefined): Example => ({
  file: `src/trace/${name}.ts`,
  text,
  rule,
})
examples.push(
  inTrace("type-only", `import type { Thing } from "../kube/thing.ts"\nexport type Other = Thing\n`, restricted),
  inTrace("re-export", `export { thing } from "../runtime/thing.ts"\n`, restricted),
  inTrace("dynamic", `export const load = () => import("../runtime/thing.ts")\n`, restricted),
  inTrace("side-effect", `import "../../src/runtime/thing.ts"\n`, restricted),
  { file: "src/kube/credentials/exec.ts", text: imports("@kubernetes/client-node"), rule: undefined },
  { file: "src/kube/credentials/thread.ts", text: imports("../../runtime/thing.ts"), rule: restricted },
  { file: "src/root.ts", text: imports("effect"), rule: restricted },
  { file: "test/cluster/judge.ts", text: imports("../../src/trace/event.ts"), rule: restricted },
  {
    file: "src/kube/ring-a.ts",
    text: `import { b } from "./ring-b.ts"\nexport const a = () => b\n`,
    rule: "lint/suspicious/noImportCycles",
  },
  {
    file: "src/kube/ring-b.ts",
    text: `import { a } from "./ring-a.ts"\nexport const b = () => a\n`,
    rule: "lint/suspicious/noImportCycles",
  },
  {
    file: "src/kube/silent.ts",
    text: `try {\n  console.log(1)\n} catch {}\n`,
    rule: "lint/suspicious/noEmptyBlockStatements",
  },
)

let directory = ""
let rulesByFile = new Map<string, string[]>()

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "kubereel-structure-")))
  await copyFile(join(root, "biome.json"), join(directory, "biome.json"))
  for (const example of examples) {
    await mkdir(dirname(join(directory, example.file)), { recursive: true })
    await writeFile(join(directory, example.file), example.text)
  }
  rulesByFile = await lint(directory)
})
afterAll(() => rm(directory, { recursive: true, force: true }))

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
    expect(mayImport("apiserver", "sandbox/object-store.ts")).toBe(false)
    const importsOf = (foundation: string) => layers.find(({ folder }) => folder === foundation)?.imports
    for (const foundation of ["runtime", "text", "blob"]) expect(importsOf(foundation)).toEqual([])
    expect(importsOf("kube")).toEqual(["text"])
  })

  test("agrees with biome.json", async () => {
    const configuration = JSON.parse(await readFile(join(root, "biome.json"), "utf8"))
    expect(withLayers(configuration)).toEqual(configuration)
  })
})

describe("the imports of the house", () => {
  test.each([...folders, ...foundations, "root.ts"])(
    "src/%s imports what the table allows and nothing else",
    (folder) => {
      expect(verdicts(`src/${folder}`)).toEqual(expectations(`src/${folder}`))
    },
  )

  test("the checkers of the cluster suite share no code with what they check", () => {
    expect(verdicts("test/cluster")).toEqual(expectations("test/cluster"))
  })
})

const expectations = (folder: string): Record<string, string[]> =>
  perFile(folder, (example) => (example.rule === undefined ? [] : [example.rule]))

const verdicts = (folder: string): Record<string, string[]> =>
  perFile(folder, (example) => rulesByFile.get(example.file) ?? [])

const perFile = (folder: string, rules: (example: Example) => string[]): Record<string, string[]> => {
  const chosen = examples.filter(({ file }) => file === folder || file.startsWith(`${folder}/`))
  return Object.fromEntries(chosen.map((example) => [example.file, rules(example)]))
}

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
