/**
 * `npm start`: a recorded minute of a real cluster, played at five times its speed by an embedded API server, recorded by
 * the real recorder, exported, and compared with what was played. Exits 1 unless they agree.
 *
 * `npm start -- --kubeconfig FILE` records that cluster instead, until Ctrl-C.
 */
import "./require-node.js"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { createLiveLine, systemLiveClock } from "../src/cli/live-line.ts"
import { createLogger } from "../src/cli/log.ts"
import { recordCommand } from "../src/cli/record.ts"
import { renderStatusLine } from "../src/cli/status-line.ts"
import { isColoured, isLive, processTerminal } from "../src/cli/terminal.ts"
import { readVersion } from "../src/cli/version.ts"
import { type PlayedLine, RecordingPlayer } from "../src/sandbox/index.ts"
import { type RunningRecorder, startRecorder } from "../src/tracer/recorder.ts"

const speed = 5
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** One change as both sides name it. */
const changeName = (gvk: string, uid: string, resourceVersion: string, deleted: boolean): string =>
  `${gvk} ${uid} ${resourceVersion} ${deleted ? "deleted" : "applied"}`

const playDemo = async (): Promise<number> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-demo-"))
  const player = await RecordingPlayer.start({ directory: here("../test/data/recording"), speed })
  try {
    console.log(
      `A minute of a Kubernetes 1.34 cluster, recorded earlier, plays at ${speed}× its speed on ${player.url}.`,
    )
    const kubeconfig = join(directory, "kubeconfig")
    await writeFile(kubeconfig, kubeconfigOf(player.url))
    const exported = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const running = yield* startRecorder(
            {
              config: here("demo.yml"),
              kubeconfig,
              context: undefined,
              port: 0,
              bind: "127.0.0.1",
              dataDir: join(directory, "data"),
              namespaces: [],
              allowSecrets: false,
              fsync: "interval",
              reportEvents: false,
              version: readVersion(),
            },
            quietLog,
          )
          yield* Effect.promise(() => watchUntilPlayed(player, running))
          return yield* Effect.promise(() => exportAll(running.port))
        }),
      ),
    )
    return compare(player.played, exported)
  } finally {
    await player.close()
    await rm(directory, { recursive: true, force: true })
  }
}

const quietLog = createLogger({
  format: "text",
  level: "warn",
  sink: (line) => process.stderr.write(line),
  now: Date.now,
  isColoured: isColoured(process.stderr, process.env),
})

const kubeconfigOf = (server: string): string => `apiVersion: v1
kind: Config
clusters: [{name: recorded, cluster: {server: "${server}"}}]
users: [{name: nobody, user: {}}]
contexts: [{name: recorded, context: {cluster: recorded, user: nobody}}]
current-context: recorded
`

/** Shows the recording live until the last line is played and what was played is committed, at most 60 s. */
const watchUntilPlayed = async (player: RecordingPlayer, { recording }: RunningRecorder): Promise<void> => {
  const line = createLiveLine({
    stream: process.stdout,
    isEnabled: isLive(process.stdout, process.env),
    clock: systemLiveClock,
  })
  let isPlayed = false
  void player.finished.then(() => {
    isPlayed = true
  })
  const started = performance.now()
  let before = 0
  let settled = 0
  while (settled < 4 && performance.now() - started < 60_000) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    const { sequence, lagMs } = await Effect.runPromise(recording.store.call("statistics", undefined))
    settled = isPlayed && sequence === before && lagMs === 0 ? settled + 1 : 0
    line.show((columns) =>
      renderStatusLine(
        {
          eventsPerSecond: (sequence - before) * 4,
          objects: sequence,
          lagMs,
          kinds: recording.statuses.all(),
          uptimeMs: performance.now() - started,
        },
        columns,
      ),
    )
    before = sequence
  }
  line.close()
}

interface ExportedChange {
  readonly gvk: string
  readonly uid: string
  readonly resourceVersion: string
  readonly action: string
}

const exportAll = async (port: number): Promise<ReadonlyArray<ExportedChange>> => {
  const answer = await fetch(`http://127.0.0.1:${port}/export`, {
    method: "POST",
    body: JSON.stringify({
      start_ts: 0,
      end_ts: Math.ceil(Date.now() / 1000) + 1,
      export_path: "file:///demo.ndjson",
      filters: { excluded_namespaces: [], excluded_labels: [] },
      format: "ndjson",
    }),
  })
  const body = await answer.text()
  if (!answer.ok) throw new Error(`the export failed: HTTP ${answer.status}: ${body}`)
  return body
    .split("\n")
    .filter((line) => line.includes('"action"'))
    .map((line) => JSON.parse(line) as ExportedChange)
}

const compare = (played: ReadonlyArray<PlayedLine>, exported: ReadonlyArray<ExportedChange>): number => {
  const changes = played.filter(({ type }) => type === "ADDED" || type === "MODIFIED" || type === "DELETED")
  const kinds = [...new Set(changes.map(({ gvk }) => gvk))].sort()
  console.log("\nKind                   played  recorded")
  let differences = 0
  for (const gvk of kinds) {
    const wanted = changes
      .filter((line) => line.gvk === gvk)
      .map((line) => changeName(gvk, line.uid, line.resourceVersion, line.type === "DELETED"))
    const found = exported
      .filter((change) => change.gvk === gvk)
      .map((change) => changeName(gvk, change.uid, change.resourceVersion, change.action !== "applied"))
    const agrees = wanted.length === found.length && wanted.every((name, index) => name === found[index])
    console.log(
      `${gvk.padEnd(22)} ${String(wanted.length).padStart(6)} ${String(found.length).padStart(9)}  ${agrees ? "✓" : "✗ they differ"}`,
    )
    if (!agrees) differences++
  }
  const gaps = exported.filter(({ action }) => action === "gap").length
  if (differences > 0 || gaps > 0 || changes.length === 0) {
    console.log(`\nThe recording does not agree with what was played: ${differences} kinds differ, ${gaps} gaps.`)
    return 1
  }
  console.log(`\nEvery one of ${changes.length} changes was recorded once and in order, none was made up, no gap.`)
  console.log("\nNext, record a cluster of your own:\n\n  npm start -- --kubeconfig ~/.kube/config\n")
  return 0
}

const recordCluster = async (kubeconfig: string): Promise<number> => {
  console.log(
    "Recording until Ctrl-C. In another terminal: npx reel export --start=-10m --format ndjson --output trace.ndjson\n",
  )
  return recordCommand().run(["--config", here("demo.yml"), "--kubeconfig", kubeconfig], processTerminal)
}

const { values } = parseArgs({ options: { kubeconfig: { type: "string" } } })
process.exitCode = values.kubeconfig === undefined ? await playDemo() : await recordCluster(values.kubeconfig)
