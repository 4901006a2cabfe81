/**
 * The interactive view in a terminal, from its first screen until the user quits.
 *
 * Guarantees: when it ends, is suspended, fails, or the process exits, the terminal is as it was before. Keys are answered at once; while a trace is read, the
 * screen is painted at most four times a second.
 */
import { tmpdir } from "node:os"
import type { Clock, Timer } from "../../../clock.ts"
import { fileSpool, memorySpool, type Spool, type TraceItem, type TraceItems } from "../../../trace/index.ts"
import { TraceValidation } from "../../../validation/index.ts"
import { type ExitCode, exitCodes } from "../../command-line/exit-codes.ts"
import { formatInteger } from "../../terminal/quantities.ts"
import { isColoured, type Output, type Terminal } from "../../terminal/terminal.ts"
import { takeItems } from "../inspected-items.ts"
import type { Part, WantedPart } from "../recording-parts.ts"
import { EventList, namespacePrefix } from "./event-list.ts"
import { PackedStates } from "./packed-states.ts"
import { type ScreenInput, updated } from "./screen-keys.ts"
import { firstScreen, type ScreenSize, screenOfPart } from "./screen-state.ts"
import { screenLines } from "./screen-view.ts"
import { paintedLine, type StyledLine } from "./styled-line.ts"

// Reads items into the list of the interactive view, and validates them, while the keyboard stays answered.

/** ms of work between two turns of the event loop: a key is answered before anyone notices a delay. */
const turnMs = 20

/** Takes all items, and what they lack. Rejects as the items do, and with SpoolError. */
export const loadEvents = async (
  items: TraceItems,
  list: EventList,
  onProgress: () => void,
  signal: AbortSignal,
): Promise<void> => {
  const validation = new TraceValidation({ namespacePrefix })
  const cut = await takeItems(inTurns(items, onProgress, signal), (item) => {
    validation.add(item)
    list.judgement.configure(item)
    if (item.type === "header") {
      const { start = 0, end = 0 } = item.window ?? {}
      for (const { gvk, namespace = "", state } of item.incomplete)
        list.addShortcoming({ gvk, namespace, fromTime: start, toTime: end, reason: state, detail: "" }, start)
    }
    if (item.type !== "event") return
    if (item.event.type === "object") list.add(item.event, item.isSnapshot)
    else list.addShortcoming({ ...item.event }, item.event.time)
  })
  if (cut !== undefined) {
    const time = list.time(list.length - 1)
    const where = { gvk: "", namespace: "", fromTime: time, toTime: time }
    list.addShortcoming({ ...where, reason: "cut off or damaged", detail: cut.message }, time)
  }
  if (!signal.aborted) list.judgement.settle(validation.finish().rules.flatMap(({ findings }) => findings))
}

async function* inTurns(
  items: TraceItems,
  onProgress: () => void,
  signal: AbortSignal,
): AsyncGenerator<Iterable<TraceItem>, void> {
  let turnEnds = performance.now() + turnMs
  for await (const chunk of items) {
    if (signal.aborted) return
    yield chunk
    if (performance.now() < turnEnds) continue
    onProgress()
    await new Promise((resolve) => setImmediate(resolve))
    turnEnds = performance.now() + turnMs
  }
}

// Writes screens to a terminal: its alternate screen, without cursor and without wrapping lines, and only those lines that differ from what is there.
//
// After {@link Painter.leave} the terminal shows what it showed before, whether the command ended, failed or is suspended.

const enterScreen = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J"
const leaveScreen = "\u001b[?7h\u001b[?25h\u001b[?1049l"

class Painter {
  readonly #stream: Pick<Output, "write">
  readonly #isColoured: boolean
  #shown: ReadonlyArray<string> = []
  #isEntered = false

  constructor(stream: Pick<Output, "write">, isColoured: boolean) {
    this.#stream = stream
    this.#isColoured = isColoured
  }

