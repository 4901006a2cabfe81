/** The code of docs/guides/embed.md, each block as a program of its own, against a sandbox. */
import { execFile } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { blocksOf } from "../../scripts/guide-blocks.ts"
import { kubeconfigOf, LocalCluster } from "../../src/sandbox/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const page = readFileSync(join(root, "docs/guides/embed.md"), "utf8")
const programs = blocksOf(page).filter(({ language }) => language === "ts")

let cluster: LocalCluster
beforeAll(async () => {
  cluster = await LocalCluster.start()
  cluster.sandbox.put("v1.ConfigMap", { metadata: { name: "settings", namespace: "default" }, data: { a: "b" } })
})
afterAll(() => cluster.close())

/** A project that has kubereel, as npm would have installed it, and the tools of this checkout. */
const project = (): string => {
  const folder = temporaryDirectory()
  mkdirSync(join(folder, "node_modules"))
  symlinkSync(root, join(folder, "node_modules/kubereel"))
  for (const name of ["effect", "vitest"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  writeFileSync(join(folder, "package.json"), '{"type": "module"}')
  writeFileSync(join(folder, "kubeconfig"), kubeconfigOf(cluster.sandbox.url))
  return folder
}

describe("On the page about embedding", () => {
  test.each(programs.map(({ line, text }) => [line, text] as const))("the program of line %i runs", async (_, text) => {
    const folder = project()
    const environment = { ...process.env, KUBECONFIG: join(folder, "kubeconfig"), TMPDIR: folder, NO_COLOR: "1" }
    const isTest = text.includes('from "vitest"')
    const file = isTest ? "example.test.ts" : "example.ts"
    writeFileSync(join(folder, file), text)
    const words = isTest
      ? [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder]
      : [join(folder, file)]
    const { stderr } = await run(process.execPath, words, { cwd: folder, env: environment })
    expect(stderr).toBe("")
  })
})
