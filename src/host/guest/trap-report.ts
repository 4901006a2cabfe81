/** What the engine tells of a guest's failure. */
import type { TrapFault } from "./errors.ts"

export interface TrapReport {
  readonly fault: TrapFault
  readonly reason: string
  readonly frames: ReadonlyArray<string>
}

/** Nested too deeply; the engine throws the same for JavaScript and for calls of WebAssembly. */
export const isStackOverflow = (cause: unknown): boolean =>
  cause instanceof RangeError && cause.message.includes("call stack")

export const stackOverflow: TrapReport = {
  fault: "stack-overflow",
  reason: "its calls were nested too deeply",
  frames: [],
}

/** The report of what left a guest; `undefined` if that was no failure of the guest. */
export const reportOf = (cause: unknown): TrapReport | undefined => {
  const frames = framesOf(cause)
  if (cause instanceof WebAssembly.RuntimeError) return { fault: "trap", reason: cause.message, frames }
  if (cause instanceof WebAssembly.Exception)
    return { fault: "exception", reason: "it threw an exception that it did not catch", frames: [] }
  return isStackOverflow(cause) ? { ...stackOverflow, frames } : undefined
}

/** Innermost functions that are told. */
const mostFrames = 6

/** The guest's functions on the stack, innermost first, by the names that its binary has. */
const framesOf = (cause: unknown): ReadonlyArray<string> => {
  const lines = cause instanceof Error ? (cause.stack ?? "").split("\n") : []
  return lines
    .map((line) => line.match(/^\s+at (?:(.+) \()?wasm:\/\/wasm\/[^:]*:wasm-function\[(\d+)\]/))
    .filter((match) => match !== null)
    .map(([, name, index]) => name ?? `function ${index}`)
    .slice(0, mostFrames)
}
