/**
 * The promise of the recorder, on a real cluster: an independent observer keeps the ledger while the scripted workload
 * runs and runs again; every version whose kept part changed is in the export exactly once and in order; nothing else is. The
 * workload has a password in an environment variable: in its place is exactly the hash that the documentation describes.
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { churn, type Recorder, startRecorder } from "./command.ts"
import { compare, type Difference, type Rule } from "./compare.ts"
import { openTestCluster, type TestCluster } from "./guard.ts"
import { parseLedger } from "./ledger.ts"
import { type ObservedKind, Observer } from "./observer.ts"
import { redactedLedger } from "./redacted-ledger.ts"

/** Each `detect` at least once, as default and as setting, with and without pointers to ignore. */
const tracked: ReadonlyArray<ObservedKind & { readonly settings: string; readonly rule: Rule }> = [
  {
    gvk: "apps/v1.Deployment",
    path: "/apis/apps/v1/deployments",
    settings: `{detect: content, ignore: ["/metadata/annotations/deployment.kubernetes.io~1revision"]}`,
    rule: { detect: "content", ignore: ["/metadata/annotations/deployment.kubernetes.io~1revision"] },
  },
  {
    gvk: "apps/v1.ReplicaSet",
    path: "/apis/apps/v1/replicasets",
    settings: "{detect: spec}",
    rule: { detect: "spec" },
  },
  { gvk: "apps/v1.StatefulSet", path: "/apis/apps/v1/statefulsets", settings: "{}", rule: { detect: "all" } },
  {
    gvk: "apps/v1.DaemonSet",
    path: "/apis/apps/v1/daemonsets",
    settings: "{keepManagedFields: false}",
    rule: { detect: "all", keepManagedFields: false },
  },
  { gvk: "batch/v1.Job", path: "/apis/batch/v1/jobs", settings: "{}", rule: { detect: "all" } },
  { gvk: "batch/v1.CronJob", path: "/apis/batch/v1/cronjobs", settings: "{}", rule: { detect: "all" } },
  { gvk: "v1.Pod", path: "/api/v1/pods", settings: "{}", rule: { detect: "all" } },
  { gvk: "v1.ConfigMap", path: "/api/v1/configmaps", settings: "{detect: all}", rule: { detect: "all" } },
]
const rules = new Map(tracked.map(({ gvk, rule }) => [gvk, rule]))
const prefixes = [`first-${process.pid}`, `second-${process.pid}`] as const

let cluster: TestCluster
let directory = ""
let ledgerFile = ""
let recorder: Recorder | undefined
let observer: Observer | undefined

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-record-"))
  ledgerFile = join(directory, "ledger")
  const config = join(directory, "config.yml")
  const lines = tracked.map(({ gvk, settings }) => `  ${gvk}: ${settings}\n`)
  await writeFile(config, `trackedObjects:\n${lines.join("")}`)
  await mkdir(join(directory, "data"))
  recorder = await startRecorder(cluster, config, join(directory, "data"))
  observer = await Observer.start({
    connection: cluster.connection,
    kinds: tracked.map(({ gvk, path }) => ({ gvk, path })),
    file: ledgerFile,
    // Several watches within one run of the workload, so that the observer's ends never coincide with the recorder's.
    watchSeconds: 7,
  })
})
afterAll(async () => {
  await observer?.stop()
  await recorder?.stop()
  for (const prefix of prefixes) await churn(cluster, prefix, "clean")
  await rm(directory, { recursive: true, force: true })
})

test("the export equals the ledger after a minute of cluster life", async () => {
  await churn(cluster, prefixes[0])
  expect(await differences()).toEqual([])
  // Agreement on empty recordings would be worthless: the workload must have touched every kind.
  expect(await eventsByKind()).toEqual(new Map(tracked.map(({ gvk }) => [gvk, expect.any(Number)])))
})

test("the export equals the ledger after everything was deleted and the same happened again", async () => {
  await churn(cluster, prefixes[0], "clean")
  await churn(cluster, prefixes[1])
  expect(await differences()).toEqual([])
})

test("the recorder exits by itself after SIGTERM", async () => {
  const running = recorder
  recorder = undefined
  expect(await running?.stop()).toBe(0)
})

/**
 * Compares once the ledger has reached the present. The recorder promises its events within 250 ms of receipt; it gets
 * ten seconds, because the comparison and the cluster share its machine. A repeated or a foreign event never goes
 * away.
 */
const differences = async (): Promise<Difference[]> => {
  const deadline = performance.now() + 10_000
  for (;;) {
    await observer?.settle()
    const before = await sequence()
    const exported = await exportText()
    const key = await readFile(join(directory, "data/redaction.key"), "utf8")
    const ledger = redactedLedger(parseLedger(await readFile(ledgerFile, "utf8")), key)
    const found = compare(exported, ledger, rules)
    if (found.length === 0 || performance.now() > deadline) return found
    await committedMore(before, deadline)
  }
}

/** Resolves when the recorder has committed more than `before`: until then every export is the same. */
const committedMore = async (before: string | undefined, deadline: number): Promise<void> => {
  while ((await sequence()) === before && performance.now() < deadline) await sleep(20)
}

const sequence = async (): Promise<string | undefined> => {
  const metrics = await (await fetch(`${recorder?.address}/metrics`)).text()
  return metrics.match(/^kubereel_store_sequence (\d+)$/m)?.[1]
}

const exportText = async (): Promise<string> => {
  const response = await fetch(`${recorder?.address}/export`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      // The beginning of the recording, before which nothing is missing.
      start_ts: 0,
      end_ts: Math.floor(Date.now() / 1000) + 2,
      export_path: "file:///export",
      filters: { excluded_namespaces: [], excluded_labels: [] },
      format: "ndjson",
    }),
  })
  const text = await response.text()
  if (response.status !== 200)
    throw new Error(`the export failed with ${response.status}: ${text}\n${recorder?.log() ?? ""}`)
  return text
}

const eventsByKind = async (): Promise<Map<string, number>> => {
  const counts = new Map<string, number>()
  for (const line of (await exportText()).split("\n").slice(1, -2)) {
    const { gvk } = JSON.parse(line) as { gvk: string }
    counts.set(gvk, (counts.get(gvk) ?? 0) + 1)
  }
  return counts
}
