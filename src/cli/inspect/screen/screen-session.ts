/**
 * The interactive view in a terminal, from its first screen until the user quits.
 *
 * Guarantees: when it ends, is suspended, fails, or the process exits, the terminal is as it was before. Keys are answered at once; while a trace is read, the
 * screen is painted at most four times a second.
 */
import { tmpdir } from "node:os"
import type { Clock, Timer } from "../../../clock.ts"
import { fileSpool, type Spool } from "../../../trace/spool.ts"
import { type ExitCode, exitCodes } from "../../command-line/exit-codes.ts"
import { formatInteger } from "../../terminal/quantities.ts"
import { isColoured, type Terminal } from "../../terminal/terminal.ts"
import { EventList } from "./event-list.ts"
import { PackedStates } from "./packed-states.ts"
import { Painter } from "./painter.ts"
import type { ScreenSize } from "./screen-layout.ts"
import { firstScreen, type ScreenInput, updated } from "./screen-state.ts"
import { screenLines } from "./screen-view.ts"

export interface ScreenSession {
  readonly terminal: Terminal
  /** What is inspected, as it was given. */
  readonly name: string
  readonly nowMs: number
  readonly clock: Pick<Clock, "after">
  /** Fills the list; resolves with what the user should know of the whole. `onProgress`: there are more events. */
  readonly load: (list: EventList, onProgress: () => void, signal: AbortSignal) => Promise<string>
  /** Where states are kept; default: a temporary file. */
  readonly spool?: () => Spool
}

/** ms between two screens while a trace is read. */
const paintMs = 250

/**
 * Resolves with the exit code once the user has quit; `undefined`: there is no keyboard, and nothing was shown. Rejects with what loading rejects with, and
 * SpoolError.
 */
export const runScreen = async ({
  terminal,
  name,
  nowMs,
  clock,
  load,
  spool = () => fileSpool(tmpdir()),
}: ScreenSession): Promise<ExitCode | undefined> => {
  const { standardOutput } = terminal
  using states = new PackedStates(spool())
  const painter = new Painter(standardOutput, isColoured(standardOutput, terminal.environment))
  const leave = (): void => painter.leave()
  const abort = new AbortController()
  const sizeOf = (): ScreenSize => ({ columns: standardOutput.columns || 80, rows: standardOutput.rows || 24 })
  let state = firstScreen(name, new EventList(states), sizeOf(), nowMs)
  let isInterrupted = false
  let end: () => void = () => undefined
  let fail: (cause: unknown) => void = () => undefined
  const ended = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const happen = (input: ScreenInput): void => {
    try {
      state = updated(state, input)
      if (state.isEnded) end()
      else painter.paint(screenLines(state), input.tag === "resized")
    } catch (cause) {
      fail(cause)
    }
  }
  const resize = (): void => happen({ tag: "resized", size: sizeOf() })
  const stopKeys = terminal.onKey?.((key) => happen({ tag: "key", key }), { suspending: leave, resumed: resize })
  if (stopKeys === undefined) return undefined
  const stopListening = terminal.onInterrupt(() => {
    isInterrupted = true
    end()
  })
  standardOutput.on("resize", resize)
  // An exception that nobody catches, or process.exit.
  process.once("exit", leave)
  let timer: Timer | undefined
  // While it is suspended nothing reads the keyboard, and a process without anything to wait for would end before it learns that it goes on.
  const alive = setInterval(() => undefined, 2 ** 30)
  try {
    resize()
    const loading = load(
      state.list,
      () => {
        timer ??= clock.after(paintMs, () => {
          timer = undefined
          happen({ tag: "progress", progress: `reading: ${formatInteger(state.list.length)}` })
        })
      },
      abort.signal,
    ).then(
      (message) => {
        timer?.cancel()
        if (!abort.signal.aborted) happen({ tag: "progress", progress: "", message })
      },
      (cause: unknown) => {
        // Reading that was given up has nothing to say.
        if (!abort.signal.aborted) fail(cause)
      },
    )
    await ended
    abort.abort()
    leave()
    await loading
    return isInterrupted ? exitCodes.interrupted : exitCodes.ok
  } finally {
    abort.abort()
    clearInterval(alive)
    timer?.cancel()
    stopKeys()
    stopListening()
    standardOutput.off("resize", resize)
    process.off("exit", leave)
    leave()
  }
}
