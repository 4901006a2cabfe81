/**
 * Whether a recorder calls changes late that it received when they happened: it records a cluster for a while in which nothing fails, and says afterwards
 * what it received late, compared with the truth. Cluster and recorder are processes of their own.
 */
import { execFile } from "node:child_process"
import { createReadStream } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { ApiClient, kinds, loadCredentials } from "../../src/kube/index.ts"
import type { Coverage } from "../../src/recorder/export/coverage.ts"
import type { LateChanges } from "../../src/trace/index.ts"
import { openTestCluster } from "../../test/cluster/guard.ts"
import { isRecorded } from "../../test/cluster/late/judged-times.ts"
import { TimedObserver } from "../../test/cluster/late/timed-observer.ts"
import { type TrueChange, TrueTimes } from "../../test/cluster/late/true-times.ts"
import { calmLife } from "../load/calm-life.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"

const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
/** Records every version of every object of seven kinds, and the lives of pods. */
const configuration = fileURLToPath(new URL("../../scripts/demo.yml", import.meta.url))
/** ms for a process to come up, or to export, on a busy machine. */
const startMs = 60_000
const exportMs = 10 * 60_000

/** A range of changes that the recorder calls late. */
export interface JudgedRange {
  readonly gvk: string
  readonly cause: string
  /** s from each of its changes to the receipt; `undefined` if the truth about it is not known. */
  readonly delays: ReadonlyArray<number | undefined>
}

/** What a recorder says after the time in which nothing failed. */
export interface LiveReport {
  readonly name: string
  /** Changes in the recording. */
  readonly events: number
  readonly late: ReadonlyArray<JudgedRange>
  /** s that the slowest change which is not called late took to be received. */
  readonly slowestLive: number
  /** Exit code and messages of `reel export --require all`: of one before the trace was read, or after it if something in it is late. */
  readonly exported: { readonly code: number; readonly messages: string }
}

/** s within which a change is received when it happens. What took longer is late, because of whatever else the machine was doing. */
const liveSeconds = 1

/**
 * Ranges all of whose changes were received when they happened. If one of them was late, those after it count as late until one of them
 * says when it was written.
 */
export const falselyLate = ({ late }: LiveReport): ReadonlyArray<JudgedRange> =>
  late.filter(({ delays }) => delays.every((delay = 0) => delay < liveSeconds))

/** A sandbox in which the demo goes on and on. */
export const liveDemo = (minutes: number): Promise<LiveReport> =>
  inDirectory(async (directory) => {
    await using cluster = await startSandbox(directory, "demo")
    return await watched({ name: "demo", directory, cluster, life: () => sleep(minutes * 60_000) })
  })

/** ms that a recorder does not run: more than what is allowed for slow writes and times in whole seconds. */
const stoppedMs = 6000

/** A quiet sandbox in which one ConfigMap is created while the recorder does not run, so that it cannot but receive that late. */
export const liveStopped = (): Promise<LiveReport> =>
  inDirectory(async (directory) => {
    await using cluster = await startSandbox(directory, "nothing")
    const metadata = { namespace: "default", name: "while-stopped" }
    // Without a field there is nothing of which the server notes when it was written.
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } }
    const life = async ({ pid, server }: LiveRecorder): Promise<void> => {
      process.kill(pid, "SIGSTOP")
      await asClient(cluster, (client) => client.create(kinds.configMaps, configMap))
      await sleep(stoppedMs)
      process.kill(pid, "SIGCONT")
      while (!(await isRecorded(server, metadata.name))) await sleep(100)
    }
    return await watched({ name: "a stopped recorder", directory, cluster, life })
  })

/** Ten writes a minute: in a sandbox, or in the cluster of that kubeconfig, which must be one for tests. */
export const liveCalm = (minutes: number, kubeconfig?: string): Promise<LiveReport> =>
  inDirectory(async (directory) => {
    await using cluster =
      kubeconfig === undefined ? await startSandbox(directory, "nothing") : await observeCluster(kubeconfig)
    const name = kubeconfig === undefined ? "ten writes a minute" : "ten writes a minute in a real cluster"
    const life = (): Promise<unknown> => asClient(cluster, (client) => calmLife(client, minutes * 60_000))
    return await watched({ name, directory, cluster, life })
  })

const asClient = async (
  { kubeconfig }: TrueCluster,
  act: (client: ApiClient) => Promise<unknown>,
): Promise<unknown> => {
  const credentials = await loadCredentials({ kubeconfig, context: undefined })
  const client = new ApiClient({ server: credentials, userAgent: "kubereel-bench" })
  try {
    return await act(client)
  } finally {
    client.close()
  }
}

/** A cluster, and the truth about what happened in it so far. */
interface TrueCluster extends AsyncDisposable {
  readonly kubeconfig: string
  readonly truth: () => Promise<TrueTimes>
}

interface LiveRun {
  readonly name: string
  readonly directory: string
  readonly cluster: TrueCluster
  readonly life: (recorder: LiveRecorder) => Promise<unknown>
}

interface LiveRecorder {
  readonly pid: number
  /** URL of its HTTP interface. */
  readonly server: string
}

