/**
 * The scripted half minute of workload/churn runs in a sandbox as in a cluster: every call of kubectl succeeds, the same
 * objects come and go, and watchers see about as many changes.
 */

import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { churn } from "../command.ts"
import { get } from "../connection.ts"
import { at, textAt } from "../exact-json.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { parseLedger } from "../ledger.ts"
import { type ObservedKind, Observer } from "../observer.ts"
import { type SandboxCluster, startSandboxCluster } from "./sandbox-cluster.ts"

const observed: readonly ObservedKind[] = [
  { gvk: "apps/v1.Deployment", path: "/apis/apps/v1/deployments" },
  { gvk: "apps/v1.ReplicaSet", path: "/apis/apps/v1/replicasets" },
  { gvk: "apps/v1.StatefulSet", path: "/apis/apps/v1/statefulsets" },
  { gvk: "apps/v1.DaemonSet", path: "/apis/apps/v1/daemonsets" },
  { gvk: "apps/v1.ControllerRevision", path: "/apis/apps/v1/controllerrevisions" },
  { gvk: "batch/v1.Job", path: "/apis/batch/v1/jobs" },
  { gvk: "batch/v1.CronJob", path: "/apis/batch/v1/cronjobs" },
  { gvk: "v1.Pod", path: "/api/v1/pods" },
  { gvk: "v1.ConfigMap", path: "/api/v1/configmaps" },
  { gvk: "v1.ServiceAccount", path: "/api/v1/serviceaccounts" },
]
const prefix = `churn-${process.pid}`

let directory = ""
let sandbox: SandboxCluster | undefined
let real: TestCluster

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-churn-"))
  real = await openTestCluster()
  // As many pods of the DaemonSet as there: it leaves out nodes with taints, such as those that nothing reports for.
  const { body } = await get(real.connection, "/api/v1/nodes")
  const nodes = at(body, "items")
  const free = Array.isArray(nodes) ? nodes.filter((node) => at(node, "spec", "taints") === undefined) : []
  sandbox = await startSandboxCluster({ nodes: free.length })
})
afterAll(async () => {
  await churn(real, prefix, "clean")
  await sandbox?.close()
  await rm(directory, { recursive: true, force: true })
})

/** Events of the script's namespaces by kind and type: `v1.Pod added` to a number. */
const countsOf = async (cluster: TestCluster, name: string): Promise<ReadonlyMap<string, number>> => {
  const file = join(directory, name)
  const observer = await Observer.start({ connection: cluster.connection, kinds: observed, file })
  await churn(cluster, prefix)
  await observer.settle()
  await observer.stop()
  const counts = new Map<string, number>()
  for (const line of parseLedger(await readFile(file, "utf8"))) {
    if (line.line === "list" || line.line === "listed") continue
    if (!textAt(line.object, "metadata", "namespace").startsWith(prefix)) continue
    const key = `${line.gvk} ${line.line}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

test("the same number of objects of every kind is created and deleted, with about as many changes", {
  timeout: 150_000,
}, async () => {
  if (sandbox === undefined) throw new Error("no sandbox")
  const [expected, found] = await Promise.all([countsOf(real, "real"), countsOf(sandbox.cluster, "sandbox")])
  const of = (counts: ReadonlyMap<string, number>, type: string): object =>
    Object.fromEntries([...counts].filter(([key]) => key.endsWith(type)).sort())
  expect(of(found, "ADDED")).toEqual(of(expected, "ADDED"))
  expect(of(found, "DELETED")).toEqual(of(expected, "DELETED"))
  // A status written in one step here is written in two there: kwok reports a pod at once, virtual nodes as a kubelet does.
  for (const [key, count] of expected) {
    if (!key.endsWith("MODIFIED")) continue
    expect(found.get(key) ?? 0, key).toBeGreaterThanOrEqual(count / 2 - 2)
    expect(found.get(key) ?? 0, key).toBeLessThanOrEqual(count * 2 + 2)
  }
  expect(sandbox.troubles).toEqual([])
  const { requests } = sandbox.sandbox
  const refused = requests.entries().filter(({ userAgent, status }) => userAgent.startsWith("kubectl") && status >= 400)
  // Objects are requested before they are created, and again until they are gone.
  expect(refused.filter(({ status, verb }) => !(status === 404 && verb === "get"))).toEqual([])
})
