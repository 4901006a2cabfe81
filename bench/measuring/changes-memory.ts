/** Resident memory of a subject over many changes at full speed. */
import { setTimeout as sleep } from "node:timers/promises"
import type { BenchCluster } from "../load/generator-process.ts"
import type { ResidentMemory } from "../processes/process-files.ts"
import { MemoryWatch } from "../processes/process-watch.ts"
import { interpolate, slope } from "../report/statistics.ts"
import type { RunningSubject } from "../subjects/subject.ts"
import { runChanges } from "./changes-run.ts"

/** ms for everything: 3 million changes at 10,000 a second. */
const patienceMs = 300_000
/** Number of parts into which the run is divided. */
const parts = 6
/** ms of rest after the last change. */
const restMs = 3000
/** ms between two looks at the files. */
const storedLookMs = 250

export interface ChangesMemory {
  readonly changes: number
  /** Largest of the process's life. */
  readonly peakBytes: number
  /** Least-squares slope from the end of the first part on: the first part fills caches and pools. */
  readonly growthBytesPerChange: number
  readonly steps: ReadonlyArray<{ readonly changes: number; readonly residentBytes: number }>
  /** At the last change. */
  readonly last: ResidentMemory
  /** Some seconds later. */
  readonly restingBytes: number
  /** After a forced garbage collection: what is really needed. NaN if it cannot be forced. */
  readonly collectedBytes: number
  /** Bytes on disk in the end, and at most. NaN if it stores nothing. */
  readonly storedBytes: number
  readonly mostStoredBytes: number
}

export const followChanges = async (
  cluster: BenchCluster,
  subject: RunningSubject,
  changes: number,
  perSecond?: number,
): Promise<ChangesMemory> => {
  await subject.listed(patienceMs)
  using memory = new MemoryWatch(subject.pid)
  using stored = new StoredWatch(subject)
  const startMs = performance.now()
  const before = subject.progress?.length ?? 0
  const timeoutMs = patienceMs + (perSecond === undefined ? 0 : (changes / perSecond) * 1000)
  await runChanges(cluster, subject, changes, timeoutMs, perSecond)
  const last = memory.sample()
  // The progress at each moment: as reported, or assuming a steady rate.
  const looks = subject.progress?.slice(before) ?? []
  const pace = [{ x: startMs, y: 0 }, ...looks.map((look) => ({ x: look.atMs, y: look.changes }))]
  if (looks.length === 0) pace.push({ x: last.atMs, y: changes })
  const points = memory.samples.map((sample) => ({ x: interpolate(pace, sample.atMs), y: sample.resident }))
  const steps = Array.from({ length: parts }, (_, part) => {
    const until = (changes * (part + 1)) / parts
    return { changes: Math.round(until), residentBytes: interpolate(points, until) }
  })
  const growth = slope(points.filter(({ x }) => x >= changes / parts))
  await sleep(restMs)
  const resting = memory.sample()
  await subject.collectGarbage?.()
  const collectedBytes = subject.collectGarbage === undefined ? Number.NaN : memory.sample().resident
  return {
    changes,
    peakBytes: resting.peak,
    growthBytesPerChange: growth,
    steps,
    last,
    restingBytes: resting.resident,
    collectedBytes,
    storedBytes: (await subject.storedBytes?.()) ?? Number.NaN,
    mostStoredBytes: await stored.end(),
  }
}

/** Looks at the bytes that a subject has on disk, from its construction until it is disposed of. */
class StoredWatch implements Disposable {
  readonly #watching: Promise<void>
  #most = Number.NaN
  #hasEnded = false

  constructor(subject: RunningSubject) {
    this.#watching = this.#watch(subject)
    // `end` throws it.
    this.#watching.catch(() => undefined)
  }

  /** The most that there was. */
  async end(): Promise<number> {
    this[Symbol.dispose]()
    await this.#watching
    return this.#most
  }

  [Symbol.dispose](): void {
    this.#hasEnded = true
  }

  async #watch(subject: RunningSubject): Promise<void> {
    while (!this.#hasEnded && subject.storedBytes !== undefined) {
      const bytes = await subject.storedBytes()
      this.#most = Number.isNaN(this.#most) ? bytes : Math.max(this.#most, bytes)
      await sleep(storedLookMs)
    }
  }
}
