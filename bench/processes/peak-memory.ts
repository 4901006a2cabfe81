/**
 * How far the resident memory of a process rises above what it is now, at its peak: the kernel keeps the peak, so that nothing
 * between two looks is missed, and forgets it when it is told to (`clear_refs`, which a process's own user may).
 */
import { writeFileSync } from "node:fs"
import { readMemory } from "./process-watch.ts"

/** What the kernel takes as "set VmHWM to VmRSS" (proc(5)). */
const forgetPeak = "5"

export class PeakMemory {
  readonly #pid: number
  readonly #before: number

  /** From now on. A second one of the same process ends the first. */
  constructor(pid: number) {
    this.#pid = pid
    writeFileSync(`/proc/${pid}/clear_refs`, forgetPeak)
    this.#before = readMemory(pid).resident
  }

  /** Bytes. */
  growth(): number {
    return readMemory(this.#pid).peak - this.#before
  }
}
