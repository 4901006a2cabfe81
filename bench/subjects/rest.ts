/** When a process came to rest, by its CPU time. Pure. */

/** A process's CPU time at a moment. */
export interface CpuLook {
  /** ms on any clock. */
  readonly atMs: number
  /** User and system time so far; the kernel counts it in steps of 10 ms. */
  readonly cpuSeconds: number
}

/** ms without work that make a rest: longer than any recorder gathers before it writes. */
export const restMs = 300
/** Share of a CPU beyond the usual that is no work: two of the kernel's steps in a rest. */
const tolerance = 0.07

/**
 * When the rest began in which the last of `looks` finds the process; `undefined` if it is at work, or has not rested for long
 * enough.
 *
 * @param looks in order
 * @param idleShare share of a CPU that it uses when nothing happens
 */
export const restBegins = (looks: ReadonlyArray<CpuLook>, idleShare: number): number | undefined => {
  const last = looks.at(-1)
  if (last === undefined) return undefined
  const first = looks.findLast(({ atMs }) => last.atMs - atMs >= restMs)
  if (first === undefined) return undefined
  const share = ((last.cpuSeconds - first.cpuSeconds) * 1000) / (last.atMs - first.atMs)
  return share <= idleShare + tolerance ? first.atMs : undefined
}
