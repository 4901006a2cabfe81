/** What it takes a subject to list everything, from the start of its process. */
import { setTimeout as sleep } from "node:timers/promises"
import { readCpuSeconds, readMemory } from "./process-watch.ts"
import type { RunningSubject } from "./subject.ts"

/** ms for the longest of lists on a busy machine. */
const patienceMs = 180_000
export interface ListMemory {
  /** CPU of the process when everything was listed. */
  readonly cpuSeconds: number
  /** Resident memory `settleMs` later. */
  readonly settledBytes: number
  /** Largest until then. */
  readonly peakBytes: number
}

export const listObjects = async (subject: RunningSubject, settleMs: number): Promise<ListMemory> => {
  await subject.listed(patienceMs)
  const cpuSeconds = readCpuSeconds(subject.pid)
  await sleep(settleMs)
  const { resident, peak } = readMemory(subject.pid)
  return { cpuSeconds, settledBytes: resident, peakBytes: peak }
}
