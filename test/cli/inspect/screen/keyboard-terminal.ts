/** A terminal that stores what was written to it, with a keyboard that tests press. */
import type { Suspension } from "../../../../src/cli/terminal/terminal.ts"
import { capturedTerminal } from "../../captured-terminal.ts"

export const keyboardTerminal = (rows = 20) => {
  const captured = capturedTerminal({ output: { isTTY: true, columns: 80 } })
  Object.assign(captured.standardOutput, { rows })
  let press: ((key: string) => void) | undefined
  let suspension: Suspension | undefined
  return {
    ...captured,
    onKey: (listener: (key: string) => void, given?: Suspension): (() => void) | undefined => {
      press = listener
      suspension = given
      return () => {
        press = undefined
      }
    },
    press: (key: string) => press?.(key),
    suspension: () => suspension,
    hasListener: () => press !== undefined,
  }
}

export type KeyboardTerminal = ReturnType<typeof keyboardTerminal>

/** Waits until something is on the screen. */
export const shows = async (terminal: KeyboardTerminal, text: string | RegExp): Promise<void> => {
  const isThere = (shown: string): boolean => (typeof text === "string" ? shown.includes(text) : text.test(shown))
  while (!isThere(terminal.standardOutput.text())) await new Promise((resolve) => setImmediate(resolve))
}
