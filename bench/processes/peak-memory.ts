/**
 * Measures by how much the resident memory of a process rises at its peak: the kernel keeps the peak, so that nothing between two samples
 * is missed, and resets it on request (`clear_refs`, which a process's own user may).
 */
import { writeFileSync } from "node:fs"
import { readMemory } from "./process-watch.ts"

/** The value that means "set VmHWM to VmRSS" (proc(5)). */
const forgetPeak = "5"

export class PeakMemory {
  readonly #pid: number
  readonly #before: number

  /** Starts now. A second measurement of the same process ends the first. */
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
