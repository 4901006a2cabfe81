/**
 * Whether a recorder calls changes late that it received when they happened: it records a cluster for a while in which nothing fails, and says afterwards
 * what it received late. Cluster and recorder are processes of their own, as their users run them.
 */
import { execFile } from "node:child_process"
import { createReadStream } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { ApiClient } from "../../src/kube/client/api-client.ts"
import { loadCredentials } from "../../src/kube/credentials/credentials.ts"
import type { Coverage, KindCoverage } from "../../src/recorder/http/coverage.ts"
import { calmLife } from "../load/calm-life.ts"
import { LineProcess } from "../processes/line-process.ts"

const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
/** Records every version of every object of seven kinds, and the lives of pods. */
const configuration = fileURLToPath(new URL("../../scripts/demo.yml", import.meta.url))
/** ms for a process to come up, or to export, on a busy machine. */
const startMs = 60_000
const exportMs = 10 * 60_000

/** What a recorder says after the time in which nothing failed. */
export interface LiveReport {
  readonly name: string
  readonly minutes: number
  /** Changes in the recording, and those of them with a time of receipt of their own. */
  readonly events: number
  readonly lateEvents: number
  readonly lateRanges: ReadonlyArray<KindCoverage["late"][number] & { readonly gvk: string }>
  /** Exit code and messages of `reel export --require all`. */
  readonly exported: { readonly code: number; readonly messages: string }
}

/** A sandbox in which the demo goes on and on. `stoppedMs`: the recorder does not run for so long, so that it cannot but receive changes late. */
export const liveDemo = (minutes: number, { stoppedMs = 0 } = {}): Promise<LiveReport> =>
  inDirectory(async (directory) => {
    const kubeconfig = join(directory, "kubeconfig")
    await using _sandbox = await startSandbox(kubeconfig, ["--workload", "demo"])
    const life = async (recorder: number): Promise<void> => {
      const lengthMs = minutes * 60_000
      await sleep((lengthMs - stoppedMs) / 2)
      if (stoppedMs > 0) {
        process.kill(recorder, "SIGSTOP")
        await sleep(stoppedMs)
        process.kill(recorder, "SIGCONT")
      }
      await sleep((lengthMs - stoppedMs) / 2)
    }
    return await watched({ name: "demo", directory, kubeconfig, minutes, life })
  })

/** Ten writes a minute: in a sandbox, or in the cluster of that kubeconfig, which must be one for tests. */
export const liveCalm = (minutes: number, cluster?: string): Promise<LiveReport> =>
  inDirectory(async (directory) => {
    const kubeconfig = cluster ?? join(directory, "kubeconfig")
    await using _sandbox = cluster === undefined ? await startSandbox(kubeconfig, []) : undefined
    const credentials = await loadCredentials({ kubeconfig, context: undefined })
    const client = new ApiClient({ server: credentials, userAgent: "kubereel-bench" })
    const name = cluster === undefined ? "ten writes a minute" : "ten writes a minute, control plane"
    try {
      return await watched({ name, directory, kubeconfig, minutes, life: () => calmLife(client, minutes * 60_000) })
    } finally {
      client.close()
    }
  })

interface LiveRun {
  readonly name: string
  readonly directory: string
  readonly kubeconfig: string
  readonly minutes: number
  /** Gets the recorder's process. */
  readonly life: (recorder: number) => Promise<unknown>
}

const watched = async ({ name, directory, kubeconfig, minutes, life }: LiveRun): Promise<LiveReport> => {
  const words = ["--config", configuration, "--kubeconfig", kubeconfig, "--data-dir", join(directory, "data")]
  await using recorder = new LineProcess({
    script: [reel, "record", ...words, "--port", "0"],
    endsBy: "signal",
  })
  const server = await recorder.hear(
    "the recorder's address",
    startMs,
    (line) => /listening on (http:\S+)/.exec(line)?.[1],
  )
  await recorder.during("readiness", untilReady(server))
  await recorder.during("life", life(recorder.pid))
  const coverage = (await (await fetch(`${server}/v1/coverage?start=0`)).json()) as Coverage
  const exported = await reelExport(server, join(directory, "all.ndjson"), "--require", "all")
  const trace = join(directory, "trace.ndjson")
  const { code, messages } = await reelExport(server, trace)
  if (code !== 0) throw recorder.error(`the export ended with ${code}: ${messages}`)
  return {
    ...{ name, minutes, exported },
    events: coverage.kinds.reduce((sum, { events }) => sum + events, 0),
    lateEvents: await countLate(trace),
    lateRanges: coverage.kinds.flatMap(({ gvk, late }) => late.map((range) => ({ ...range, gvk }))),
  }
}

const startSandbox = async (kubeconfig: string, words: ReadonlyArray<string>): Promise<LineProcess> => {
  const script = [reel, "sandbox", "--port", "0", "--kubeconfig", kubeconfig, ...words]
  const sandbox = new LineProcess({ script, endsBy: "signal" })
  await sandbox.hear("the sandbox", startMs, (line) => (line.startsWith("Press Ctrl-C") ? true : undefined))
  return sandbox
}

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

/** Lines of events, up to the object, in which the time of receipt is not that of the change. */
const countLate = async (trace: string): Promise<number> => {
  let count = 0
  for await (const line of createInterface(createReadStream(trace))) {
    const object = line.indexOf(',"object":')
    if (object > 0 && line.lastIndexOf('"received":', object) > 0) count++
  }
  return count
}

const inDirectory = async <Result>(use: (directory: string) => Promise<Result>): Promise<Result> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-live-"))
  try {
    return await use(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
