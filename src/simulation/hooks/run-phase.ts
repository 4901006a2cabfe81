/**
 * Runs the hooks of one phase in order, each at most once. Its start is recorded before its process is started: a
 * hook that is found begun may have had its effect, so it counts as failed and is not run again.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { StringDecoder } from "node:string_decoder"
import { isDeepStrictEqual } from "node:util"
import type { Clock, Timers } from "../../clock.ts"
import { ConflictError, ForbiddenError, InvalidError, NotFoundError, parseDuration, pause } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { defaultHookTimeout, type Hook, type Simulation } from "../api/simulation.ts"
import { type HookRun, hookOutputBytes, type hookPhases, longestHistory } from "../api/status.ts"

// Runs one hook of a Simulation as a child process, in a process group of its own, for a limited time.

/** How a hook went. */
export interface HookOutcome {
  /** Absent if it was killed or could not be started. */
  readonly exitCode?: number
  /** Why there is no exit code. */
  readonly message?: string
  /** The end of what it wrote to standard output and standard error, at most {@link hookOutputBytes}. */
  readonly output: string
}

/** What a hook is given and what it is bound to. */
export interface HookSurroundings {
  /** The Simulation as JSON, for hooks with `sendSim`. */
  readonly simulation: unknown
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly timers: Timers
  /** Ends the hook. */
  readonly signal: AbortSignal
  readonly onOutput: (chunk: Buffer) => void
}

/** ms between SIGTERM and SIGKILL. */
const graceMs = 5000
/** ms for which output is read after the hook has ended: a process that left its group may hold the pipes open for ever. */
const lingeringMs = 1000

/** Never rejects. */
export const runHook = (hook: Hook, surroundings: HookSurroundings): Promise<HookOutcome> =>
  new Promise((resolve) => {
    const { simulation, environment, timers, signal, onOutput } = surroundings
    const timeout = hook.timeout ?? defaultHookTimeout
    const timeoutMs = parseDuration(timeout)
    if (timeoutMs === undefined) return resolve({ message: `its timeout ${timeout} is no duration`, output: "" })
    if (signal.aborted) return resolve({ message: interrupted, output: "" })
    const decoder = new StringDecoder("utf8")
    let output = ""
    let ended: string | undefined
    let last: { cancel(): void } | undefined
    let child: ChildProcessWithoutNullStreams
    try {
      child = spawn(hook.cmd, [...(hook.args ?? [])], { env: { ...environment }, detached: true })
    } catch (error) {
      // An empty command, or a NUL in an argument.
      return resolve({ message: `it cannot be started: ${messageOf(error)}`, output: "" })
    }
    const kill = (name: NodeJS.Signals): void => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, name)
      } catch (error) {
        // No process is left in the group.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
      }
    }
    const end = (message: string): void => {
      if (ended !== undefined) return
      ended = message
      kill("SIGTERM")
      last = timers.after(graceMs, () => kill("SIGKILL"))
    }
    const limit = timers.after(timeoutMs, () => end(`it took longer than ${timeout} and was ended`))
    const abort = (): void => end(interrupted)
    signal.addEventListener("abort", abort, { once: true })
    const done = (outcome: Omit<HookOutcome, "output">): void => {
      limit.cancel()
      last?.cancel()
      signal.removeEventListener("abort", abort)
      resolve({ ...outcome, output: endOf(output) })
    }
    const read = (chunk: Buffer): void => {
      output = (output + decoder.write(chunk)).slice(-2 * hookOutputBytes)
      onOutput(chunk)
    }
    child.stdout.on("data", read)
    child.stderr.on("data", read)
    // A hook that does not read its input is none of our concern.
    child.stdin.on("error", () => undefined)
    child.stdin.end(hook.sendSim === true ? JSON.stringify(simulation) : "")
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined)
        done({ message: error.code === "ENOENT" ? `${hook.cmd} was not found` : error.message })
    })
    child.on("exit", () => {
      kill("SIGKILL")
      last?.cancel()
      last = timers.after(lingeringMs, () => {
        child.stdout.destroy()
        child.stderr.destroy()
      })
    })
    child.on("close", (code, by) => {
      if (child.pid === undefined) return
      if (ended !== undefined) return done({ message: ended })
      done(code === null ? { message: `it was ended by ${by}` } : { exitCode: code })
    })
  })

