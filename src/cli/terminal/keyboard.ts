/**
 * Single keys of the terminal that a command runs in, without waiting for Enter.
 *
 * Guaranteed: the terminal is as before once listening has ended, while the command is suspended (Ctrl-Z), and when the process ends (Node
 * resets it); Ctrl-C, Ctrl-\ and Ctrl-Z do what they do otherwise, to the whole pipeline. A command in the background does not touch the
 * terminal: it would be stopped for it.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { emitKeypressEvents, type Interface, type Key } from "node:readline"

/**
 * ms after which an escape character is the key Esc and not the beginning of another key's sequence, which arrives at once even over slow lines. Node's 500 make Esc
 * feel broken, and a key that follows it sooner swallows it.
 */
const escapeCodeTimeout = 50

/** What a screen has to do around a time in which the terminal is another's. */
export interface Suspension {
  /** Before the command is suspended, or quits with Ctrl-\\. */
  readonly suspending: () => void
  /** After it goes on. */
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
export const keepInterrupts = (
  environment: Readonly<Record<string, string | undefined>> = process.env,
): (() => void) | undefined =>
  environment.npm_lifecycle_event === undefined ? undefined : listenToKeyboard(() => undefined, "self")

/**
 * Calls `listener` with each key: its character, or a name such as `right`. Returns what ends that; `undefined` if there is no keyboard.
 * `interrupted`: who gets the SIGINT of Ctrl-C, the whole pipeline, as usual, or only this process.
 */
export const listenToKeyboard = (
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
