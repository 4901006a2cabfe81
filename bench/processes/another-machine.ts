/**
 * How a process is started that stands for another machine although it shares the cores with the subject.
 *
 * A nice value is not enough: whichever thread is running keeps its core for some ms (4 with a 250 Hz tick), even if one with precedence wakes up. Of the
 * scheduling policies of Linux, `SCHED_IDLE` gives way at once, and `SCHED_FIFO` takes a core at once, for which root is needed.
 */
import { spawnSync } from "node:child_process"
import type { LineProcessOptions } from "./line-process.ts"

/** The command for a script and its arguments. */
export type Launch = (script: ReadonlyArray<string>) => Pick<LineProcessOptions, "script" | "program">

export const plainly: Launch = (script) => ({ script })

/** Whether chrt(1) exists and may do this. */
const canChange = (...policy: ReadonlyArray<string>): boolean => spawnSync("chrt", [...policy, "true"]).status === 0

const withPolicy =
  (...policy: ReadonlyArray<string>): Launch =>
  (script) => ({ program: "chrt", script: [...policy, process.execPath, ...script] })

/** A client of the subject: takes only what all others leave. `undefined` where that is impossible. */
export const givingWay = (): Launch | undefined => (canChange("--idle", "0") ? withPolicy("--idle", "0") : undefined)

/** A server that the subject reads from: is never kept waiting by the subject. `undefined` without the right to that. */
export const takingPrecedence = (): Launch | undefined =>
  canChange("--fifo", "1") ? withPolicy("--fifo", "1") : undefined
