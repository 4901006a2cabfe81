/** A recording of a cluster that was there before, with custom objects: its first lists arrive kind by kind, and are one moment all the same. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { replayCommand } from "../../../src/cli/replay.ts"
import { validateCommand } from "../../../src/cli/validate.ts"
import { kinds } from "../../../src/kube/index.ts"
import { type RecorderLog, startRecorder } from "../../../src/library/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { ArchivePast } from "../../../src/serve/index.ts"
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const nothing = (): void => undefined
const quiet: RecorderLog = { error: nothing, warn: nothing, info: nothing, debug: nothing }

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.lab.example.com" },
  spec: {
    group: "lab.example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
}
const definitions = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}
const widgets = {
  gvk: { group: "lab.example.com", version: "v1", kind: "Widget" },
  plural: "widgets",
  namespaced: true,
}

const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "web:1", resources: {} }] },
}
const deployment = {
  ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "default" } },
  spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
}

const livedIn = async (): Promise<LocalCluster> => {
  const cluster = await LocalCluster.start({ nodes: 2 })
  onTestFinished(() => cluster.close())
  const { client, sandbox } = cluster
  await client.create(definitions, definition)
  const widget = (name: string) => ({
    ...{ apiVersion: "lab.example.com/v1", kind: "Widget", metadata: { name, namespace: "default" } },
    spec: { size: 1 },
  })
  await expect
    .poll(() =>
      client.create(widgets, widget("one")).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
  await client.create(widgets, widget("two"))
  await client.create(kinds.deployments, deployment)
  await expect.poll(() => sandbox.list("v1.Pod").length).toBe(2)
  return cluster
}

const run = async (command: ReturnType<typeof replayCommand>, words: ReadonlyArray<string>) => {
  const terminal = capturedTerminal()
  const code = await command.run(words, terminal)
  return { code, text: terminal.standardOutput.text() }
}

test("begins with everything there was, and is accepted as a whole by another cluster; a kind that is added later does not move it", async () => {
  const cluster = await livedIn()
  const directory = join(temporaryDirectory(), "recording")
  // Pods before their ReplicaSets, and objects before their definition.
  const first = ["lab.example.com/v1.Widget", "v1.Pod", "apps/v1.Deployment", "apps/v1.ReplicaSet"]
  const options = { server: cluster.sandbox.endpoint, directory, log: quiet }
  const recorder = await startRecorder({
    ...options,
    kinds: [...first, "apiextensions.k8s.io/v1.CustomResourceDefinition"],
  })
  await recorder.ready()
  const trace = join(temporaryDirectory(), "all.ndjson")
  expect(await recorder.export(trace, { require: "all" })).toMatchObject({ gaps: 0, incomplete: undefined })
  await recorder.close()

  const lines = readFileSync(trace, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  const { window } = lines[0]
  const state = lines.filter(({ snapshot }) => snapshot === true)
  const kindsInOrder = [...new Set(state.map(({ gvk }) => gvk.slice(gvk.lastIndexOf(".") + 1)))]
  expect(kindsInOrder).toEqual(["CustomResourceDefinition", "Deployment", "Widget", "ReplicaSet", "Pod"])
  for (const { time } of state) expect(time).toBeLessThanOrEqual(window.start)
  expect((await run(validateCommand(), [trace])).text).toContain("nothing found")
  const replayed = await run(replayCommand(), [trace, "--sandbox", "--speed", "max", "--pods", "cluster"])
  expect(replayed.text).toContain(" 0 refused")
  expect(replayed.text).not.toContain("refused  ")
  expect(replayed.code).toBe(0)

  const before = ArchivePast.open(directory)
  const { begin } = before
  before.close()
  const second = await startRecorder({ ...options, kinds: [...first, "v1.ConfigMap"] })
  await second.ready()
  await second.close()
  const after = ArchivePast.open(directory)
  expect(after.begin).toBe(begin)
  expect(after.kinds.find(({ gvk }) => gvk === "v1.ConfigMap")?.since).toBeGreaterThan(begin)
  after.close()
}, 60_000)
