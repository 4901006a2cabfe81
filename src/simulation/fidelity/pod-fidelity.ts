/** How long pods were pending and ran, in the trace and in the target. */
import type { PodFidelity } from "./fidelity-report.ts"
import { type PodLife, type PodPair, pendingMs, podPairs, runningMs } from "./pod-times.ts"
import { rounded, spreadOf } from "./spread.ts"

/** Pairs that are shown. */
const worstPods = 10

/** `recorded`: `undefined` if the trace has no pods. */
export const comparePods = (
  recorded: ReadonlyArray<PodLife> | undefined,
  replayed: ReadonlyArray<PodLife>,
): PodFidelity | null => {
  if (recorded === undefined && replayed.length === 0) return null
  const pairs = podPairs(recorded ?? [], replayed)
  const duringRun = (lives: ReadonlyArray<PodLife>): ReadonlyArray<PodLife> =>
    lives.filter(({ created }) => created >= 0)
  const both = <T>(of: (lives: ReadonlyArray<PodLife>) => T) => ({
    recorded: recorded === undefined ? null : of(duringRun(recorded)),
    replayed: of(duringRun(replayed)),
  })
  const spread = (values: ReadonlyArray<number>) => spreadOf(values.filter(Number.isFinite)) ?? null
  const difference = (pair: PodPair, of: (life: PodLife) => number): number =>
    Math.abs(of(pair.replayed) - of(pair.recorded))
  const distance = (pair: PodPair): number =>
    Math.max(...[pendingMs, runningMs].map((of) => difference(pair, of)).filter(Number.isFinite), 0)
  const shown = (pair: PodPair, of: (life: PodLife) => number) => ({
    recorded: finite(of(pair.recorded)),
    replayed: finite(of(pair.replayed)),
  })
  return {
    created: both(({ length }) => length),
    neverStarted: both((lives) => lives.filter(({ started }) => Number.isNaN(started)).length),
    paired: pairs.length,
    pendingMs: both((lives) => spread(lives.map(pendingMs))),
    runningMs: both((lives) => spread(lives.map(runningMs))),
    pendingDifferenceMs: spread(pairs.map((pair) => difference(pair, pendingMs))),
    runningDifferenceMs: spread(pairs.map((pair) => difference(pair, runningMs))),
    worst: pairs
      .toSorted((left, right) => distance(right) - distance(left))
      .slice(0, worstPods)
      .map((pair) => ({
        owner: pair.recorded.owner,
        pod: { recorded: pair.recorded.key, replayed: pair.replayed.key },
        pendingMs: shown(pair, pendingMs),
        runningMs: shown(pair, runningMs),
      })),
  }
}

const finite = (ms: number): number | null => (Number.isFinite(ms) ? rounded(ms) : null)
