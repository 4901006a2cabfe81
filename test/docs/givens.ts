/** What readers of the pages have: traces of the morning that the pages speak of, and clusters. */
import { execFile } from "node:child_process"
import { copyFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { zstdCompressSync } from "node:zlib"
import { startRecorder } from "../../src/index.ts"
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-format.ts"
import type { Givens } from "./page-run.ts"
import { root } from "./project.ts"

const run = promisify(execFile)

/** A Deployment that appears a second after 03:10, and is scaled 200 ms later; a ConfigMap that was there before. */
const morning = (): Buffer => {
  const start = Date.parse("2026-11-20T03:10:00Z") * 1000
  const encoder = ndjsonEncoder()
  const window = { start: start - 500_000, end: start + 800_000 }
  encoder.add({ type: "header", window, cut: 3, kinds: ["apps/v1.Deployment", "v1.ConfigMap"], incomplete: [] })
  const add = (sequence: number, ms: number, gvk: string, object: { readonly metadata: { readonly name: string } }) =>
    encoder.add({
      type: "event",
      isSnapshot: ms < -500,
      event: {
        type: "object",
        sequence,
        time: start + ms * 1000,
        gvk,
        action: "applied",
        uid: object.metadata.name,
        namespace: "shop",
        name: object.metadata.name,
        resourceVersion: String(sequence),
        object: Buffer.from(JSON.stringify(object)),
      },
    })
  const metadata = (name: string) => ({ namespace: "shop", name })
  const web = (replicas: number) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata("web"),
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "example.com/web:1" }] },
      },
    },
  })
  const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: metadata("settings"), data: { banner: "open" } }
  add(1, -600, "v1.ConfigMap", settings)
  add(2, 100, "apps/v1.Deployment", web(2))
  add(3, 300, "apps/v1.Deployment", web(3))
  return Buffer.concat([...encoder.finish()])
}

export const traces: Givens = {
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

/** One cluster under several names. */
export const kubeconfigs = (names: ReadonlyArray<string>, text: string): Givens =>
  Object.fromEntries(names.map((name) => [name, (path: string) => writeFileSync(path, text)]))
