/** What a server must tell whoever runs it: defects of its own, which clients only see as a 500. */

/** Told one text per defect: where, what, and the stack. */
export type OnTrouble = (detail: string) => void

/** A line on stderr, as Node writes its own warnings; a handler of `process.on("warning")` may take it from there. */
export const warnProcess: OnTrouble = (detail) => process.emitWarning(detail, "ApiServerTrouble")

export const troubleOf = (where: string, error: unknown): string =>
  `${where}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`

/**
 * Runs one step that nobody waits for, a timer's or a socket's: what it throws is told and goes no further, where it would
 * end the process.
 */
export const guarded = (where: string, onTrouble: OnTrouble, step: () => void): void => {
  try {
    step()
  } catch (error) {
    onTrouble(troubleOf(where, error))
  }
}
