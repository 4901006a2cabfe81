/** examples/vitest in a project of its own, run by vitest: the test that fails has a page attached, and the others do not. */
import { execFile } from "node:child_process"
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { makeProject, root } from "../../docs/project.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const tests = `
import { expect, test } from "vitest"
import { withCluster } from "./with-cluster.ts"

const deployment = (replicas: number) => ({
  metadata: { name: "shop", namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "shop" } },
    template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "main", image: "shop:1" }] } },
  },
})
const ready = (sandbox) => expect.poll(() => sandbox.get("apps/v1.Deployment", "default", "shop")?.status?.readyReplicas, { timeout: 20_000 })

test("passes", withCluster(async ({ sandbox }) => {
  sandbox.put("v1.ConfigMap", { metadata: { name: "passes", namespace: "default" } })
}), 60_000)

test("fails <on purpose>", withCluster(async ({ sandbox }) => {
  sandbox.put("apps/v1.Deployment", deployment(2))
  await ready(sandbox).toBe(2)
  sandbox.put("apps/v1.Deployment", deployment(1))
  await ready(sandbox).toBe(1)
  expect(sandbox.get("apps/v1.Deployment", "default", "shop")?.status?.readyReplicas).toBe(3)
}), 60_000)

test("hangs", withCluster(async ({ sandbox }) => {
  sandbox.put("v1.ConfigMap", { metadata: { name: "hangs", namespace: "default" } })
  await new Promise(() => undefined)
}), 4000)
`

test("a test that fails has a page attached that shows what happened in its cluster", {
  timeout: 120_000,
}, async () => {
  const folder = temporaryDirectory()
  makeProject(folder)
  copyFileSync(join(root, "examples/vitest/with-cluster.ts"), join(folder, "with-cluster.ts"))
  writeFileSync(join(folder, "shop.test.ts"), tests)
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    const words = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder]
    const environment = { ...process.env, NO_COLOR: "1", TMPDIR: folder }
    execFile(process.execPath, words, { cwd: folder, env: environment }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
  })
  expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining("2 failed | 1 passed") })
  expect(output).toContain("expected 1 to be 3")
  const attachments = join(folder, ".vitest/attachments")
  const pages = readdirSync(attachments)
  expect(pages).toHaveLength(1)
  const path = /What happened in the cluster: (.*\.html)/.exec(output)?.[1]
  expect(path).toContain(pages[0])
  const page = readFileSync(join(attachments, pages[0] ?? ""), "utf8")
  expect(page).toContain("<title>fails &lt;on purpose&gt;</title>")
  expect(factsIn(page).kinds).toContain("apps/v1.Deployment")
  expect(factsIn(page).events).toBeGreaterThan(4)
  const late = /What happened in the cluster of "hangs": (.*\.html)/.exec(output)?.[1] ?? ""
  expect(factsIn(readFileSync(late, "utf8")).kinds).toContain("v1.ConfigMap")
  // Nothing is left but what vitest keeps.
  expect(readdirSync(folder).filter((name) => name.startsWith("cluster-of-a-test-"))).toEqual([])
})

/** What the page says of itself. */
const factsIn = (page: string): { readonly kinds: ReadonlyArray<string>; readonly events: number } =>
  JSON.parse(/id="facts">(.*?)<\/script>/.exec(page)?.[1] ?? "")
