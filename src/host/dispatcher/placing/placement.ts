/**
 * Decides on which shared worker a module is started, and when a module moves to another one. Pure: it gets loads and returns decisions.
 *
 * Guaranteed of moves:
 * - Only a module that may be moved does, from a worker that has been busy for some time to one that has been nearly idle for as long.
 * - A move makes the busier of the two workers less busy, by {@link MovePolicy.leastGain} at least. A module that fills a worker alone stays.
 * - There is at most one move in {@link MovePolicy.restMs}, and one of a module in {@link MovePolicy.moduleRestMs}: while loads are constant,
 *   moves come to an end, and when they change all the time, modules do not go back and forth.
 */

/** The load of a module that runs on a shared worker. */
export interface ModuleLoad {
  readonly module: string
  /** The worker on which it runs. */
  readonly worker: string
  /** Share of the worker's time that passes within the module, from 0 to 1. */
  readonly share: number
  /** False while it cannot be moved: it has just been started, for example. */
  readonly isMovable: boolean
}

export interface PlannedMove {
  readonly module: string
  readonly from: string
  readonly to: string
}

/** When a module moves. */
export interface MovePolicy {
  /** Share of its time above which a worker is busy. Default 0.7: beyond that, what arrives for one module usually waits for others. */
  readonly busyAbove: number
  /** Share of its time below which a worker has room. Default 0.3. */
  readonly idleBelow: number
  /** ms for which both must have been so. Default 5000: a burst, such as the list of a module that starts, is over by then. */
  readonly lastingMs: number
  /** Share by which the busier worker must become less busy. Default 0.1: a move stops the module for some 50 ms. */
  readonly leastGain: number
  /** ms between two moves. Default 10,000: the effect of the former must be seen before the next. */
  readonly restMs: number
  /** ms between two attempts to move one module. Default 60,000. */
  readonly moduleRestMs: number
}

export const defaultMovePolicy: MovePolicy = {
  busyAbove: 0.7,
  idleBelow: 0.3,
  lastingMs: 5000,
  leastGain: 0.1,
  restMs: 10_000,
  moduleRestMs: 60_000,
}

/** What a module counts at least when the place of another is chosen: many idle ones are spread, and one that has just begun is not nothing. */
const leastShare = 0.01

/** The least loaded of `workers`, the first of equals. `loads`: of the modules that run on them. There must be a worker. */
export const placeFor = (workers: ReadonlyArray<string>, loads: ReadonlyArray<ModuleLoad>): string => {
  const sums = sumsOf(workers, loads, ({ share }) => Math.max(share, leastShare))
  return leastOf(workers, sums)
}

/** Remembers for how long workers have been busy or idle, and what has been moved. */
export class MovePlanner {
  readonly #policy: MovePolicy
  readonly #busySince = new Map<string, number>()
  readonly #idleSince = new Map<string, number>()
  readonly #movedAt = new Map<string, number>()
  #lastMoveAt = Number.NEGATIVE_INFINITY

  constructor(policy: MovePolicy = defaultMovePolicy) {
    this.#policy = policy
  }

  /**
   * Call it at regular intervals, shorter than the policy's times. Returns the move to make now, which counts as made whether it succeeds or not.
   *
   * `workers`: the shared workers that run. `loads`: of the modules on them, over the last seconds. `nowMs`: monotonic.
   */
  observe(nowMs: number, workers: ReadonlyArray<string>, loads: ReadonlyArray<ModuleLoad>): PlannedMove | undefined {
    const { busyAbove, idleBelow, lastingMs, restMs, moduleRestMs } = this.#policy
    for (const [module, at] of this.#movedAt) if (nowMs - at >= moduleRestMs) this.#movedAt.delete(module)
    const sums = sumsOf(workers, loads, ({ share }) => share)
    const isLasting = (since: Map<string, number>, isSo: (sum: number) => boolean): ReadonlyArray<string> => {
      for (const worker of [...since.keys()]) if (!isSo(sums.get(worker) ?? Number.NaN)) since.delete(worker)
      for (const worker of workers) if (isSo(sums.get(worker) ?? 0) && !since.has(worker)) since.set(worker, nowMs)
      return workers.filter((worker) => nowMs - (since.get(worker) ?? nowMs) >= lastingMs)
    }
    const busy = isLasting(this.#busySince, (sum) => sum > busyAbove)
    const idle = isLasting(this.#idleSince, (sum) => sum < idleBelow)
    if (busy.length === 0 || idle.length === 0 || nowMs - this.#lastMoveAt < restMs) return undefined
    const to = leastOf(idle, sums)
    // The busiest first; one that is full of a single module leaves the next its turn.
    for (const from of busy.toSorted((one, other) => (sums.get(other) ?? 0) - (sums.get(one) ?? 0))) {
      const module = this.#moduleToMove(loads, from, sums.get(from) ?? 0, sums.get(to) ?? 0)
      if (module === undefined || from === to) continue
      this.#lastMoveAt = nowMs
      this.#movedAt.set(module, nowMs)
      // Both have to last anew.
      this.#busySince.delete(from)
      this.#idleSince.delete(to)
      return { module, from, to }
    }
    return undefined
  }

  /** The module whose move gains most; of equals the one with the smaller load, which is stopped for the move. */
  #moduleToMove(loads: ReadonlyArray<ModuleLoad>, from: string, busy: number, idle: number): string | undefined {
    let best: { readonly module: string; readonly gain: number; readonly share: number } | undefined
    for (const { module, worker, share, isMovable } of loads) {
      if (worker !== from || !isMovable || this.#movedAt.has(module)) continue
      const gain = busy - Math.max(busy - share, idle + share)
      if (gain < this.#policy.leastGain) continue
      if (best === undefined || gain > best.gain || (gain === best.gain && share < best.share))
        best = { module, gain, share }
    }
    return best?.module
  }
}

const sumsOf = (
  workers: ReadonlyArray<string>,
  loads: ReadonlyArray<ModuleLoad>,
  shareOf: (load: ModuleLoad) => number,
): ReadonlyMap<string, number> => {
  const sums = new Map(workers.map((worker) => [worker, 0]))
  for (const load of loads) {
    const sum = sums.get(load.worker)
    if (sum !== undefined) sums.set(load.worker, sum + shareOf(load))
  }
  return sums
}

const leastOf = (workers: ReadonlyArray<string>, sums: ReadonlyMap<string, number>): string => {
  const [first, ...rest] = workers
  if (first === undefined) throw new Error("there is no worker to choose from")
  return rest.reduce((best, worker) => ((sums.get(worker) ?? 0) < (sums.get(best) ?? 0) ? worker : best), first)
}
