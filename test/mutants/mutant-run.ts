/**
 * How many mutants a run tries, and which: 10,000 in a thorough run and a few hundred in an ordinary one, always the same unless
 * `KUBEREEL_TEST_SEED` says otherwise. A failure names seed and path; with the path in `KUBEREEL_TEST_MUTANT` that mutant runs alone.
 */
import type { Parameters } from "fast-check"
import { isThorough } from "../harness/effort.ts"

/** What all random choices of the mutants come from. */
export const mutantSeed = Number(process.env.KUBEREEL_TEST_SEED ?? 17)

/** Of 10,000 mutants those that this run tries. */
export const mutantCount = (environment?: NodeJS.ProcessEnv): number => (isThorough(environment) ? 10_000 : 300)

/** For fast-check: `runs` of a property whose failure prints what repeats it. */
export const mutantRuns = <Given>(runs: number): Parameters<Given> => {
  const path = process.env.KUBEREEL_TEST_MUTANT
  return { seed: mutantSeed, numRuns: runs, ...(path !== undefined && { path, endOnFailure: true }) }
}

/** Attempts to make a failing mutant smaller. There is no end to them otherwise: each takes as long as the mutant itself. */
const shrinkingRuns = 150

/** A check that after its first failure lets everything pass beyond some attempts to make the mutant smaller, so that a failure is reported soon. */
export const shrinkingSoon = <Given>(check: (given: Given) => Promise<void>): ((given: Given) => Promise<void>) => {
  let left = Number.POSITIVE_INFINITY
  return async (given) => {
    if (left-- <= 0) return
    try {
      await check(given)
    } catch (error) {
      left = Math.min(left, shrinkingRuns)
      throw error
    }
  }
}

/** Bytes for people, and for a repetition: text if they are, else base64; the middle of long ones is left out. */
export const shownBytes = (bytes: Buffer, longest = 4000): string => {
  const text = bytes.toString()
  const isText = Buffer.from(text).equals(bytes)
  const shown = isText ? JSON.stringify(text) : bytes.toString("base64")
  const cut = shown.length > longest ? `${shown.slice(0, longest / 2)} … ${shown.slice(-longest / 2)}` : shown
  return `${bytes.length} bytes${isText ? "" : " in base64"}: ${cut}`
}