/** At most {@link hookOutputBytes} of UTF-8, of whole characters; without NULs, which etcd's text cannot show. */
const endOf = (output: string): string => {
  const bytes = Buffer.from(output.replaceAll("\0", ""))
  let from = Math.max(0, bytes.length - hookOutputBytes)
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++
  return bytes.toString("utf8", from)
}

/** The simulation is being deleted, or its controller or driver is ended. */
const interrupted = "it was interrupted"

/** The hooks of one phase, what is known of them, and how they are run. */
interface PhaseOptions {
  readonly phase: (typeof hookPhases)[number]
  /** From 1; `undefined` for phases that are run once. */
  readonly repetition: number | undefined
  readonly hooks: ReadonlyArray<Hook>
  /** `status.hooks`, as it is. */
  readonly earlier: ReadonlyArray<HookRun>
  /** Puts a run into `status.hooks`, instead of the one with the same phase, repetition and index. What it rejects with ends the phase. */
  readonly record: (run: HookRun) => Promise<void>
  readonly run: (hook: Hook) => Promise<HookOutcome>
  /** RFC 3339. */
  readonly now: () => string
}

/** A hook whose failure is not to be ignored. */
interface HookFailure {
  readonly hook: Hook
  readonly run: HookRun
}

/**
 * The first failure that is not to be ignored; the hooks after it are not run. `undefined`: the simulation may
 * continue. Rejects with what `record` rejects with.
 */
export const runPhase = async (options: PhaseOptions): Promise<HookFailure | undefined> => {
  for (const [index, hook] of options.hooks.entries()) {
    const run = await ranOnce(options, hook, index)
    if (run.exitCode !== 0 && hook.ignoreFailure !== true) return { hook, run }
  }
  return undefined
}

const ranOnce = async (options: PhaseOptions, hook: Hook, index: number): Promise<HookRun> => {
  const { phase, repetition, earlier, record, run, now } = options
  const known = earlier.find((each) => isRunOf(each, { phase, repetition, index }))
  if (known?.endTime !== undefined) return known
  if (known !== undefined) {
    const lost = { ...known, endTime: now(), message: interrupted }
    await record(lost)
    return lost
  }
  const started: HookRun = { phase, index, ...(repetition !== undefined && { repetition }), startTime: now() }
  await record(started)
  const { exitCode, message, output } = await run(hook)
  const ended = {
    ...started,
    endTime: now(),
    ...(exitCode !== undefined && { exitCode }),
    ...(message !== undefined && { message: message.slice(0, 1024) }),
    ...(output !== "" && { output }),
  }
  await record(ended)
  return ended
}

/** Whether it is a run of that hook. */
export const isRunOf = (
  run: HookRun,
  { phase, repetition, index }: { phase: string; repetition: number | undefined; index: number },
): boolean => run.phase === phase && run.index === index && run.repetition === repetition

/** One sentence for people. */
export const describeHookFailure = ({ hook, run }: HookFailure): string => {
  const reason = run.exitCode === undefined ? (run.message ?? interrupted) : `it ended with exit code ${run.exitCode}`
  const output = run.output?.trim().split("\n").at(-1)
  const excerpt = output === undefined || output === "" ? "" : `; the end of its output: ${output.slice(-300)}`
  return `the ${run.phase} hook ${run.index + 1} (${[hook.cmd, ...(hook.args ?? [])].join(" ").slice(0, 200)}) failed: ${reason}${excerpt}`
}

/** How the code that runs hooks reads the Simulation and writes its status. */
interface HookRecord {
  /** Of the Simulation whose hook it is; another one of its name has hooks of its own. */
  readonly uid: string | undefined
  /** From the server. */
  readonly read: () => Promise<Simulation>
  /** A merge patch of the status; resolves with what is stored. */
  readonly write: (latest: Simulation, patch: object) => Promise<Simulation>
  readonly clock: Clock
  readonly run: HookRun
  /** Ends further attempts; one is made in any case. */
  readonly signal: AbortSignal
}

