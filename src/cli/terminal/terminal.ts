/** The parts of its process that a command uses, so that tests can replace them. */

import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { emitKeypressEvents, type Interface, type Key } from "node:readline"
import type { Writable } from "node:stream"
import { asTyped, invocation, type Program } from "./invocation.ts"

// Single keys of the terminal that a command runs in, without waiting for Enter.
//
// Guaranteed: the terminal is as before once listening has ended, while the command is suspended (Ctrl-Z), and when the process ends (Node
// resets it); Ctrl-C, Ctrl-\ and Ctrl-Z do what they do otherwise, to the whole pipeline. A command in the background does not touch the
// terminal: it would be stopped for it.

/**
 * ms after which an escape character is the key Esc and not the beginning of another key's sequence, which arrives at once even over slow lines. Node's 500 make Esc
 * feel broken, and a key that follows it sooner swallows it.
 */
const escapeCodeTimeout = 50

/** What a screen has to do around a time in which the terminal is another's. */
export interface Suspension {
  /** Before the command is suspended, or quits with Ctrl-\\. */
  readonly suspending: () => void
  /** After the command continues. */
  readonly resumed: () => void
}

/** Raw mode turns the terminal's own signals off, so that they have to be sent. */
const signalKeys: ReadonlyMap<string, NodeJS.Signals> = new Map([
  ["\u0003", "SIGINT"],
  ["\u001c", "SIGQUIT"],
  ["\u001a", "SIGTSTP"],
])

/**
 * Takes Ctrl-C for this process alone, if npm runs it; returns what ends that.
 *
 * npx and npm run start commands in a shell. A terminal sends SIGINT to all of them, the shell (dash) dies of it at once, and npm then ends
 * with 130 although the command shuts down in order and ends with 0. bash as `sh` replaces itself by the command, which then gets a second
 * SIGINT, from npm, and takes it for the user's second Ctrl-C.
 */
const keepInterrupts = (
  environment: Readonly<Record<string, string | undefined>> = process.env,
): (() => void) | undefined =>
  environment.npm_lifecycle_event === undefined ? undefined : listenToKeyboard(() => undefined, "self")

/**
 * Calls `listener` with each key: its character, or a name such as `right`. Returns what ends that; `undefined` if there is no keyboard.
 * `interrupted`: who gets the SIGINT of Ctrl-C, the whole pipeline, as usual, or only this process.
 */
const listenToKeyboard = (
  listener: (key: string) => void,
  interrupted: "pipeline" | "self" = "pipeline",
  suspension?: Suspension,
): (() => void) | undefined => {
  const { stdin } = process
  if (stdin.isTTY !== true || !isInForeground()) return undefined
  const start = (): void => {
    if (!isInForeground()) return
    stdin.setRawMode(true)
    // A process may be continued that was never stopped.
    stdin.off("keypress", read).on("keypress", read)
    stdin.resume()
  }
  const stop = (): void => {
    stdin.off("keypress", read)
    stdin.setRawMode(false)
    stdin.pause()
  }
  const read = (_: string | undefined, { sequence = "", name }: Key): void => {
    const signal = signalKeys.get(sequence)
    if (signal !== undefined) send(signal)
    else listener(sequence.length === 1 ? sequence : (name ?? sequence))
  }
  const send = (signal: NodeJS.Signals): void => {
    if (signal !== "SIGINT") {
      suspension?.suspending()
      stop()
    }
    if (process.platform === "win32" || (signal === "SIGINT" && interrupted === "self")) process.emit(signal, signal)
    // The process group, as the terminal does.
    else process.kill(0, signal)
  }
  const resume = (): void => {
    if (!isInForeground()) return
    // After a SIGSTOP, which is not announced, libuv takes the terminal to be raw still and would leave it as the shell has set it.
    stdin.setRawMode(false)
    start()
    suspension?.resumed()
  }
  // Of an interface nothing else is read.
  emitKeypressEvents(stdin, { escapeCodeTimeout } as unknown as Interface)
  start()
  process.on("SIGCONT", resume)
  return () => {
    process.off("SIGCONT", resume)
    stop()
  }
}

/** Whether the terminal's foreground process group is this process's. */
const isInForeground = (): boolean => {
  if (process.platform === "win32") return true
  try {
    const status = readFileSync("/proc/self/stat", "utf8")
    // After the name, which may contain anything: state, parent, group, session, terminal, the terminal's foreground group.
    const [, , group, , , foreground] = status.slice(status.lastIndexOf(")") + 2).split(" ")
    return group === foreground
  } catch {
    // No /proc: ps marks processes in the foreground with a plus.
    const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(process.pid)], { encoding: "utf8" })
    return stdout?.includes("+") === true
  }
}

