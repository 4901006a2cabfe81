/** How long pods were pending and ran, in the trace and in the target. */
import type { PodFidelity } from "../fidelity-report.ts"
import { rounded, shareOf, spreadOf } from "../spread.ts"
import { isCreatedDuringRun, type PodLife, type PodPair, pendingMs, runningMs } from "./pod-times.ts"
import type { PodBalance, TracePods } from "./trace-pods.ts"

/** Pairs that are shown. */
const worstPods = 10

/**
 * `recorded`: `undefined` if the trace has no pods, otherwise after it has met all of `replayed`. `unasked`: pods of the target that were not told
 * their lives, because the webhook was not asked.
 */
export const comparePods = (
  recorded: TracePods | undefined,
  replayed: ReadonlyArray<PodLife>,
  unasked: number,
): PodFidelity | null => {
  if (recorded === undefined && replayed.length === 0) return null
  const pairs = recorded?.pairs() ?? []
  const compared = replayed.filter((life) => recorded?.isCompared(life) ?? isCreatedDuringRun(life))
  const both = <T>(of: (lives: ReadonlyArray<PodLife>) => T) => ({
    recorded: recorded === undefined ? null : of(recorded.lives),
    replayed: of(compared),
  })
  const neverStarted = both((lives) => lives.filter(({ started }) => Number.isNaN(started)).length)
  const spread = (values: ReadonlyArray<number>) => spreadOf(values.filter(Number.isFinite)) ?? null
  const difference = (pair: PodPair, of: (life: PodLife) => number): number =>
    Math.abs(of(pair.replayed) - of(pair.recorded))
  const distance = (pair: PodPair): number =>
    Math.max(...[pendingMs, runningMs].map((of) => difference(pair, of)).filter(Number.isFinite), 0)
  const shown = (pair: PodPair, of: (life: PodLife) => number) => ({
    recorded: finite(of(pair.recorded)),
    replayed: finite(of(pair.replayed)),
  })
  const balance = recorded?.balance()
  return {
    ...sharesOf(balance, unasked),
    recordedFrom: recorded?.from ?? null,
    created: both(({ length }) => length),
    neverStarted: recorded?.from === "lives" ? { ...neverStarted, recorded: null } : neverStarted,
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

const sharesOf = (
  balance: PodBalance | undefined,
  unasked: number,
): Pick<PodFidelity, "asRecorded" | "extra" | "missing" | "unasked"> => {
  if (balance === undefined) return { asRecorded: null, extra: null, missing: null, unasked }
  const { recorded, missing, extra } = balance
  const asRecorded = shareOf(Math.max(0, recorded - missing - unasked), recorded + extra)
  return { asRecorded, extra, missing, unasked }
}
