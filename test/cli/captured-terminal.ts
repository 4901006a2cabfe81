/** A terminal that stores what was written to it, and whose user can press Ctrl-C. */
import { Writable } from "node:stream"
import type { Output, Terminal } from "../../src/cli/terminal/terminal.ts"

export interface CapturedOutput extends Output {
  readonly text: () => string
}

export const capturedOutput = (properties: { isTTY?: boolean; columns?: number } = {}): CapturedOutput => {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(piece: Buffer, _, done) {
      pieces.push(Buffer.from(piece))
      done()
    },
  })
  return Object.assign(stream, properties, { text: () => Buffer.concat(pieces).toString("utf8") })
}

export interface CapturedTerminal extends Terminal {
  readonly standardOutput: CapturedOutput
  readonly standardError: CapturedOutput
  readonly interrupt: () => void
  /** Listeners that were not removed. */
  readonly listeners: () => number
}

export const capturedTerminal = (
  properties: {
    output?: { isTTY?: boolean; columns?: number }
    error?: { isTTY?: boolean; columns?: number }
    environment?: Record<string, string>
  } = {},
): CapturedTerminal => {
  const listeners = new Set<() => void>()
  return {
    standardOutput: capturedOutput(properties.output),
    standardError: capturedOutput(properties.error),
    environment: properties.environment ?? {},
    onInterrupt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    interrupt: () => {
      for (const listener of listeners) listener()
    },
    listeners: () => listeners.size,
  }
}
