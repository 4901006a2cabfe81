/** The parts of its process that a command uses, so that tests can replace them. */
import type { Writable } from "node:stream"
import { asTyped, invocation, type Program } from "./invocation.ts"
import { keepInterrupts, listenToKeyboard, type Suspension } from "./keyboard.ts"

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
  /** Calls `listener` with each key that is pressed, see keyboard.ts; `undefined`: there is no keyboard. */
  readonly onKey?: (listener: (key: string) => void, suspension?: Suspension) => (() => void) | undefined
  /** Keeps Ctrl-C from the shell that npm runs the command in, see keyboard.ts. Returns what ends that; `undefined`: not needed. */
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
