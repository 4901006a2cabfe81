/**
 * A child process with a line-based protocol: its lines are awaited with a deadline, and if it ends instead, the error contains its last
 * lines.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"

/** Lines kept for error messages. */
const keptLines = 20
/** ms after which a process that was asked to end is killed. */
const endMs = 10_000

export interface LineProcessOptions {
  /** Arguments of the program; the first of Node's is the script. Instead a command line, which gets a process group of its own. */
  readonly script: ReadonlyArray<string> | string
  /** Path of the program that gets arguments. Default: this Node, which is what most subjects run on. */
  readonly program?: string
  readonly environment?: Readonly<Record<string, string>>
  /** How it is asked to end: its standard input is closed, or SIGTERM is sent as well. */
  readonly endsBy: "input" | "signal"
}

export class LineProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #exited: Promise<unknown>
  readonly #endsBy: "input" | "signal"
  readonly #isGroup: boolean
  /** No child survives a bench that ends early. */
  readonly #kill = (): void => this.#signal("SIGKILL")
  readonly #said: Array<string> = []
  readonly #listeners = new Set<(line: string | undefined) => void>()
  #isOver = false

  /** Lines of both outputs are read. */
  constructor({ script, program = process.execPath, environment, endsBy }: LineProcessOptions) {
    this.#endsBy = endsBy
    this.#isGroup = typeof script === "string"
    const [file, args] = typeof script === "string" ? ["/bin/sh", ["-c", script]] : [program, [...script]]
    this.#child = spawn(file, args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment },
      detached: this.#isGroup,
    })
    this.#exited = once(this.#child, "close")
    process.once("exit", this.#kill)
    this.#child.on("close", () => {
      this.#isOver = true
      for (const listener of this.#listeners) listener(undefined)
    })
    // A line written to a process that has just ended; whoever waits for a reply gets an error.
    this.#child.stdin.on("error", () => undefined)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface(stream).on("line", (line) => this.#hear(line))
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  tell(message: object): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** It has ended. */
  get isOver(): boolean {
    return this.#isOver
  }

  signal(signal: "SIGUSR1" | "SIGKILL" | "SIGTERM"): void {
    this.#child.kill(signal)
  }

  /** Calls back for every line from now on. */
  listen(listener: (line: string) => void): void {
    this.#listeners.add((line) => {
      if (line !== undefined) listener(line)
    })
  }

  /** The first result of `read` for a line from now on. Rejects after `timeoutMs`, or if the process ends. */
  hear<Answer>(what: string, timeoutMs: number, read: (line: string) => Answer | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        this.#listeners.delete(listener)
      }
      const fail = (reason: string): void => {
        settle()
        reject(this.error(`${what}: ${reason}`))
      }
      const listener = (line: string | undefined): void => {
        if (line === undefined) return fail("the process ended")
        const answer = read(line)
        if (answer === undefined) return
        settle()
        resolve(answer)
      }
      const timer = setTimeout(() => fail(`nothing within ${timeoutMs} ms`), timeoutMs)
      if (this.#isOver) fail("the process has ended")
      else this.#listeners.add(listener)
    })
  }

  /** As `promise`, but rejects if the process ends first. */
  async during<Value>(what: string, promise: Promise<Value>): Promise<Value> {
    const end = Promise.withResolvers<never>()
    const listener = (line: string | undefined): void => {
      if (line === undefined) end.reject(this.error(`${what}: the process ended`))
    }
    if (this.#isOver) listener(undefined)
    else this.#listeners.add(listener)
    return Promise.race([promise, end.promise]).finally(() => this.#listeners.delete(listener))
  }

  /** An error with the last lines of the process in its message. */
  error(reason: string): Error {
    return new Error([reason, ...this.#said.map((line) => `  | ${line}`)].join("\n"))
  }

  /** Asks it to end, and kills it if it does not. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    if (this.#endsBy === "signal") this.#signal("SIGTERM")
    const timer = setTimeout(this.#kill, endMs)
    await this.#exited
    clearTimeout(timer)
    process.off("exit", this.#kill)
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.#isOver) return
    if (!this.#isGroup || this.#child.pid === undefined) {
      this.#child.kill(signal)
      return
    }
    try {
      process.kill(-this.#child.pid, signal)
    } catch (cause) {
      // All of the group have ended already.
      if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause
    }
  }

  #hear(line: string): void {
    this.#said.push(line)
    if (this.#said.length > keptLines) this.#said.shift()
    for (const listener of this.#listeners) listener(line)
  }
}

/** A line that is a JSON object with `field`; `undefined` for every other line. */
export const fieldOf =
  <Value>(field: string) =>
  (line: string): Value | undefined => {
    if (!line.startsWith("{")) return undefined
    return (JSON.parse(line) as Record<string, Value | undefined>)[field]
  }