const watched = async ({ name, directory, cluster, life }: LiveRun): Promise<LiveReport> => {
  const words = ["--config", configuration, "--kubeconfig", cluster.kubeconfig, "--data-dir", join(directory, "data")]
  await using recorder = new LineProcess({
    script: [reel, "record", ...words, "--listen", "127.0.0.1:0"],
    endsBy: "signal",
  })
  const server = await recorder.hear(
    "the recorder's address",
    startMs,
    (line) => /listening on (http:\S+)/.exec(line)?.[1],
  )
  await recorder.during("readiness", untilReady(server))
  const since = Date.now() * 1000
  await recorder.during("life", life({ pid: recorder.pid, server }))
  const coverage = (await (await fetch(`${server}/v1/coverage?start=0`)).json()) as Coverage
  const wholeExport = () => reelExport(server, join(directory, "all.ndjson"), "--require", "all")
  // The cluster lives on, and a change may be received late between two exports. What is late stays late: so nothing was before a trace without it, and
  // something is after a trace with it.
  const before = await wholeExport()
  const trace = join(directory, "trace.ndjson")
  const { code, messages } = await reelExport(server, trace)
  if (code !== 0) throw recorder.error(`the export ended with ${code}: ${messages}`)
  const judged = await judgeTrace(trace, await cluster.truth(), since)
  return {
    ...{ name, ...judged },
    events: coverage.kinds.reduce((sum, { events }) => sum + events, 0),
    exported: judged.late.length === 0 ? before : await wholeExport(),
  }
}

const startSandbox = async (directory: string, plays: "demo" | "nothing"): Promise<TrueCluster> => {
  const kubeconfig = join(directory, "kubeconfig")
  const script = fileURLToPath(new URL("../serving/true-cluster-process.ts", import.meta.url))
  const child = new LineProcess({ script: [script, kubeconfig, plays], endsBy: "input" })
  await child.hear("the sandbox", startMs, fieldOf("ready"))
  return {
    kubeconfig,
    truth: async () => {
      const file = join(directory, "truth.ndjson")
      child.tell({ truth: file })
      await child.hear("the truth", startMs, fieldOf("written"))
      const truth = new TrueTimes()
      for (const line of (await readFile(file, "utf8")).split("\n")) truth.add(JSON.parse(line) as TrueChange)
      return truth
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  }
}

/** A real cluster, with an observer that has a connection of its own. */
const observeCluster = async (kubeconfig: string): Promise<TrueCluster> => {
  const { connection } = await openTestCluster({ ...process.env, KUBEREEL_TEST_KUBECONFIG: kubeconfig })
  const observer = await TimedObserver.start(connection, collections)
  return {
    kubeconfig,
    truth: () => Promise.resolve(observer.seen),
    [Symbol.asyncDispose]: () => observer.stop(),
  }
}

/** The kinds of the configuration, with the paths of their collections. */
const collections: ReadonlyMap<string, string> = new Map([
  ["apps/v1.Deployment", "/apis/apps/v1/deployments"],
  ["apps/v1.ReplicaSet", "/apis/apps/v1/replicasets"],
  ["apps/v1.StatefulSet", "/apis/apps/v1/statefulsets"],
  ["apps/v1.DaemonSet", "/apis/apps/v1/daemonsets"],
  ["batch/v1.Job", "/apis/batch/v1/jobs"],
  ["v1.ConfigMap", "/api/v1/configmaps"],
  ["v1.Pod", "/api/v1/pods"],
])

const untilReady = async (server: string): Promise<void> => {
  const deadline = performance.now() + startMs
  for (;;) {
    const response = await fetch(`${server}/readyz?verbose`)
    const text = await response.text()
    if (response.ok) return
    if (performance.now() > deadline) throw new Error(`the recorder is not ready:\n${text}`)
    await sleep(100)
  }
}

const reelExport = (server: string, trace: string, ...more: ReadonlyArray<string>): Promise<LiveReport["exported"]> =>
  new Promise((resolve) => {
    const words = ["export", "-s", server, "--start", "0", "-o", trace, ...more]
    const child = execFile(process.execPath, [reel, ...words], { timeout: exportMs }, (_error, output, messages) => {
      resolve({ code: child.exitCode ?? -1, messages: `${output}${messages}`.trimEnd() })
    })
  })

/** A line of a trace before its object. Times are µs. */
interface Head {
  readonly gvk: string
  readonly uid: string
  readonly resourceVersion: string
  readonly time: number
  readonly received?: number
}

/** `since`: µs; what happened before, when the recorder was not ready, came by lists. */
const judgeTrace = async (
  trace: string,
  truth: TrueTimes,
  since: number,
): Promise<Pick<LiveReport, "late" | "slowestLive">> => {
  const late: Array<LateChanges & { readonly delays: Array<number | undefined> }> = []
  let slowest = 0
  for await (const line of createInterface(createReadStream(trace))) {
    const object = line.indexOf(',"object":')
    if (late.length === 0 && object < 0) late.push(...rangesIn(line))
    if (object < 0) continue
    const { gvk, uid, resourceVersion: version, time, received } = JSON.parse(`${line.slice(0, object)}}`) as Head
    const happened = truth.of(uid, version)?.micros
    const delay = happened === undefined ? undefined : ((received ?? time) - happened) / 1e6
    if (received !== undefined)
      late
        .find((each) => each.gvk === gvk && received >= each.receivedFrom && received <= each.receivedTo)
        ?.delays.push(delay)
    else if (happened !== undefined && happened > since) slowest = Math.max(slowest, delay ?? 0)
  }
  return { late, slowestLive: slowest }
}

/** Of the first line of a trace; none of any other. */
const rangesIn = (line: string) =>
  (JSON.parse(line) as { late?: ReadonlyArray<LateChanges> }).late?.map((range) => ({ ...range, delays: [] })) ?? []

const inDirectory = async <Result>(use: (directory: string) => Promise<Result>): Promise<Result> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-live-"))
  try {
    return await use(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
