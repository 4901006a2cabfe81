/**
 * README and guides are literally true: every command block runs as it stands, or a comment after it says why not. Those that need no more than a
 * sandbox run here; `test/cluster/docs/` runs the others.
 */
import { globSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { blocksOf } from "../../scripts/guide-blocks.ts"
import { kubeconfigOf, LocalCluster } from "../../src/sandbox/index.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { files, kubeconfigs, recordingOf, streamBeside, traces } from "./givens.ts"
import { readPage, runPage } from "./page-run.ts"
import { callsKubectl, isRun, sandboxPages } from "./page-suites.ts"
import { environmentOf, makeProject, root } from "./project.ts"
import { openShop } from "./shop.ts"

let cluster: LocalCluster
beforeAll(async () => {
  cluster = await LocalCluster.start()
  await openShop(cluster)
})
afterAll(() => cluster.close())

test.each(sandboxPages)(
  "every program and command of %s that needs no kubectl does what it says",
  { timeout: patient(120_000) },
  async (page) => {
    const directory = temporaryDirectory()
    makeProject(directory)
    const kubeconfig = kubeconfigOf(cluster.sandbox.url)
    await runPage({
      page,
      markdown: readPage(page),
      directory,
      environment: await environmentOf(directory, kubeconfig),
      givens: {
        ...traces,
        ...files,
        recording: recordingOf(join(directory, ".kube/config")),
        history: streamBeside,
        ...kubeconfigs(["staging.kubeconfig", "old.kubeconfig", "new.kubeconfig"], kubeconfig),
      },
      isIncluded: (block) => !callsKubectl(block),
    })
  },
)

test("every command block and program of README and guides is run by a suite, or says why not", () => {
  const pages = ["README.md", ...globSync("docs/guides/*.md", { cwd: root })]
  const missing = pages.flatMap((page) =>
    blocksOf(readPage(page))
      .filter(({ language }) => ["sh", "bash", "console", "text", "ts"].includes(language))
      .filter((block) => block.notRun === undefined && !isRun(page, block))
      .map(({ line }) => `${page}:${line}`),
  )
  expect(missing).toEqual([])
})
