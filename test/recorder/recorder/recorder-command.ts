/**
 * `reel record` as users run it: the real command as a child process, its output, its responses and its end.
 *
 * Everything that a test starts belongs to one {@link Workplace}: a directory with configuration and kubeconfig, and the processes, all of
 * which are gone when it is closed.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { patient } from "../../harness/patience.ts"
import { closeIfTestFails } from "../../harness/started.ts"

export const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))

/** The content of a kubeconfig of one cluster and one user. */
export interface ClusterEntry {
  readonly server: string
  /** Members of `cluster`, besides the server: `certificate-authority-data`, … */
  readonly cluster?: Readonly<Record<string, unknown>>
  /** Members of `user`: `tokenFile`, … Default: anonymous. */
  readonly user?: Readonly<Record<string, unknown>>
}

export const kubeconfigOf = ({ server, cluster = {}, user = {} }: ClusterEntry): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "sandbox", cluster: { server, ...cluster } }],
    users: [{ name: "tester", user }],
    contexts: [{ name: "sandbox", context: { cluster: "sandbox", user: "tester" } }],
    "current-context": "sandbox",
  })

/** Kinds, each with its settings in YAML's flow form: `{}` or `{detect: all}`. */
export const configurationOf = (kinds: Readonly<Record<string, string>>): string =>
  `trackedObjects:\n${Object.entries(kinds)
    .map(([gvk, settings]) => `  ${gvk}: ${settings}\n`)
    .join("")}`

/** How a process ended. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** ms since it was started. */
  readonly afterMs: number
}

/** One line of `/export`'s NDJSON that is about an object or a gap. */
export interface ExportedLine {
  readonly gvk: string
  readonly action: "applied" | "deleted" | "vanished" | "gap"
  readonly name: string
  readonly resourceVersion: string
  readonly reason?: string
  readonly detail?: string
}

export interface ProcessOptions extends SpawnOptions {
  /** Makes another program start the command. */
  readonly wrapped?: Wrap
}

export type Wrap = (words: ReadonlyArray<string>) => ReadonlyArray<string>

/** Runs the command on a terminal of that width, by script(1); its output is on standard output. */
export const onTerminal =
  (columns: number): Wrap =>
  (words) => {
    const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    return ["script", "-qefc", `stty cols ${columns} rows 24; exec ${quoted.join(" ")}`, "/dev/null"]
  }

/** A process of `reel`. */
export class ReelProcess {
  readonly child: ChildProcess
  readonly ended: Promise<Ending>
  #log = ""
  #output = ""
  #ending: Ending | undefined

