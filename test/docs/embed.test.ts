/** The code of docs/guides/embed.md, each block as a program of its own, against a sandbox. */
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { blocksOf } from "../../scripts/guide-blocks.ts"
import { kubeconfigOf, LocalCluster } from "../../src/sandbox/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { readPage } from "./page-run.ts"
import { makeProject, root } from "./project.ts"

const run = promisify(execFile)
const programs = blocksOf(readPage("docs/guides/embed.md")).filter(({ language }) => language === "ts")

let cluster: LocalCluster
beforeAll(async () => {
  cluster = await LocalCluster.start()
  cluster.sandbox.put("v1.ConfigMap", { metadata: { name: "settings", namespace: "default" }, data: { a: "b" } })
})
afterAll(() => cluster.close())

const project = (): string => {
  const folder = temporaryDirectory()
  makeProject(folder)
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
    expect(stderr.replace(/^kubereel: warning: values are redacted with a new key in recording\/.*\n/, "")).toBe("")
  })
})
