/**
 * The recorder as its users run it: `bin/reel.js record` with the bundles, a configuration and a kubeconfig, in a
 * process of its own. It is asked through its HTTP interface how far it is, ten times a second; what that costs is in
 * the figures.
 */
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises"
import { Agent, get } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import type { BenchCluster } from "../load/generator-process.ts"
import { collectableOptions, collectGarbage } from "../processes/forced-collection.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import type { Progress, RunningSubject, SubjectOptions } from "./subject.ts"

const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
/** ms between two questions; less when the last change is near, so that its moment is known to a few ms. */
const pollMs = 100
const nearMs = 5
/** ms for a process to come up on a busy machine. */
const startMs = 30_000

/** What only the recorder has. */
export interface RecorderOptions extends SubjectOptions {
  /** Writes the recording that it continues, in this directory, which does not exist. Default: it begins a new one. */
  readonly fill?: (directory: string) => void
  /** Further words of the command. Default: none. */
  readonly more?: ReadonlyArray<string>
}

export const startRecorder = async (
  cluster: BenchCluster,
  { kinds, profileDirectory, fill, more = [] }: RecorderOptions,
): Promise<RunningRecorder> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-bench-"))
  const data = join(directory, "data")
  const config = join(directory, "tracer.yml")
  const kubeconfig = join(directory, "kubeconfig")
  const trackedObjects = Object.fromEntries(kinds.map((kind) => [kind, {}]))
  await writeFile(config, JSON.stringify({ trackedObjects }))
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(cluster.server)))
  fill?.(data)
  const settings = ["--config", config, "--kubeconfig", kubeconfig, "--data-dir", data, "--listen", "127.0.0.1:0"]
  const launch = async (): Promise<Launched> => {
    const child = new LineProcess({
      script: [reel, "record", ...settings, "--log-format", "json", ...more],
      endsBy: "signal",
      environment: {
        NODE_OPTIONS:
          profileDirectory === undefined
            ? collectableOptions
            : `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${profileDirectory}`,
      },
    })
    try {
      const server = await child.hear("the recorder's address", startMs, (line) =>
        fieldOf<string>("message")(line)
          ?.match(/^listening on (http:\S+)/)
          ?.at(1),
      )
      return { child, questions: new Questions(server) }
    } catch (cause) {
      await child[Symbol.asyncDispose]()
      throw cause
    }
  }
  const configure = (more: object): Promise<void> => writeFile(config, JSON.stringify({ ...more, trackedObjects }))
  try {
    return new RunningRecorder(await launch(), { directory, data, configure, launch })
  } catch (cause) {
    await rm(directory, { recursive: true, force: true })
    throw cause
  }
}

interface Launched {
  readonly child: LineProcess
  readonly questions: Questions
}

interface Place {
  /** Everything of this recorder; removed with it. */
  readonly directory: string
  readonly data: string
  /** Writes its configuration file. */
  readonly configure: (more: object) => Promise<void>
  /** Starts it with what it has recorded. */
  readonly launch: () => Promise<Launched>
}

export class RunningRecorder implements RunningSubject {
  readonly progress: Array<Progress> = []
  #process: LineProcess
  #questions: Questions
  readonly #place: Place
  /** Events committed when the lists were. */
  #listedEvents = 0