  constructor(parameters: ReadonlyArray<string>, options: ProcessOptions) {
    const startedMs = performance.now()
    const { wrapped = (words) => words, ...rest } = options
    const [program = "", ...words] = wrapped([process.execPath, reel, ...parameters])
    const { KUBECONFIG: _kubeconfig, NO_COLOR: _colour, FORCE_COLOR: _force, ...env } = process.env
    this.child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], env, ...rest })
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text
    })
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#log += text
    })
    this.ended = new Promise((resolve, reject) => {
      this.child.on("error", reject)
      // Not "close": a pipe that another process holds open must not look like a living process.
      this.child.on("exit", (code, signal) => {
        this.#ending = { code, signal, afterMs: performance.now() - startedMs }
        setImmediate(() => resolve(this.#ending as Ending))
      })
    })
  }

  /** Everything written to standard error so far. */
  get log(): string {
    return this.#log
  }

  /** Everything written to standard output so far. */
  get output(): string {
    return this.#output
  }

  /** `undefined` while it runs. */
  get ending(): Ending | undefined {
    return this.#ending
  }

  /** Its whole output, on both streams. */
  get said(): string {
    return this.#log + this.#output
  }

  /** Resolves once its output matches; rejects if the process ends first, or after the deadline. */
  async says(pattern: RegExp, deadlineMs = 15_000): Promise<RegExpMatchArray> {
    await until(
      () => pattern.test(this.said) || this.#ending !== undefined,
      () => `${pattern} in what it said:\n${this.said}`,
      deadlineMs,
    )
    const match = this.said.match(pattern)
    if (match === null)
      throw new Error(`it ended with ${JSON.stringify(this.#ending)} without ${pattern}:\n${this.said}`)
    return match
  }

  async kill(): Promise<void> {
    if (this.#ending !== undefined) return
    this.child.kill("SIGKILL")
    await this.ended
  }
}

/** A recorder and its HTTP interface. */
export class RecorderProcess extends ReelProcess {
  #url: string | undefined

  /** Resolves when it listens. */
  async listening(deadlineMs = 15_000): Promise<string> {
    this.#url ??= `http://127.0.0.1:${(await this.says(/listening on http:\/\/[^ ]*:(\d+)/, deadlineMs))[1]}`
    return this.#url
  }

  async get(path: string): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }> {
    const answer = await this.#fetch(path)
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }

  async ready(deadlineMs = 15_000): Promise<void> {
    await this.until(async () => (await this.get("/readyz")).status === 200, "readiness", deadlineMs)
  }

  /** The line of a kind in `/readyz?verbose`, without its mark: `v1.Pod watching: from version 7`. */
  async kind(gvk: string): Promise<string> {
    const { text } = await this.get("/readyz?verbose")
    return (
      text
        .split("\n")
        .find((line) => line.slice(3).startsWith(`${gvk} `))
        ?.slice(3) ?? `${gvk} is not there: ${text}`
    )
  }

  /** Waits for the kind's line to match. */
  async inState(gvk: string, pattern: RegExp, deadlineMs = 15_000): Promise<string> {
    let line = ""
    const matches = async (): Promise<boolean> => {
      line = await this.kind(gvk)
      return pattern.test(line)
    }
    await this.until(matches, `${gvk} to be ${pattern}`, deadlineMs, () => line)
    return line
  }

  /** A metric's value; `undefined` if it has none. `series` as it is written, labels included. */
  async metric(series: string): Promise<number | undefined> {
    const { text } = await this.get("/metrics")
    const line = text.split("\n").find((each) => each.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }

  async post(body: unknown, signal?: AbortSignal): Promise<Response> {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    return this.#fetch("/export", { method: "POST", body: text, ...(signal !== undefined && { signal }) })
  }

  /**
   * A test that computed for seconds has not noticed that the recorder closed an idle connection, and asks on it. Nothing asked here changes anything, so
   * it is asked once more.
   */
  async #fetch(path: string, init?: RequestInit): Promise<Response> {
    const url = (await this.listening()) + path
    try {
      return await fetch(url, init)
    } catch (error) {
      const { cause } = error as { cause?: { code?: string } }
      if (this.ending !== undefined || cause?.code !== "UND_ERR_SOCKET") throw error
      return fetch(url, init)
    }
  }

  /** Everything recorded, once no kind is in its first list: before that the response is 503. */
  async exported(): Promise<ReadonlyArray<ExportedLine>> {
    let answer = await this.post(everything("ndjson"))
    let text = await answer.text()
    const isListing = (): boolean => answer.status === 503 && text.includes("listed for the first time")
    await this.until(async () => {
      if (!isListing()) return true
      answer = await this.post(everything("ndjson"))
      text = await answer.text()
      return !isListing()
    }, "the end of the first lists")
    if (answer.status !== 200) throw new Error(`the export failed with ${answer.status}: ${text}`)
    return text
      .split("\n")
      .filter((line) => line.includes('"action"'))
      .map((line) => JSON.parse(line) as ExportedLine)
  }

  /** Stops it; returns how it ended and how long that took. */
  async stop(signal: NodeJS.Signals = "SIGTERM", deadlineMs = 20_000): Promise<Ending & { readonly tookMs: number }> {
    const askedMs = performance.now()
    this.child.kill(signal)
    await until(
      () => this.ending !== undefined,
      () => `its end after ${signal}:\n${this.log}`,
      deadlineMs,
    )
    return { ...(await this.ended), tookMs: performance.now() - askedMs }
  }

  async until(
    condition: () => boolean | Promise<boolean>,
    what: string,
    deadlineMs = 15_000,
    found: () => string = () => "",
  ): Promise<void> {
    await until(
      async () => {
        if (this.ending !== undefined) throw new Error(`it ended with ${JSON.stringify(this.ending)}:\n${this.log}`)
        return condition()
      },
      () => `${what}; ${found()}\nthe log says:\n${this.log}`,
      deadlineMs,
    )
  }
}