  /** Shows these lines, from the first row of the screen on. `isWhole`: also those that were there, because the terminal has another size. */
  paint(lines: ReadonlyArray<StyledLine>, isWhole = false): void {
    const painted = lines.map((line) => paintedLine(line, this.#isColoured))
    let output = ""
    if (!this.#isEntered) output += enterScreen
    else if (isWhole) output += "\u001b[2J"
    const known = this.#isEntered && !isWhole ? this.#shown : []
    for (const [row, line] of painted.entries())
      if (line !== known[row]) output += `\u001b[${row + 1};1H\u001b[2K${line}`
    this.#isEntered = true
    this.#shown = painted
    if (output !== "") this.#stream.write(output)
  }

  /** May be called again. */
  leave(): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    this.#stream.write(leaveScreen)
  }
}

export interface ScreenSession {
  readonly terminal: Terminal
  /** What is inspected, as it was given. */
  readonly name: string
  readonly nowMs: number
  readonly clock: Pick<Clock, "after">
  /** Fills the list, of a long recording with the part that is wanted. It ends soon after the signal is aborted. */
  readonly load: (list: EventList, wanted: WantedPart, reading: Reading) => Promise<void>
  /** Where states are kept; default: a temporary file. */
  readonly spool?: () => Spool
}

/** One list that is being filled. */
export interface Reading {
  readonly signal: AbortSignal
  /** There are more events. */
  readonly onProgress: () => void
  readonly onPart: (part: Part) => void
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
  const painter = new Painter(standardOutput, isColoured(standardOutput, terminal.environment))
  const leave = (): void => painter.leave()
  const sizeOf = (): ScreenSize => ({ columns: standardOutput.columns || 80, rows: standardOutput.rows || 24 })
  const nothing = new PackedStates(memorySpool())
  let state = firstScreen(name, new EventList(nothing), sizeOf(), nowMs)
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
      if (state.wants !== undefined) read(state.wants)
      if (state.isEnded) end()
      else painter.paint(screenLines(state), input.tag === "resized")
    } catch (cause) {
      fail(cause)
    }
  }
  let timer: Timer | undefined
  let closeList: () => void = () => undefined
  const lists: Array<Promise<void>> = []
  /** Shows another list and fills it; the one before is given up. */
  const read = (wanted: WantedPart): void => {
    closeList()
    const abort = new AbortController()
    const { signal } = abort
    const states = new PackedStates(spool())
    const list = new EventList(states)
    state = screenOfPart(state, list)
    const onProgress = (): void => {
      timer ??= clock.after(paintMs, () => {
        timer = undefined
        happen({ tag: "progress", progress: `reading: ${formatInteger(state.list.length)}` })
      })
    }
    const settled = load(list, wanted, {
      signal,
      onProgress,
      onPart: (part) => signal.aborted || happen({ tag: "part", part, wanted }),
    }).then(
      () => {
        timer?.cancel()
        timer = undefined
        if (!signal.aborted) happen({ tag: "progress", progress: "" })
      },
      (cause: unknown) => {
        // Reading that was given up has nothing to say.
        if (!signal.aborted) fail(cause)
      },
    )
    const closed = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
    lists.push(Promise.all([settled, closed]).then(() => states[Symbol.dispose]()))
    closeList = () => abort.abort()
  }
  const resize = (): void => happen({ tag: "resized", size: sizeOf() })
  const resumed = (): void => {
    // After a SIGSTOP another program may have had the terminal, and have left the alternate screen.
    leave()
    resize()
  }
  const stopKeys = terminal.onKey?.((key) => happen({ tag: "key", key }), { suspending: leave, resumed })
  if (stopKeys === undefined) return undefined
  const stopListening = terminal.onInterrupt(() => {
    isInterrupted = true
    end()
  })
  standardOutput.on("resize", resize)
  // After an uncaught exception or process.exit.
  process.once("exit", leave)
  // While the command is suspended nothing reads the keyboard, and a process that waits for nothing would end before it
  // learns that it continues.
  const alive = setInterval(() => undefined, 2 ** 30)
  try {
    read("last")
    resize()
    await ended
    return isInterrupted ? exitCodes.interrupted : exitCodes.ok
  } finally {
    closeList()
    clearInterval(alive)
    timer?.cancel()
    stopKeys()
    stopListening()
    standardOutput.off("resize", resize)
    process.off("exit", leave)
    leave()
    await Promise.all(lists)
  }
}
