/**
 * Any recorder as a subject: a command that follows what `$KUBECONFIG` leads to. Nothing is asked of it, so what it has taken is
 * judged from outside. It has listed when a watch of Deployments is open and its processes have come to rest; it has taken the
 * changes when nothing waits in the kernel for it to read and its processes are at rest again. At rest means: hardly more CPU than
 * before the changes, for 300 ms; the moment is when that began. So a recorder that defers its work past such a pause seems
 * cheaper than it is, and one that never rests cannot be measured and is reported.
 *
 * The command is run by /bin/sh in a process group of its own; its CPU and memory are the group's. It gets
 *
 *   KUBECONFIG         a kubeconfig without credentials, http
 *   BENCH_CONFIG       a file that names the kinds as `trackedObjects`, which SimKube's tracer and `reel record` both read
 *   BENCH_DIRECTORY    an empty directory for its data, removed afterwards
 *
 * and is ended by SIGTERM.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { BenchCluster } from "../load/generator-process.ts"
import { LineProcess } from "../processes/line-process.ts"
import { groupCpuSeconds, processesOf, unreadBytes } from "../processes/process-group.ts"
import { kubeconfigOf } from "./recorder-subject.ts"
import { type CpuLook, restBegins } from "./rest.ts"
import type { RunningSubject, StartSubject } from "./subject.ts"

/** ms between two looks. */
const lookMs = 25
/** ms over which its CPU at rest is measured after the lists. */
const idleMs = 1000

export const startPeer =
  (command: string): StartSubject =>
  async (cluster, { kinds }): Promise<RunningSubject> => {
    const directory = await mkdtemp(join(tmpdir(), "kubereel-peer-"))
    const [config, kubeconfig] = [join(directory, "tracer.yml"), join(directory, "kubeconfig")]
    await writeFile(config, JSON.stringify({ trackedObjects: Object.fromEntries(kinds.map(trackedObject)) }))
    await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(cluster.server)))
    const data = await mkdtemp(join(directory, "data-"))
    const environment = { KUBECONFIG: kubeconfig, BENCH_CONFIG: config, BENCH_DIRECTORY: data }
    return new Peer(new LineProcess({ script: command, environment, endsBy: "signal" }), cluster, directory)
  }

/** SimKube refuses kinds that it does not know without the place of a pod template. */
const trackedObject = (gvk: string): readonly [string, object] => [
  gvk,
  gvk.startsWith("apps/") || gvk.startsWith("v1.") ? {} : { podSpecTemplatePaths: ["/spec/template"] },
]

class Peer implements RunningSubject {
  readonly pid: number
  /** It reads them, and whether it keeps them is its own affair. */
  readonly #process: LineProcess
  readonly #cluster: BenchCluster
  readonly #directory: string
  /** Share of a CPU that it uses when nothing happens. */
  #idleShare = 0

  constructor(process: LineProcess, cluster: BenchCluster, directory: string) {
    this.pid = process.pid
    this.#process = process
    this.#cluster = cluster
    this.#directory = directory
  }

  processes(): ReadonlyArray<number> {
    return processesOf(this.pid)
  }

  async listed(timeoutMs: number): Promise<number> {
    const isWatched = (): boolean => this.#cluster.watches > 0
    const atMs = await this.#process.during("the peer's lists", this.#rest(timeoutMs, "listed", isWatched))
    const before = this.#cpuSeconds()
    await sleep(idleMs)
    this.#idleShare = ((this.#cpuSeconds() - before) * 1000) / idleMs
    return atMs
  }

  taken(_changes: number, timeoutMs: number): Promise<number> {
    const sent = this.#cluster.whenSent(timeoutMs)
    let isSent = false
    const mark = sent.then(() => {
      isSent = true
    })
    const rest = this.#rest(timeoutMs, "taken the changes", () => isSent)
    return this.#process.during(
      "the peer",
      Promise.all([rest, mark]).then(([atMs]) => atMs),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true, force: true })
  }

  /** When the rest began that followed `isPossible` and the reading of everything, ms as `performance.now`. */
  async #rest(timeoutMs: number, what: string, isPossible: () => boolean): Promise<number> {
    const deadline = performance.now() + timeoutMs
    let looks: Array<CpuLook> = []
    for (;;) {
      if (this.#process.isOver) throw this.#process.error(`the peer has ended before it had ${what}`)
      if (isPossible() && unreadBytes(this.#cluster.port) === 0) {
        looks.push({ atMs: performance.now(), cpuSeconds: this.#cpuSeconds() })
        const atMs = restBegins(looks, this.#idleShare)
        if (atMs !== undefined) return atMs
      } else looks = []
      if (performance.now() > deadline) throw this.#process.error(`the peer has not ${what} within ${timeoutMs} ms`)
      await sleep(lookMs)
    }
  }

  #cpuSeconds(): number {
    return groupCpuSeconds(this.pid)
  }
}
