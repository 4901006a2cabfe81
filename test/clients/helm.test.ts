/** helm installs, changes, tests and removes a release, with hooks, a custom kind, and by both ways of applying. */

import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, expect, test } from "vitest"
import type { Sandbox } from "../../src/sandbox/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { goProgram, type Program } from "./build/compiled-program.ts"
import { type EndedProgram, runToEnd } from "./running-program.ts"
import { withCluster } from "./with-program.ts"

const chart = fileURLToPath(new URL("./helm/chart/", import.meta.url))
let program: Program

beforeAll(async () => {
  program = await goProgram("helm", "helm.sh/helm/v4/cmd/helm")
})

type Helm = (...words: ReadonlyArray<string>) => Promise<EndedProgram>

/** helm with folders of its own, and calls that must succeed. */
const helmOn = (path: string, kubeconfig: string): { readonly helm: Helm; readonly ok: Helm } => {
  const home = temporaryDirectory()
  const folders = { CACHE: "cache", CONFIG: "config", DATA: "data" }
  const env = Object.fromEntries(Object.entries(folders).map(([key, name]) => [`HELM_${key}_HOME`, join(home, name)]))
  const helm: Helm = (...words) => runToEnd(path, words, { ...env, KUBECONFIG: kubeconfig })
  const ok: Helm = async (...words) => {
    const ended = await helm(...words)
    if (ended.code !== 0) throw new Error(`helm ${words.join(" ")} ended with ${ended.code}: ${ended.errors}`)
    return ended
  }
  return { helm, ok }
}

/** The state of what the chart makes. */
const shopIn = (sandbox: Sandbox) => ({
  status: sandbox.get("apps/v1.Deployment", "default", "shop")?.status,
  config: sandbox.get("v1.ConfigMap", "default", "shop")?.data,
  ingress: sandbox.get("networking.k8s.io/v1.Ingress", "default", "shop")?.spec,
  tables: sandbox.get("example.com/v1.Cafe", "default", "shop")?.spec,
})

const jobs = (sandbox: Sandbox) =>
  sandbox
    .list("batch/v1.Job")
    .map(({ metadata, status }) => [metadata.name, (status as { succeeded?: number }).succeeded])

const wait = ["--wait", "--timeout=90s"]

test("a release is installed, upgraded, rolled back, tested, listed and uninstalled", async ({ skip }) => {
  if ("missing" in program) return skip(`helm was not built: ${program.missing}`)
  const { path } = program
  await withCluster([], async ({ sandbox, kubeconfig, troubles }) => {
    const { helm, ok } = helmOn(path, kubeconfig)
    const found = { hasIngresses: "true", kubernetes: "v1.34.4+sandbox", nodes: "3" }
    await ok("install", "shop", chart, ...wait)
    expect(shopIn(sandbox)).toMatchObject({
      status: { readyReplicas: 2 },
      config: { ...found, greeting: "hello" },
      ingress: { rules: [{ host: "shop.example.com" }] },
      tables: { tables: 2 },
    })
    expect(jobs(sandbox)).toEqual([["shop-migration-1", 1]])
    expect(sandbox.get("v1.Secret", "default", "sh.helm.release.v1.shop.v1")).toMatchObject({
      type: "helm.sh/release.v1",
      metadata: { labels: { owner: "helm", status: "deployed", version: "1" } },
    })
    await ok("upgrade", "shop", chart, "--set=replicas=3,greeting=bonjour", ...wait)
    expect(shopIn(sandbox)).toMatchObject({
      status: { readyReplicas: 3 },
      config: { greeting: "bonjour" },
      tables: { tables: 3 },
    })
    // A release whose Pods never become ready: helm waits, gives up, and goes back by itself.
    const never = ["--set=readyAfter=never,greeting=bad", "--timeout=4s", "--rollback-on-failure"]
    expect(await helm("upgrade", "shop", chart, "--wait", ...never)).toMatchObject({ code: 1 })
    expect(shopIn(sandbox)).toMatchObject({ config: { greeting: "bonjour" } })
    await ok("rollback", "shop", "1", ...wait)
    expect(shopIn(sandbox)).toMatchObject({
      status: { readyReplicas: 2 },
      config: { greeting: "hello" },
      tables: { tables: 2 },
    })
    const { output: history } = await ok("history", "shop", "--output=json")
    const statuses = (JSON.parse(history) as ReadonlyArray<{ status: string }>).map(({ status }) => status)
    expect(statuses).toEqual(["superseded", "superseded", "failed", "superseded", "deployed"])
    const { output: listed } = await ok("list", "--output=json")
    expect(JSON.parse(listed)).toMatchObject([{ name: "shop", revision: "5", status: "deployed", chart: "shop-1.0.0" }])
    expect((await ok("test", "shop")).output).toContain("Succeeded")
    expect(sandbox.get("v1.Pod", "default", "shop-visit")?.status).toMatchObject({ phase: "Succeeded" })
    expect(jobs(sandbox)).toEqual([1, 2, 3].map((revision) => [`shop-migration-${revision}`, 1]))
    await ok("uninstall", "shop", ...wait)
    expect(shopIn(sandbox)).toEqual({})
    const secrets = sandbox.list("v1.Secret").filter(({ type }) => type === "helm.sh/release.v1")
    expect(secrets).toEqual([])
    expect(troubles).toEqual([])
  })
})

test("without server-side apply an upgrade keeps what others have changed, as helm 3 does", async ({ skip }) => {
  if ("missing" in program) return skip(`helm was not built: ${program.missing}`)
  const { path } = program
  await withCluster([], async ({ sandbox, kubeconfig, troubles }) => {
    const { ok } = helmOn(path, kubeconfig)
    await ok("install", "shop", chart, "--server-side=false", ...wait)
    const put = { op: "add", path: "/metadata/annotations/others", value: "kept" }
    const target = { path: "/apis/apps/v1/namespaces/default/deployments/shop" }
    await sandbox.request({ method: "PATCH", ...target, contentType: "application/json-patch+json", body: [put] })
    await ok("upgrade", "shop", chart, "--server-side=false", "--set=replicas=1", ...wait)
    const shop = sandbox.get("apps/v1.Deployment", "default", "shop")
    expect(shop).toMatchObject({ spec: { replicas: 1 }, metadata: { annotations: { others: "kept" } } })
    const managers = shop?.metadata.managedFields as ReadonlyArray<{ operation: string }>
    expect(managers.map(({ operation }) => operation)).not.toContain("Apply")
    expect(troubles).toEqual([])
  })
})