/** An export request for the whole recording. */
export const everything = (format: "ndjson" | "simkube") => ({
  start_ts: 0,
  end_ts: 4_000_000_000,
  export_path: "file:///export",
  filters: { excluded_namespaces: [], excluded_labels: [] },
  format,
})

export interface RecordSettings {
  /** `all`: with `--all` instead of a configuration. */
  readonly kinds?: Readonly<Record<string, string>> | "all"
  readonly cluster?: ClusterEntry
  /** Default: `data` in the workplace. `"none"`: chosen by the recorder. */
  readonly dataDir?: string
  readonly more?: ReadonlyArray<string>
  /** For several recorders in one workplace: part of the names of their files. Default: one set of files for all. */
  readonly name?: string
  readonly options?: ProcessOptions
}

/** A directory and processes of one test. */
export class Workplace {
  readonly directory = mkdtempSync(join(tmpdir(), "kubereel-recorder-"))
  readonly #processes: ReelProcess[] = []
  /** A test that times out never closes its workplace. */
  readonly #isClosed = closeIfTestFails(() => this.close())

  path(name: string): string {
    return join(this.directory, name)
  }

  write(name: string, text: string | Uint8Array): string {
    const path = this.path(name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** Starts `reel record`. Without `cluster` the kubeconfig is the one written before. */
  record(settings: RecordSettings): RecorderProcess {
    const { kinds = { "v1.ConfigMap": "{}" }, cluster, dataDir = this.path("data"), more = [], options = {} } = settings
    const { name = "" } = settings
    const what = kinds === "all" ? ["--all"] : ["--config", this.write(`config${name}.yml`, configurationOf(kinds))]
    const path = this.path(`kubeconfig${name}`)
    const kubeconfig = cluster === undefined ? path : this.write(`kubeconfig${name}`, kubeconfigOf(cluster))
    const words = ["record", ...what, "--kubeconfig", kubeconfig, "--listen", "0"]
    if (dataDir !== "none") words.push("--data-dir", dataDir)
    return this.#keep(new RecorderProcess([...words, ...more], options))
  }

  reel(...words: ReadonlyArray<string>): ReelProcess {
    return this.#keep(new ReelProcess(words, {}))
  }

  async close(): Promise<void> {
    this.#isClosed()
    await Promise.all(this.#processes.map((each) => each.kill()))
    rmSync(this.directory, { recursive: true, force: true })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #keep<Kept extends ReelProcess>(started: Kept): Kept {
    this.#processes.push(started)
    return started
  }
}

/** Polls for an effect of another thread or process. The deadline is for an idle machine. */
export const until = async (
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  deadlineMs = 15_000,
): Promise<void> => {
  const startedMs = performance.now()
  for (;;) {
    const askedMs = performance.now()
    if (await condition()) return
    const nowMs = performance.now()
    if (nowMs - startedMs > patient(deadlineMs))
      throw new Error(`waited ${Math.round(nowMs - startedMs)} ms for ${typeof what === "string" ? what : what()}`)
    // Three times as long as the question took: asking must not take the CPU of what is waited for.
    const pauseMs = Math.min(Math.max(10, 3 * (nowMs - askedMs)), 1000)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
