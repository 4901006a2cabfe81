/**
 * Two recorders with one Lease and one data directory, on a real cluster: the one that records is killed while the scripted workload runs, the
 * other takes over, and every version that an independent observer saw is in the export exactly once.
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { churn, isReady, kubectl, kubectlJson, type Recorder, startRecorder } from "../command.ts"
import { compare, type Difference, type Rule } from "../compare.ts"
import { at } from "../exact-json.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { parseLedger } from "../ledger.ts"
import { Observer } from "../observer.ts"
import { redactedLedger } from "../redacted-ledger.ts"

const kinds = [
  { gvk: "apps/v1.Deployment", path: "/apis/apps/v1/deployments" },
  { gvk: "apps/v1.ReplicaSet", path: "/apis/apps/v1/replicasets" },
  { gvk: "batch/v1.Job", path: "/apis/batch/v1/jobs" },
  { gvk: "v1.ConfigMap", path: "/api/v1/configmaps" },
]
const rules = new Map<string, Rule>(kinds.map(({ gvk }) => [gvk, { detect: "all" }]))
const prefix = `takeover-${process.pid}`
const lease = `takeover-${process.pid}`
const options = ["--lease", `default/${lease}`, "--lease-duration", "5s"]

let cluster: TestCluster
let directory = ""
let ledgerFile = ""
const recorders: Recorder[] = []
let observer: Observer | undefined

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-takeover-"))
  ledgerFile = join(directory, "ledger")
  const config = join(directory, "config.yml")
  await writeFile(config, `trackedObjects:\n${kinds.map(({ gvk }) => `  ${gvk}: {detect: all}\n`).join("")}`)
  await mkdir(join(directory, "data"))
  for (let started = 0; started < 2; started++)
    recorders.push(await startRecorder(cluster, config, join(directory, "data"), options))
  observer = await Observer.start({ connection: cluster.connection, kinds, file: ledgerFile })
})
afterAll(async () => {
  await observer?.stop()
  await Promise.all(recorders.map((recorder) => recorder.kill()))
  await churn(cluster, prefix, "clean")
  await kubectl(cluster, "delete", "lease", lease, "--ignore-not-found")
  await rm(directory, { recursive: true, force: true })
})

test("A recorder that is killed under load is replaced, and the export still equals the ledger", async () => {
  const [leader, standby] = recorders as [Recorder, Recorder]
  const former = await spec()
  expect(standby.log()).toContain(`standby; ${at(former, "holderIdentity")} holds the Lease default/${lease} since `)
  const life = churn(cluster, prefix)
  await sleep(8000)
  const killedMs = performance.now()
  await leader.kill()
  while (!(await isReady(standby.address))) {
    // The Lease's duration, two attempts of 0.7 s with jitter, and the start.
    expect(performance.now() - killedMs, standby.log()).toBeLessThan(15_000)
    await sleep(50)
  }
  await life
  expect(await differences(standby.address)).toEqual([])
  const present = await spec()
  expect([at(present, "leaseTransitions"), at(present, "leaseDurationSeconds")].map(String)).toEqual(["1", "5"])
  expect(at(present, "holderIdentity")).not.toEqual(at(former, "holderIdentity"))
  expect(await standby.stop()).toBe(0)
  expect(at(await spec(), "holderIdentity") ?? "").toBe("")
})

const spec = async () => at(await kubectlJson(cluster, "get", "lease", lease), "spec")

/** The recorder gets ten seconds for its last events, because the comparison and the cluster share its machine. */
const differences = async (address: string): Promise<Difference[]> => {
  const deadline = performance.now() + 10_000
  for (;;) {
    await observer?.settle()
    const key = await readFile(join(directory, "data/redaction.key"), "utf8")
    const ledger = redactedLedger(parseLedger(await readFile(ledgerFile, "utf8")), key)
    const found = compare(await exported(address), ledger, rules)
    if (found.length === 0 || performance.now() > deadline) return found
    await sleep(200)
  }
}

const exported = async (address: string): Promise<string> => {
  const response = await fetch(`${address}/export`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      start_ts: 0,
      end_ts: Math.floor(Date.now() / 1000) + 2,
      export_path: "file:///export",
      filters: { excluded_namespaces: [], excluded_labels: [] },
      format: "ndjson",
    }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the export failed with ${response.status}: ${text}`)
  return text
}
