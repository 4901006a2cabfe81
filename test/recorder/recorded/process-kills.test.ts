/** The whole recorder, as a process, is repeatedly ended by SIGKILL; after resuming, nothing is lost or repeated. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { load, rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { until } from "../recorder/recorder-command.ts"
import { type Change, differences, ledgerOf } from "./recorded-sandbox.ts"
import { Workload } from "./workload.ts"

const perSecond = load(2000)

const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const kills = rounds(10)
const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))

test(`a process killed ${kills} times with SIGKILL at ${perSecond} events/s loses and repeats nothing (seed ${seed})`, {
  timeout: patient(180_000),
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-sigkill-"))
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const workload = new Workload(sandbox, kinds, seed)
  writeFileSync(
    join(directory, "config.yml"),
    `trackedObjects:\n${kinds.map((kind) => `  ${kind}: {detect: all}\n`).join("")}`,
  )
  writeFileSync(join(directory, "kubeconfig"), kubeconfigOf(sandbox.url))
  let recorder = await startRecorder(directory)
  try {
    await recorder.ready()
    workload.start(perSecond)
    for (let round = 0; round < kills; round++) {
      await workload.moment(600)
      recorder.process.kill("SIGKILL")
      await once(recorder.process, "exit")
      recorder = await startRecorder(directory)
    }
    workload.stop()
    await recorder.ready()
    const wanted = new Map(kinds.map((gvk) => [gvk, ledgerOf(sandbox, gvk)]))
    let exported: ReadonlyArray<Change> = []
    await until(
      async () => {
        exported = await recorder.export()
        return kinds.every(
          (gvk) => exported.filter((change) => change.gvk === gvk).length >= (wanted.get(gvk)?.length ?? 0),
        )
      },
      () => `${exported.length} changes to become those of the ledger`,
      30_000,
    )
    expect(exported.filter(({ action }) => !["applied", "deleted"].includes(action))).toEqual([])
    for (const gvk of kinds) expect(differences(exported, wanted.get(gvk) ?? [], gvk)).toEqual({})
    recorder.process.kill("SIGTERM")
    const [code] = (await once(recorder.process, "exit")) as [number]
    expect(code).toBe(0)
  } finally {
    workload.stop()
    recorder.process.kill("SIGKILL")
    await sandbox.close()
    rmSync(directory, { recursive: true, force: true })
  }
})

interface RunningRecorder {
  readonly process: ChildProcess
  ready(): Promise<void>
  export(): Promise<ReadonlyArray<Change>>
}

/** Starts the command as a user would and waits for the line that names its port. */
const startRecorder = async (directory: string): Promise<RunningRecorder> => {
  const child = spawn(
    process.execPath,
    [
      reel,
      "record",
      "--config",
      join(directory, "config.yml"),
      "--kubeconfig",
      join(directory, "kubeconfig"),
      "--data-dir",
      join(directory, "data"),
      "--listen",
      "0",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  )
  let log = ""
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr?.on("data", (piece: Buffer) => {
      log += piece.toString()
      const match = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(log)
      if (match !== null) resolve(Number(match[1]))
    })
    child.on("exit", (code) => reject(new Error(`the recorder ended with ${code}:\n${log}`)))
  })
  const url = `http://127.0.0.1:${port}`
  return {
    process: child,
    ready: () =>
      until(
        async () => (await fetch(`${url}/readyz`)).status === 200,
        () => `readiness; the log says:\n${log}`,
        20_000,
      ),
    export: async () => {
      const answer = await fetch(`${url}/export`, {
        method: "POST",
        body: JSON.stringify({
          start_ts: 0,
          end_ts: 4_000_000_000,
          export_path: "file:///all.ndjson",
          format: "ndjson",
          filters: { excluded_namespaces: [], excluded_labels: [] },
        }),
      })
      if (answer.status !== 200) throw new Error(`the export failed: ${await answer.text()}`)
      const lines = (await answer.text()).split("\n").filter((line) => line.includes('"action"'))
      const changes = lines.map((line) => JSON.parse(line) as Change)
      expect(changes, "the changes of each object are in order").toSatisfy(isOrderedByObject)
      // Those of different objects are not, at the beginning: if the first life is killed before it has noted the end of its lists, those of the
      // next one belong to the beginning as well, and what only they have is in the state at the start.
      return changes.toSorted((one, other) => Number(one.resourceVersion) - Number(other.resourceVersion))
    },
  }
}

const isOrderedByObject = (changes: ReadonlyArray<Change>): boolean => {
  const last = new Map<string, number>()
  return changes.every(({ uid, resourceVersion }) => {
    const [before, version] = [last.get(uid) ?? 0, Number(resourceVersion)]
    last.set(uid, version)
    return before < version
  })
}

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "sandbox", cluster: { server } }],
    users: [{ name: "nobody", user: {} }],
    contexts: [{ name: "sandbox", context: { cluster: "sandbox", user: "nobody" } }],
    "current-context": "sandbox",
  })
