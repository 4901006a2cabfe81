/** What a command sees of the process it runs in, so that tests can be the terminal. */
import type { Writable } from "node:stream"

/** An output stream; `isTTY` and `columns` are those of a terminal. */
export interface Output extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface Terminal {
  /** Results only, so that they can be piped. */
  readonly standardOutput: Output
  /** Everything said to people. */
  readonly standardError: Output
  readonly environment: Readonly<Record<string, string | undefined>>
  /**
   * Calls `listener` when the user wants the command to end (Ctrl-C, SIGTERM); from then on these signals no longer end the
   * process by themselves. The answer takes the listener away again.
   */
  readonly onInterrupt: (listener: () => void) => () => void
}

const signals = ["SIGINT", "SIGTERM"] as const

/** The process itself. */
export const processTerminal: Terminal = {
  standardOutput: process.stdout,
  standardError: process.stderr,
  environment: process.env,
  onInterrupt(listener) {
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  },
}

/** Width for texts: the terminal's, or 80 when the output is no terminal, or one that does not know (a serial line says 0). */
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
