/**
 * `npm start`: a small cluster in this process runs a workload of fifteen seconds, the real recorder records it, and its
 * export is compared with the cluster's own ledger. Exits with 1 unless they agree.
 *
 * `npm start -- --kubeconfig FILE` records that cluster instead, until Ctrl-C.
 */
import "./require-node.js"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs, styleText } from "node:util"
import * as Effect from "effect/Effect"
import { readVersion } from "../src/cli/command-line/version.ts"
import { renderStatusLine } from "../src/cli/record/status-line.ts"
import { recordCommand } from "../src/cli/record.ts"
import { createLiveLine, type LiveLine } from "../src/cli/terminal/live-line.ts"
import { createLogger } from "../src/cli/terminal/log.ts"
import { formatBytes, formatCount } from "../src/cli/terminal/quantities.ts"
import { isColoured, isLive, processTerminal } from "../src/cli/terminal/terminal.ts"
import { backgroundClock, systemClock } from "../src/clock.ts"
import { type RunningRecorder, startRecorder } from "../src/recorder/index.ts"
import { type DemoStep, playDemo } from "../src/sandbox/demo/index.ts"
import { LocalCluster, writeKubeconfig } from "../src/sandbox/index.ts"
import { compareKind, type NamedChange } from "./demo-comparison.ts"
import { type ExportedChange, exportChanges, exportSimkube, type SimkubeSummary } from "./demo-export.ts"

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

type Colour = Parameters<typeof styleText>[0]
const colours = isColoured(process.stdout, process.env)
const painted = (colour: Colour, text: string): string =>
  colours ? styleText(colour, text, { validateStream: false }) : text

/** By kind, how many changes had happened before it was watched. */
type Before = ReadonlyMap<string, number>

interface Exported {
  readonly before: Before
  readonly changes: ReadonlyArray<ExportedChange>
  readonly simkube: SimkubeSummary
}

const playAndRecord = async (): Promise<number> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-demo-"))
  try {
    await using cluster = await LocalCluster.start({
      nodes: 3,
      ledger: "versions",
      onTrouble: (detail) => console.warn(detail),
    })
    console.log(
      `A cluster of 3 virtual nodes lives in this process, on ${cluster.sandbox.url}. A recorder watches it.\n`,
    )
    const kubeconfig = join(directory, "kubeconfig")
    await writeKubeconfig(kubeconfig, cluster.sandbox.url)
    const settings = { ...recorderSettings, kubeconfig, dataDir: join(directory, "data") }
    const program = Effect.gen(function* () {
      const running = yield* startRecorder(settings, quietLog)
      const { port = 0 } = running
      const before = yield* Effect.promise(() => recordDemo(cluster, running))
      return yield* Effect.promise(
        async (): Promise<Exported> => ({
          before,
          changes: await exportChanges(port),
          simkube: await exportSimkube(port),
        }),
      )
    })
    return report(cluster, await Effect.runPromise(Effect.scoped(program)))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const recorderSettings = {
  config: here("demo.yml"),
  context: undefined,
  port: 0,
  bind: "127.0.0.1",
  namespaces: [],
  secretsInPlainText: false,
  fsync: "interval" as const,
  reportEvents: false,
  version: readVersion(),
}

const quietLog = createLogger({
  format: "text",
  level: "warn",
  sink: (line) => process.stderr.write(line),
  now: Date.now,
  isColoured: isColoured(process.stderr, process.env),
})

/** Plays the demo once every kind is watched, until its changes are recorded and nothing more happens. */
const recordDemo = async (cluster: LocalCluster, running: RunningRecorder): Promise<Before> => {
  const line = createLiveLine({
    stream: process.stdout,
    isEnabled: isLive(process.stdout, process.env),
    clock: backgroundClock,
  })
  const stopShowing = showStatus(running, line)
  try {
    await until("every kind is watched", 30_000, () => running.actors.statuses.incomplete().length === 0)
    const before = new Map(recordedKinds.map((gvk) => [gvk, changesOf(cluster, [gvk]).length]))
    await playDemo({
      client: cluster.client,
      clock: systemClock,
      announce: (step) => line.around(() => console.log(describeStep(step))),
    })
    await quiet(cluster, running)
    return before
  } finally {
    stopShowing()
    line.close()
  }
}

const describeStep = ({ at, title }: DemoStep): string => {
  const colour = /crash/.test(title) ? "red" : /heals/.test(title) ? "green" : "cyan"
  return `${painted("dim", `${(at / 1000).toFixed(1).padStart(5)} s`)}  ${painted(colour, title)}`
}

/** ms between two checks. */
const checkIntervalMs = 250

const showStatus = ({ actors }: RunningRecorder, line: LiveLine): (() => void) => {
  const started = performance.now()
  let before = 0
  const look = async (): Promise<void> => {
    const { sequence, lagMs } = await Effect.runPromise(actors.store.call("statistics", undefined))
    const status = {
      eventsPerSecond: ((sequence - before) * 1000) / checkIntervalMs,
      objects: sequence,
      lagMs,
      kinds: actors.statuses.all(),
      uptimeMs: performance.now() - started,
    }
    before = sequence
    line.show((columns) => painted("yellow", renderStatusLine(status, columns)))
  }
  const timer = setInterval(() => void look().catch((cause: unknown) => console.warn(String(cause))), checkIntervalMs)
  return () => clearInterval(timer)
}

const until = async (what: string, limitMs: number, isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + limitMs
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`after ${limitMs / 1000} s it is still not so that ${what}`)
    await sleep(checkIntervalMs)
  }
}

