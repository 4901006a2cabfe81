/**
 * Runs one hook of a Simulation as a child process, in a process group of its own, for a limited time.
 *
 * Guaranteed: when the promise resolves, the hook and the processes that it started in its group are ended, however it went. What it wrote is passed on as
 * it comes, and the end of it is kept.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { StringDecoder } from "node:string_decoder"
import type { Timers } from "../../clock.ts"
import { parseDuration } from "../../kube/duration.ts"
import { messageOf } from "../../message-of.ts"
import { defaultHookTimeout, type Hook } from "../api/hooks.ts"
import { hookOutputBytes } from "../api/status.ts"

// The end of what a program writes, in a bounded number of bytes: the end has the reason of a failure.

/** Takes chunks, and has the end of them. */
export class OutputTail {
  readonly #limit: number
  #bytes = Buffer.alloc(0)
  #isCut = false

  /** `limit`: bytes of UTF-8 that are kept. */
  constructor(limit: number) {
    this.#limit = limit
  }

  add(chunk: Buffer): void {
    const all = Buffer.concat([this.#bytes, chunk.subarray(Math.max(0, chunk.length - this.#limit))])
    const cut = Math.max(0, all.length - this.#limit)
    this.#isCut ||= cut > 0 || chunk.length > this.#limit
    this.#bytes = Buffer.from(all.subarray(cut))
  }

  /** At most as many bytes of UTF-8 as the limit, beginning and ending with whole characters; NULs, which etcd's text cannot show, are left out. */
  get text(): string {
    let from = 0
    // Continuation bytes at the start belong to a character that was cut.
    if (this.#isCut) while (from < 3 && ((this.#bytes[from] ?? 0) & 0xc0) === 0x80) from++
    const text = new StringDecoder("utf8").write(this.#bytes.subarray(from)).replaceAll("\0", "")
    // A byte that is no UTF-8 becomes a character of three.
    const bytes = Buffer.from(text)
    return bytes.length <= this.#limit ? text : new OutputTail(this.#limit).#of(bytes)
  }

  #of(bytes: Buffer): string {
    this.#isCut = true
    this.add(bytes)
    return this.text
  }
}

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
    const tail = new OutputTail(hookOutputBytes)
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
        // Nobody is left in the group.
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
      resolve({ ...outcome, output: tail.text })
    }
    const read = (chunk: Buffer): void => {
      tail.add(chunk)
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

/** The simulation is being deleted, or its controller or driver is ended. */
export const interrupted = "it was interrupted"
