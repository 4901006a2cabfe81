/** What a replay reads from and writes to, opened in the order in which mistakes cost least, and closed whatever happens. */

import type { Say } from "../command-line/command.ts"
import type { Terminal } from "../terminal/terminal.ts"
import type { ReplayOrder } from "./replay-order.ts"
import { openReportFiles, type ReportFiles } from "./replay-reports.ts"
import { openSource, type ReplaySource, type SourceSurroundings } from "./replay-source.ts"
import { type OpenTarget, openTarget } from "./replay-target.ts"
import { explainedByTrace } from "./trace-kinds.ts"

// Ctrl-C during a replay: the first ends it, the second ends the removal of what it created.

/** What Ctrl-C does, until {@link Interrupts.stop}. */
interface Interrupts {
  /** Aborted by the first Ctrl-C. */
  readonly first: AbortController
  /** Aborted by the second. */
  readonly second: AbortController
  /** As Ctrl-C, but a second call does nothing. */
  readonly interrupt: () => void
  readonly stop: () => void
}

/** `say` gets the line that the first Ctrl-C prints. */
export const listenForInterrupts = (terminal: Terminal, say: Say = () => undefined): Interrupts => {
  const [first, second] = [new AbortController(), new AbortController()]
  const interrupt = (): void => {
    if (first.signal.aborted) return
    say("interrupted: removing what was created; press Ctrl-C again to leave it")
    first.abort()
  }
  const stop = terminal.onInterrupt(() => (first.signal.aborted ? second.abort() : interrupt()))
  return { first, second, interrupt, stop }
}

export interface ReplayStage<Checked> {
  /** With the kinds that only the trace could explain. */
  readonly order: ReplayOrder
  readonly source: ReplaySource
  readonly target: OpenTarget
  readonly checked: Checked
  readonly reports: Pick<ReportFiles, "write">
}

/**
 * Runs `run` between opening and closing. `check` sees the trace before the report and the cluster are opened, and its first bytes are those
 * of a trace by then. Rejects with what opening and `run` reject with. Reading ends when `signal` is aborted, and with `run`: a pipe may be
 * silent for ever.
 */
export const withStage = async <Checked, Result>(
  requested: ReplayOrder,
  { signal, ...surroundings }: SourceSurroundings,
  check: (source: ReplaySource, order: ReplayOrder) => Promise<Checked>,
  run: (stage: ReplayStage<Checked>) => Promise<Result>,
): Promise<Result> => {
  const reading = new AbortController()
  const given = await openSource(requested, { ...surroundings, signal: AbortSignal.any([reading.signal, signal]) })
  try {
    const order = await explainedByTrace(requested, given)
    const checked = await check(given, order)
    const source = await openedOnce(given)
    const reports = await openReportFiles(order)
    try {
      await using target = await openTarget({ ...order.target, concurrency: order.concurrency })
      return await run({ order, source, target, checked, reports })
    } finally {
      await reports.discard()
    }
  } finally {
    reading.abort()
    given.close()
  }
}

/** The same source, of which the first reading has been opened. */
const openedOnce = async (source: ReplaySource): Promise<ReplaySource> => {
  let first: Awaited<ReturnType<ReplaySource["open"]>> | undefined = await source.open()
  const open: ReplaySource["open"] = async (signal) => {
    const items = first ?? (await source.open(signal))
    first = undefined
    return items
  }
  return { ...source, open }
}
