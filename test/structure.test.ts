/**
 * The house rules of the imports bite: each rule of biome.json is shown a file that breaks it, in a copy of the source
 * tree's folders, and one that just does not. A lint that cannot fail would be worth nothing.
 */

import { execFile } from "node:child_process"
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve as resolvePath } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The layers of the house from the bottom up; a folder may import what stands in a lower layer, except as listed. */
const layers = [
  ["kube", "blob", "runtime"],
  ["trace"],
  ["wire"],
  ["archive"],
  ["actors", "host"],
  ["apiserver"],
  ["sandbox", "language"],
  ["simulation", "recorder", "analysis"],
  ["k8s"],
  ["cli"],
] as const
/** The embedded API server also serves tests of the actors, so it must do without them. Manifests are data about a configuration. */
const exceptions = new Set([
  "sandbox>actors",
  "trace>runtime",
  "trace>blob",
  ...["actors", "host", "archive", "wire"].map((folder) => `apiserver>${folder}`),
  ...["trace", "archive", "wire", "blob", "runtime", "actors", "apiserver", "sandbox", "host", "language"].map(
    (folder) => `k8s>${folder}`,
  ),
  ...["simulation", "analysis"].map((folder) => `k8s>${folder}`),
])
/** Imports that run upwards or sideways. */
const allowances = new Set(["blob>runtime", "host>sandbox", "apiserver>sandbox"])

const folders = layers.flat()
const layerOf = (folder: string): number => layers.findIndex((layer) => (layer as readonly string[]).includes(folder))
const mayImport = (from: string, to: string): boolean =>
  (layerOf(to) < layerOf(from) || allowances.has(`${from}>${to}`)) && !exceptions.has(`${from}>${to}`)

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
    if (from === to || (from === "trace" && to === "kube")) continue
    const rule = mayImport(from, to) ? undefined : restricted
    examples.push({ file: `src/${from}/to-${to}.ts`, text: imports(`../${to}/thing.ts`), rule })
    examples.push({ file: `src/${from}/deeper/to-${to}.ts`, text: imports(`../../${to}/deeper/thing.ts`), rule })
  }
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
  inTrace("gvk-user", imports("../kube/gvk.ts"), undefined),
  inTrace("version-user", imports("../kube/resource-version.ts"), undefined),
  inTrace("type-only", `import type { Thing } from "../kube/thing.ts"\nexport type Other = Thing\n`, restricted),
  inTrace("re-export", `export { thing } from "../runtime/thing.ts"\n`, restricted),
  inTrace("dynamic", `export const load = () => import("../runtime/thing.ts")\n`, restricted),
  inTrace("side-effect", `import "../../src/runtime/thing.ts"\n`, restricted),
  { file: "src/kube/credentials.ts", text: imports("@kubernetes/client-node"), rule: undefined },
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

describe("the imports of the house", () => {
  test.each([...folders, "root.ts"])("src/%s imports what stands below it and nothing else", (folder) => {
    expect(verdicts(`src/${folder}`)).toEqual(expectations(`src/${folder}`))
  })

  test("the judges of the cluster suite share no code with what they judge", () => {
    expect(verdicts("test/cluster")).toEqual(expectations("test/cluster"))
  })

  test("every folder in src stands in a layer and has its own entry in biome.json", async () => {
    const present = (await readdir(join(root, "src"), { withFileTypes: true })).filter((entry) => entry.isDirectory())
    const names = present.map((entry) => entry.name)
    const configuration = JSON.parse(await readFile(join(root, "biome.json"), "utf8")) as {
      overrides: Array<{ includes: string[] }>
    }
    const covered = configuration.overrides.flatMap((entry) => entry.includes)
    expect(names.filter((name) => layerOf(name) < 0 || !covered.includes(`src/${name}/**`))).toEqual([])
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

/** Runs Biome on a directory that holds its own biome.json; answers the rules broken, per file. */
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