  constructor({ child, questions }: Launched, place: Place) {
    this.#process = child
    this.#questions = questions
    this.#place = place
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Ends the process in order. Changes are missed until {@link RunningRecorder.restart}. */
  async stop(): Promise<void> {
    this.#questions.close()
    await this.#process[Symbol.asyncDispose]()
  }

  /** Starts it again after {@link RunningRecorder.stop}; it continues its recording. */
  async restart(): Promise<void> {
    const { child, questions } = await this.#place.launch()
    this.#process = child
    this.#questions = questions
  }

  async listed(timeoutMs: number): Promise<number> {
    await this.#until("the lists", timeoutMs, async () => {
      // Not when nothing is in its first list, which is what /readyz answers before the watchers have begun.
      const metrics = await this.#questions.metrics()
      const states = [...metrics].filter(([name]) => name.startsWith("kubereel_kind_state{"))
      const watching = states.filter(([name, value]) => name.includes('state="watching"') && value === 1)
      const kinds = new Set(states.map(([name]) => /kind="([^"]*)"/.exec(name)?.at(1)))
      return watching.length === kinds.size ? 0 : pollMs
    })
    // Asked again: one answer's states may be newer than its sequence, which the store tells from its own thread. With that of
    // the first, 310 objects of a list that was committed in between once counted as changes.
    this.#listedEvents = (await this.#questions.metrics()).get("kubereel_store_sequence") ?? 0
    return performance.now()
  }

  async taken(changes: number, timeoutMs: number): Promise<number> {
    let before: Progress | undefined
    await this.#until(`${changes} changes`, timeoutMs, async () => {
      const metrics = await this.#questions.metrics()
      const now: Progress = {
        atMs: performance.now(),
        changes: (metrics.get("kubereel_store_sequence") ?? 0) - this.#listedEvents,
        lagMs: (metrics.get("kubereel_store_lag_seconds") ?? 0) * 1000,
        longestCommitMs: (metrics.get("kubereel_store_longest_commit_seconds") ?? 0) * 1000,
      }
      this.progress.push(now)
      // A gap or an object recorded twice would be a sequence number too: then it is not the changes that were measured.
      if (now.changes > changes) throw new Error(`${now.changes} events were recorded`)
      const restMs = before === undefined ? pollMs : timeUntil(changes, before, now)
      before = now
      return now.changes >= changes ? 0 : Math.max(nearMs, Math.min(pollMs, restMs / 2))
    })
    return performance.now()
  }

  /** Of its HTTP interface, without a slash at the end. */
  get server(): string {
    return this.#questions.server
  }

  /** Changes committed so far. */
  async committed(): Promise<number> {
    return ((await this.metric("kubereel_store_sequence")) ?? 0) - this.#listedEvents
  }

  /** Where it records, for readers beside it. */
  get dataDirectory(): string {
    return this.#place.data
  }

  /** Gives it these settings at the top of its configuration file; it has taken them within some ms. */
  async configure(settings: object): Promise<void> {
    await this.#place.configure(settings)
    process.kill(this.pid, "SIGHUP")
  }

  /** One of its metrics now; `undefined` if it has none of that name. */
  async metric(name: string): Promise<number | undefined> {
    return (await this.#questions.metrics()).get(name)
  }

  async storedBytes(): Promise<number> {
    const files = await readdir(this.#place.data)
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(this.#place.data, file))).size))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  collectGarbage(): Promise<void> {
    return collectGarbage(this.#process)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await rm(this.#place.directory, { recursive: true, force: true })
  }

  /** Asks again and again, at the distance that the question answers in ms; 0 ends it. */
  async #until(what: string, timeoutMs: number, question: () => Promise<number>): Promise<void> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const wait = await question().catch((cause: unknown) => {
        throw this.#process.error(`${what}: ${String(cause)}`)
      })
      if (wait === 0) return
      if (performance.now() > deadline) throw this.#process.error(`${what}: not within ${timeoutMs} ms`)
      await sleep(wait)
    }
  }
}

/** ms until `changes` at the pace between two looks. */
const timeUntil = (changes: number, before: Progress, now: Progress): number =>
  ((changes - now.changes) * (now.atMs - before.atMs)) / Math.max(1, now.changes - before.changes)

/** One connection that is used again and again. */
class Questions {
  readonly server: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(server: string) {
    this.server = server
  }

  /** Values by name, labels included as they are written. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await this.#get("/metrics")
    const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    return new Map(
      samples.map((line) => {
        const space = line.lastIndexOf(" ")
        return [line.slice(0, space), Number(line.slice(space + 1))]
      }),
    )
  }

  close(): void {
    this.#agent.destroy()
  }

  #get(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.server}${path}`, { agent: this.#agent, timeout: 10_000 }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (piece: string) => {
          text += piece
        })
        response.on("end", () => resolve(text))
        response.on("error", reject)
      })
      request.on("timeout", () => request.destroy(new Error("no answer within 10 s")))
      request.on("error", reject)
    })
  }
}

/** A kubeconfig of the generator, which asks for no credentials. */
export const kubeconfigOf = (server: string) => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "bench",
  contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
  clusters: [{ name: "bench", cluster: { server } }],
  users: [{ name: "bench", user: {} }],
})
