/** What scenario *host* measures: controllers on the same cluster, in one process or in one each. */
import { fieldOf, LineProcess, type LineProcessOptions } from "../processes/line-process.ts"
import { readCpuSeconds, readPss } from "../processes/process-watch.ts"
import { asJavaScript } from "../subjects/as-javascript.ts"
import type { Measured } from "./change-stamp.ts"
import { buildCountingGuest, measuredIn } from "./counting-guest.ts"
import { gvkOfKind, type HostCluster, type HostKind, listPath } from "./host-cluster.ts"
import type { ModulesOptions, ModulesState } from "./modules-process.ts"

/**
 * `modules`: WebAssembly, `controllers`: TypeScript, each in one process for all; `informers`: client-node, `managers`: controller-runtime, in a
 * process for each.
 */
export type SubjectSort = "modules" | "controllers" | "informers" | "managers"

export interface HostedOptions {
  readonly sort: SubjectSort
  /** The kinds of each controller. */
  readonly watched: ReadonlyArray<ReadonlyArray<HostKind>>
  /** The built program of `managers`, which they need. */
  readonly managerPath?: string | undefined
}

/** Threads that modules share: the same on every machine, so that results can be compared. */
const workers = 2
/** ms for everything to be listed on a busy machine. */
const startMs = 60_000
/** ms for what has been sent to be delivered. */
const patienceMs = 60_000

export class HostedSubject implements AsyncDisposable {
  readonly #processes: ReadonlyArray<LineProcess>
  /** ms from the order to start until it was entered first, for each module in turn. */
  readonly startedMs: ReadonlyArray<number>
  readonly #marks: number

  /** Resolves when all have listed. */
  static async start(cluster: HostCluster, options: HostedOptions): Promise<HostedSubject> {
    const { sort, watched } = options
    const commands = await commandsOf(cluster, options)
    const processes: Array<LineProcess> = []
    // Each ends with this process.
    process.setMaxListeners(Math.max(process.getMaxListeners(), commands.length + 10))
    try {
      let startedMs: ReadonlyArray<number> = []
      // One after another: together they would be slower, and the last ones not within their time.
      for (const command of commands) {
        const child = new LineProcess({ ...command, endsBy: "input" })
        processes.push(child)
        const synced =
          sort === "modules"
            ? heard(child, "the lists", startMs, watched.length, (line) => fieldOf<string>("log")(line) === "synced")
            : child.hear("the lists", startMs, fieldOf<boolean>("synced"))
        // Awaited below; the process may end before.
        synced.catch(() => undefined)
        if (sort === "modules") startedMs = await child.hear("the starts", startMs, fieldOf<number[]>("started"))
        await synced
      }
      const marks = watched.reduce((sum, kinds) => sum + kinds.length, 0)
      return new HostedSubject(processes, startedMs, marks)
    } catch (cause) {
      for (const child of processes) await child[Symbol.asyncDispose]()
      throw cause
    }
  }

  private constructor(processes: ReadonlyArray<LineProcess>, startedMs: ReadonlyArray<number>, marks: number) {
    this.#processes = processes
    this.startedMs = startedMs
    this.#marks = marks
  }

  /** Of all its processes, bytes. */
  get pss(): number {
    return this.#processes.reduce((sum, { pid }) => sum + readPss(pid), 0)
  }

  /** Of all its processes so far, s. */
  get cpuSeconds(): number {
    return this.#processes.reduce((sum, { pid }) => sum + readCpuSeconds(pid), 0)
  }

  get pid(): number {
    return this.#processes[0]?.pid ?? 0
  }

  /** What all controllers have measured since the last mark: one entry for each change that entered one of them, µs. */
  async measured(mark: () => Promise<void>): Promise<ReadonlyArray<number>> {
    const latencies: Array<number> = []
    const read = (line: string): boolean => {
      const log = fieldOf<string>("log")(line)
      const measured = log === undefined ? fieldOf<Measured>("measured")(line) : measuredIn(log)
      if (measured === undefined) return false
      for (const [micros, changes] of measured.latencies) for (let n = 0; n < changes; n++) latencies.push(micros)
      return true
    }
    const marksEach = this.#marks / this.#processes.length
    const all = Promise.all(this.#processes.map((child) => heard(child, "the marks", patienceMs, marksEach, read)))
    // Awaited below; a process may end before.
    all.catch(() => undefined)
    await mark()
    await all
    return latencies
  }

  /** Only of modules. */
  async state(): Promise<ModulesState> {
    const [child] = this.#processes
    if (child === undefined) throw new Error("a subject without a process")
    const state = child.hear("the state", patienceMs, fieldOf<ModulesState>("state"))
    child.tell({ ask: "state" })
    return await state
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((child) => child[Symbol.asyncDispose]()))
  }
}

/** Resolves with the `count`th line for which `isOne` holds. */
const heard = (
  child: LineProcess,
  what: string,
  timeoutMs: number,
  count: number,
  isOne: (line: string) => boolean,
): Promise<true> => {
  let found = 0
  return child.hear(what, timeoutMs, (line) => (isOne(line) && ++found === count ? true : undefined))
}

/** Of each process. */
const commandsOf = async (
  { port }: HostCluster,
  { sort, watched, managerPath }: HostedOptions,
): Promise<ReadonlyArray<Pick<LineProcessOptions, "program" | "script">>> => {
  if (sort === "managers") {
    if (managerPath === undefined) throw new Error("managers need the program that controller-runtime was built into")
    return watched.map((kinds) => ({ program: managerPath, script: [String(port), ...kinds.map(gvkOfKind)] }))
  }
  const programOf = (packages: "imported" | "bundled"): Promise<string> => {
    const name = { modules: "modules-process", controllers: "controllers-process", informers: "informer-process" }[sort]
    return asJavaScript(new URL(`./${name}.ts`, import.meta.url), packages)
  }
  if (sort === "controllers") {
    const kinds = watched.map((each) => each.map(gvkOfKind).join(","))
    return [{ script: [await programOf("imported"), String(port), ...kinds] }]
  }
  if (sort === "informers") {
    const program = await programOf("imported")
    const argument = (kind: HostKind): string => [kind.apiVersion, kind.kind, listPath(kind)].join(",")
    return watched.map((kinds) => ({ script: [program, String(port), ...kinds.map(argument)] }))
  }
  const modules = watched.map(buildCountingGuest)
  const options: ModulesOptions = { port, modules, workers }
  return [{ script: [await programOf("bundled"), JSON.stringify(options)] }]
}