/** Resolves when nothing has changed for a second and everything received is committed. */
const quiet = async (cluster: LocalCluster, { actors }: RunningRecorder): Promise<void> => {
  let before = ""
  let looks = 0
  await until("nothing happens any more", 30_000, async () => {
    const { sequence, lagMs } = await Effect.runPromise(actors.store.call("statistics", undefined))
    const now = `${changesOf(cluster, recordedKinds).length} ${sequence}`
    looks = now === before && lagMs === 0 ? looks + 1 : 0
    before = now
    return looks >= 4
  })
}

/** As in demo.yml; test/scripts/demo.test.ts compares. */
export const recordedKinds = [
  "apps/v1.Deployment",
  "apps/v1.ReplicaSet",
  "apps/v1.StatefulSet",
  "apps/v1.DaemonSet",
  "batch/v1.Job",
  "v1.ConfigMap",
  "v1.Pod",
] as const

const changesOf = ({ sandbox }: LocalCluster, gvks: ReadonlyArray<string>): ReadonlyArray<NamedChange> =>
  gvks.flatMap((gvk) =>
    sandbox.ledger.of(gvk).map(({ uid, resourceVersion, action }) => ({
      uid,
      resourceVersion,
      isDeleted: action === "deleted",
    })),
  )

const report = (cluster: LocalCluster, { before, changes, simkube }: Exported): number => {
  console.log(`\n${painted("bold", "Kind                   happened  recorded")}`)
  let differences = 0
  let happened = 0
  for (const gvk of recordedKinds) {
    const recorded = changes
      .filter((change) => change.gvk === gvk && change.action !== "gap")
      .map(({ uid, resourceVersion, action }) => ({ uid, resourceVersion, isDeleted: action !== "applied" }))
    const kind = compareKind(gvk, changesOf(cluster, [gvk]), before.get(gvk) ?? 0, recorded)
    happened += kind.done
    const verdict = kind.difference === undefined ? painted("green", "✓") : painted("red", `✗ ${kind.difference}`)
    console.log(`${gvk.padEnd(22)} ${String(kind.done).padStart(8)} ${String(kind.recorded).padStart(9)}  ${verdict}`)
    if (kind.difference !== undefined) differences++
  }
  const gaps = changes.filter(({ action }) => action === "gap").length
  console.log(
    `\nSimKube's format: ${formatCount(simkube.objects, "object")} without what they own, ${formatBytes(simkube.bytes)}; lives of pods under`,
  )
  for (const [owner, lives] of simkube.lives) console.log(`  ${owner.padEnd(32)} ${String(lives).padStart(3)}`)
  if (differences > 0 || gaps > 0 || happened === 0 || simkube.lives.size === 0) {
    console.log(painted("red", `\nThe recording is not what happened: ${differences} kinds differ, ${gaps} gaps.`))
    return 1
  }
  console.log(
    painted("green", `\nEach of ${happened} changes was recorded once and in order, none was made up, no gap.`),
  )
  console.log("\nNext, record a cluster of your own:\n\n  npm start -- --kubeconfig ~/.kube/config\n")
  return 0
}

const recordCluster = async (kubeconfig: string): Promise<number> => {
  console.log(
    "Recording until Ctrl-C. In another terminal: npx reel export --start=-10m --format ndjson --output trace.ndjson\n",
  )
  return recordCommand().run(["--config", here("demo.yml"), "--kubeconfig", kubeconfig], processTerminal)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { kubeconfig: { type: "string" } } })
  process.exitCode = values.kubeconfig === undefined ? await playAndRecord() : await recordCluster(values.kubeconfig)
}