/** An output stream; `isTTY`, `columns` and `rows` are set if it is a terminal, which emits `resize` when they change. */
export interface Output extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface Terminal {
  /** Results only, so that they can be piped. */
  readonly standardOutput: Output
  /** Messages for people. */
  readonly standardError: Output
  readonly environment: Readonly<Record<string, string | undefined>>
  /**
   * Calls `listener` when the user wants the command to end (Ctrl-C, SIGTERM); while it is registered, these signals do not end
   * the process by themselves. The returned function removes the listener.
   */
  readonly onInterrupt: (listener: () => void) => () => void
  /** Calls `listener` with each key that is pressed; `undefined`: there is no keyboard. */
  readonly onKey?: (listener: (key: string) => void, suspension?: Suspension) => (() => void) | undefined
  /** Keeps Ctrl-C from the shell that npm runs the command in, see {@link keepInterrupts}. Returns what ends that; `undefined`: not needed. */
  readonly keepInterrupts?: () => (() => void) | undefined
  /** Calls `listener` for SIGUSR1 and SIGUSR2. The returned function removes it. */
  readonly onUserSignal?: (listener: (signal: UserSignal) => void) => () => void
}

/** Signals without a meaning of their own. */
type UserSignal = "SIGUSR1" | "SIGUSR2"

const signals = ["SIGINT", "SIGTERM"] as const

/** A stream for messages to people: every command in them is written as the user types it. */
const asCalled = (stream: Output, program: Program): Output => {
  if (program === "reel") return stream
  const write = (text: unknown, ...others: ReadonlyArray<unknown>): boolean =>
    Reflect.apply(stream.write, stream, [typeof text === "string" ? asTyped(text, program) : text, ...others])
  return new Proxy(stream, {
    get: (_, name) => {
      if (name === "write") return write
      const value: unknown = Reflect.get(stream, name)
      return typeof value === "function" ? value.bind(stream) : value
    },
  })
}

/** The process itself. */
export const processTerminal: Terminal = {
  standardOutput: process.stdout,
  standardError: asCalled(process.stderr, invocation.program),
  environment: process.env,
  onInterrupt(listener) {
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  },
  onKey: (listener, suspension) => listenToKeyboard(listener, "pipeline", suspension),
  keepInterrupts: () => keepInterrupts(),
  onUserSignal(listener) {
    // Windows has no such signals, and Node rejects listeners for them there.
    if (process.platform === "win32") return () => undefined
    const [first, second] = [() => listener("SIGUSR1"), () => listener("SIGUSR2")]
    process.on("SIGUSR1", first).on("SIGUSR2", second)
    return () => void process.off("SIGUSR1", first).off("SIGUSR2", second)
  },
}

/** That the user wants the command to end, for as long as it is not disposed of. */
interface Interruption extends Disposable {
  /** Is aborted then. */
  readonly signal: AbortSignal
  /** Resolves then. */
  readonly happened: Promise<void>
  /** Acts as if the user wanted it. */
  readonly interrupt: () => void
}

/** Listens for it. `isKept`: Ctrl-C is kept from the shell, for commands that run until then. */
export const interruption = (terminal: Terminal, isKept = false): Interruption => {
  const ending = new AbortController()
  const { promise: happened, resolve } = Promise.withResolvers<void>()
  const interrupt = (): void => {
    ending.abort()
    resolve()
  }
  const stopListening = terminal.onInterrupt(interrupt)
  const giveBack = isKept ? terminal.keepInterrupts?.() : undefined
  const dispose = (): void => {
    giveBack?.()
    stopListening()
  }
  return { signal: ending.signal, happened, interrupt, [Symbol.dispose]: dispose }
}

/** Width for texts: the terminal's, or 80 if the output is not a terminal or does not know its width (a serial line reports 0). */
export const columnsOf = (output: Pick<Output, "columns">): number => output.columns || 80

/** Whether to repaint lines in place: a terminal that understands control sequences. */
export const isLive = (output: Output, environment: Terminal["environment"]): boolean =>
  output.isTTY === true && environment.TERM !== "dumb"

/** Whether to colour text: https://no-color.org, and FORCE_COLOR for programs that show our output. */
export const isColoured = (output: Output, environment: Terminal["environment"]): boolean => {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== "") return false
  if (environment.FORCE_COLOR !== undefined) return environment.FORCE_COLOR !== "0"
  return isLive(output, environment)
}