/** ms for which a server that is away is waited for. A hook whose end is not recorded counts as interrupted. */
const patienceMs = 120_000
const firstPauseMs = 200
const longestPauseMs = 5000

/**
 * Puts one run of a hook into `status.hooks`, which controller and driver both write: the latest list is read, changed, and written back only if nothing
 * has changed meanwhile. Rejects with the last error: {@link HookUnrecordable}, {@link HookTaken}, {@link SimulationReplaced}, or if the Simulation is
 * gone or refuses, if the server is away for too long, or if it was aborted.
 */
export const recordHookRun = async (record: HookRecord): Promise<void> => {
  const { clock, signal } = record
  const deadline = clock.monotonicMs() + patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await recordOnce(record)
    } catch (error) {
      const isHopeless = hopeless.some((kind) => error instanceof kind)
      if (isHopeless || signal.aborted || clock.monotonicMs() > deadline) throw error
      if (!(error instanceof ConflictError)) await pause(clock, pauseMs, signal)
    }
  }
}

/** There is no place for the run: the API server accepts the status and drops it, or refuses it for good. */
export class HookUnrecordable extends Error {}

/** Another process has run the hook, which must not run twice. */
class HookTaken extends Error {}

/** The Simulation was deleted, and another one has its name. */
class SimulationReplaced extends Error {}

const hopeless = [NotFoundError, ForbiddenError, InvalidError, HookUnrecordable, HookTaken, SimulationReplaced]

const recordOnce = async ({ uid, read, write, run }: HookRecord): Promise<void> => {
  const latest = await read()
  const { name, resourceVersion } = latest.metadata
  if (latest.metadata.uid !== uid) throw new SimulationReplaced(`another Simulation has the name ${name} now`)
  const known = latest.status?.hooks ?? []
  const isThis = (each: HookRun): boolean => isRunOf(each, { ...run, repetition: run.repetition })
  const before = known.find(isThis)
  // Recorded by an attempt whose response was lost.
  if (isDeepStrictEqual(before, run)) return
  const isOfOther = before !== undefined && (before.endTime !== undefined || before.startTime !== run.startTime)
  if (isOfOther) throw new HookTaken(`the ${run.phase} hook ${run.index + 1} was run by another process`)
  const hooks = before === undefined ? [...known, run] : known.map((each) => (each === before ? run : each))
  const written = await write(latest, {
    metadata: { uid, resourceVersion },
    status: { hooks: hooks.slice(-longestHistory) },
  })
  if (written.status?.hooks?.some(isThis) !== true)
    throw new HookUnrecordable(
      "the definition of Simulations has no status.hooks, without which a hook could run twice; install kubereel's with: reel crd | kubectl apply -f -",
    )
}

// What hooks write, line by line, so that lines of two simulations are not mixed.

/** Characters of a line that is printed before its end has come. */
const longestLine = 16_384

/** Lines of each source, such as a simulation. */
export class OutputLines {
  readonly #print: (source: string, line: string) => void
  readonly #open = new Map<string, { readonly decoder: StringDecoder; text: string }>()

  constructor(print: (source: string, line: string) => void) {
    this.#print = print
  }

  add(source: string, chunk: Buffer): void {
    const open = this.#open.get(source) ?? { decoder: new StringDecoder("utf8"), text: "" }
    this.#open.set(source, open)
    const [last = "", ...whole] = (open.text + open.decoder.write(chunk)).split("\n").reverse()
    for (const line of whole.reverse()) this.#print(source, line)
    open.text = last
    if (last.length > longestLine) this.#endLine(source)
  }

  /** Prints what has no end yet. */
  end(): void {
    for (const source of [...this.#open.keys()]) this.#endLine(source)
  }

  #endLine(source: string): void {
    const open = this.#open.get(source)
    this.#open.delete(source)
    if (open !== undefined && open.text !== "") this.#print(source, open.text)
  }
}
