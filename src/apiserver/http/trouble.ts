/** Defects of the server itself, reported to its operator; clients see only a 500. */

/** Gets one text per defect: where, what, and the stack. */
export type OnTrouble = (detail: string) => void

/** A line on stderr, as Node writes its own warnings; a handler of `process.on("warning")` may take it from there. */
export const warnProcess: OnTrouble = (detail) => process.emitWarning(detail, "ApiServerTrouble")

export const troubleOf = (where: string, error: unknown): string =>
  `${where}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`

/**
 * Runs a step of a timer or a socket, which has no caller to catch its errors: what it throws is reported instead of
 * ending the process.
 */
export const guarded = (where: string, onTrouble: OnTrouble, step: () => void): void => {
  try {
    step()
  } catch (error) {
    onTrouble(troubleOf(where, error))
  }
}
