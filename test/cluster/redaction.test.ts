/**
 * On a real cluster: what users write with kubectl, in all the ways in which secrets get into objects, is nowhere in what the recorder leaves
 * behind, in any form.
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { everythingIn, foundIn } from "../recorder/redaction/needles.ts"
import { kubectl, type Recorder, startRecorder } from "./command.ts"
import { openTestCluster, type TestCluster } from "./guard.ts"

const namespace = `redaction-${process.pid}`
const unique = (name: string): string => `planted-${name}-${process.pid}-Qx7Zk2Wv`
const planted = {
  applied: unique("applied"),
  patched: unique("patched"),
  variable: unique("variable"),
  former: unique("former"),
  cronJob: unique("cronjob"),
  annotation: unique("annotation"),
  configMap: unique("configmap"),
  registry: unique("registry"),
}
const visible = unique("visible")

const manifest = `
apiVersion: v1
kind: Secret
metadata: {name: database, namespace: ${namespace}, annotations: {note: ${visible}}}
stringData: {password: ${planted.applied}}
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: ${namespace}}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"registry.example.com":{"password":"${planted.registry}"}}}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ${namespace}, annotations: {example.com/ci-token: ${planted.annotation}}}
data: {password: ${planted.configMap}, colour: ${visible}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ${namespace}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {example.com/ci-token: ${planted.annotation}}}
    spec:
      containers:
        - {name: web, image: web, env: [{name: DB_PASSWORD, value: ${planted.variable}}, {name: COLOUR, value: ${visible}}, {name: OLD_TOKEN, value: ${planted.former}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: ${namespace}}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: store, image: store, env: [{name: DB_PASSWORD, value: ${planted.variable}}]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: ${namespace}}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          initContainers: [{name: init, image: job, env: [{name: API_KEY, value: ${planted.cronJob}}]}]
          containers: [{name: job, image: job}]
`

const configuration = `
redact:
  annotations: ["example.com/*-token"]
  pointers: {v1.ConfigMap: [/data/password]}
trackedObjects:
${[
  "v1.Secret",
  "v1.ConfigMap",
  "v1.Pod",
  "apps/v1.Deployment",
  "apps/v1.ReplicaSet",
  "apps/v1.StatefulSet",
  "apps/v1.ControllerRevision",
  "batch/v1.CronJob",
  "v1.Event",
]
  .map((kind) => `  ${kind}: {trackLifecycle: ${kind.startsWith("apps/v1.D")}}\n`)
  .join("")}`

let cluster: TestCluster
let directory = ""
let recorder: Recorder | undefined

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-redaction-"))
  await writeFile(join(directory, "config.yml"), configuration)
})
afterAll(async () => {
  await recorder?.stop()
  await kubectl(cluster, "delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
})

const apply = async (text: string): Promise<void> => {
  const child = spawn(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, "apply", "-f", "-"], {
    stdio: ["pipe", "ignore", "inherit"],
  })
  child.stdin.end(text)
  const [code] = await once(child, "exit")
  expect(code).toBe(0)
}

/** The objects of a kind in the namespace, as they were recorded. */
const recorded = (text: string, gvk: string) =>
  text
    .split("\n")
    .filter((line) => line.includes('"action"'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.gvk === gvk && line.namespace === namespace && line.object !== undefined)

const exported = async (): Promise<string> => {
  const body = JSON.stringify({
    start_ts: 0,
    end_ts: 4_000_000_000,
    export_path: "file:///export",
    filters: { excluded_namespaces: [], excluded_labels: [] },
    format: "ndjson",
  })
  const answer = await fetch(`${recorder?.address}/export`, { method: "POST", body })
  const text = await answer.text()
  expect([answer.status, answer.status === 200 ? "" : text]).toEqual([200, ""])
  return text
}

test("nothing that was planted with kubectl is anywhere, and each change of a value is recorded", async () => {
  await kubectl(cluster, "create", "namespace", namespace)
  // One Secret is there before the recorder, so that it comes by a list.
  await apply(manifest)
  recorder = await startRecorder(cluster, join(directory, "config.yml"), join(directory, "data"))
  await kubectl(
    cluster,
    "-n",
    namespace,
    "patch",
    "secret",
    "database",
    "-p",
    JSON.stringify({ stringData: { password: planted.patched } }),
  )
  await kubectl(cluster, "-n", namespace, "set", "env", "deployment/web", "OLD_TOKEN-")
  await kubectl(cluster, "-n", namespace, "delete", "secret", "registry")

  let text = ""
  const deadline = performance.now() + 30_000
  const isComplete = (): boolean =>
    recorded(text, "v1.Pod").length > 1 &&
    recorded(text, "apps/v1.ControllerRevision").length > 0 &&
    recorded(text, "apps/v1.ReplicaSet").length > 1 &&
    text.includes('"deleted"')
  while (!isComplete() && performance.now() < deadline) {
    await sleep(250)
    text = await exported()
  }
  expect(isComplete()).toBe(true)

  const passwords = recorded(text, "v1.Secret")
    .filter(({ name }) => name === "database")
    .map(({ object }) => Buffer.from(object.data.password, "base64").toString())
  expect(passwords).toEqual([expect.stringMatching(/^redacted:[0-9a-f]{16}$/), expect.stringMatching(/^redacted:/)])
  expect(new Set(passwords).size).toBe(2)
  const variables = ["apps/v1.Deployment", "apps/v1.ReplicaSet", "v1.Pod", "apps/v1.StatefulSet"].map((gvk) =>
    recorded(text, gvk).flatMap(
      ({ object }) => JSON.stringify(object).match(/"DB_PASSWORD","value":"(redacted:\w+)"/)?.[1],
    ),
  )
  expect(new Set(variables.flat()).size).toBe(1)

  const simkube = join(directory, "trace.sktrace")
  const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
  await promisify(execFile)(process.execPath, [
    reel,
    "export",
    "-s",
    recorder?.address ?? "",
    "--start",
    "0",
    "-o",
    simkube,
  ])
  const metrics = await (await fetch(`${recorder?.address}/metrics`)).text()
  const running = everythingIn(join(directory, "data"))
  const log = recorder?.log() ?? ""
  await recorder?.stop()
  recorder = undefined
  const places = [
    ...running,
    ...everythingIn(join(directory, "data")),
    ["the export", Buffer.from(text)] as const,
    ["the trace", await readFile(simkube)] as const,
    ["the metrics", Buffer.from(metrics)] as const,
    ["the log", Buffer.from(log)] as const,
  ]
  expect(places.flatMap(([where, content]) => foundIn(where, content, Object.values(planted)))).toEqual([])
  // The same search finds what is not secret, in the export and in a decompressed block.
  const seen = places.flatMap(([where, content]) => foundIn(where, content, [visible]))
  expect(seen.some((where) => where.includes("the export"))).toBe(true)
  expect(seen.some((where) => where.includes("recording.db, "))).toBe(true)
}, 120_000)
