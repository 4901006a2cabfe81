/** What readers of the pages have: traces of the morning that the pages speak of, and clusters. */
import { execFile } from "node:child_process"
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { startRecorder } from "../../src/library/index.ts"
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-writer.ts"
import { auditEvent, stored } from "../audit/audit-events.ts"
import { streamOf } from "../facts/made-facts.ts"
import type { Givens } from "./page-run.ts"
import { root } from "./project.ts"

const run = promisify(execFile)

/** A ConfigMap that was there before, a Deployment that appears at 03:10 and is scaled, and a Job whose pod runs for 200 ms. */
const morning = (): Buffer => {
  const start = Date.parse("2026-11-20T03:10:00Z") * 1000
  const encoder = ndjsonEncoder()
  const window = { start: start - 500_000, end: start + 800_000 }
  const kinds = ["apps/v1.Deployment", "batch/v1.Job", "v1.ConfigMap", "v1.Pod"]
  encoder.add({ type: "header", window, cut: 8, kinds, incomplete: [] })
  let sequence = 0
  const add = (ms: number, gvk: string, name: string, object: Readonly<Record<string, unknown>>): void => {
    const metadata = { namespace: "shop", name, uid: name, ...(object.metadata as object | undefined) }
    const [kind = "", apiVersion = ""] = [gvk.split(".").at(-1), gvk.slice(0, gvk.lastIndexOf("."))]
    sequence += 1
    encoder.add({
      type: "event",
      isSnapshot: ms < -500,
      event: {
        ...{ type: "object", sequence, time: start + ms * 1000, gvk, action: "applied" },
        ...{ uid: name, namespace: "shop", name, resourceVersion: String(sequence) },
        object: Buffer.from(JSON.stringify({ apiVersion, kind, ...object, metadata })),
      },
    })
  }
  const containers = [{ name: "main", image: "example.com/main:1" }]
  const labels = { app: "web" }
  const web = (replicas: number) => ({
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  })
  const template = { spec: { restartPolicy: "Never", containers } }
  const owner = { apiVersion: "batch/v1", kind: "Job", name: "backup", uid: "backup", controller: true }
  const pod = (status: object) => ({ metadata: { ownerReferences: [owner] }, spec: template.spec, status })
  const scheduled = [{ type: "PodScheduled", status: "True" }]
  add(-600, "v1.ConfigMap", "settings", { data: { banner: "open" } })
  add(50, "batch/v1.Job", "backup", { spec: { template } })
  add(60, "v1.Pod", "backup-1", pod({}))
  add(70, "v1.Pod", "backup-1", pod({ phase: "Pending", conditions: scheduled }))
  add(100, "apps/v1.Deployment", "web", web(2))
  add(170, "v1.Pod", "backup-1", pod({ phase: "Running", conditions: scheduled }))
  add(300, "apps/v1.Deployment", "web", web(3))
  add(370, "v1.Pod", "backup-1", pod({ phase: "Succeeded", conditions: scheduled }))
  return Buffer.concat([...encoder.finish()])
}

/** A namespace and a Deployment that are made, as an API server logs it. */
const logOfMorning = (): string => {
  const labels = { app: "web" }
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "example.com/main:1" }] } }
  const created = { verb: "create", code: 201 }
  const namespace = stored("v1", "Namespace", 1, { metadata: { name: "shop", namespace: undefined } })
  const web = stored("apps/v1", "Deployment", 2, { spec: { replicas: 2, selector: { matchLabels: labels }, template } })
  const events = [
    auditEvent({ ...created, resource: "namespaces", name: "shop", response: namespace }),
    auditEvent({ ...created, at: 0.1, resource: "apps/v1 deployments", response: web }),
  ]
  return events.map((event) => `${JSON.stringify(event)}\n`).join("")
}

/** It is scaled to three. */
const logOfEvening = (): string => {
  const response = {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { resourceVersion: "3" },
    spec: { replicas: 3 },
  }
  const scaling = { at: 0.3, verb: "patch", resource: "apps/v1 deployments", subresource: "scale", response }
  return `${JSON.stringify(auditEvent(scaling))}\n`
}

export const traces: Givens = {
  "audit-2026-11-20.log.gz": (path) => writeFileSync(path, gzipSync(logOfMorning())),
  "audit.log": (path) => writeFileSync(path, logOfEvening()),
  "day.ndjson.zst": (path) => writeFileSync(path, zstdCompressSync(morning())),
  "monday.sktrace": async (path) => {
    const day = `${path}.ndjson`
    writeFileSync(day, morning())
    await run(process.execPath, [join(root, "bin/reel.js"), "convert", day, path])
  },
}

const example =
  (path: string) =>
  (target: string): void =>
    copyFileSync(join(root, "examples/host", path), target)

export const files: Givens = {
  "simplepod.yaml": example("simplepod-crd.yaml"),
  "simplepod-controller.ts": example("typescript/simplepod-controller.ts"),
  "outage.ndjson": example("typescript/outage.ndjson"),
  "my-operator.ts": (path) => copyFileSync(join(root, "test/docs/my-operator.ts"), path),
}

/** A data directory with what a recorder found in a cluster. */
export const recordingOf =
  (kubeconfig: string) =>
  async (directory: string): Promise<void> => {
    const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]
    await using recorder = await startRecorder({ kubeconfig, directory, kinds })
    await recorder.ready()
  }

/** What a recorder has sent of the recording beside it. */
export const streamBeside = async (directory: string): Promise<void> => {
  mkdirSync(directory)
  await streamOf(join(directory, "../recording"), undefined, directory)
}

/** One cluster under several names. */
export const kubeconfigs = (names: ReadonlyArray<string>, text: string): Givens =>
  Object.fromEntries(names.map((name) => [name, (path: string) => writeFileSync(path, text)]))
