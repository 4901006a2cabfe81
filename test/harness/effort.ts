/**
 * How often what is random is tried, and under how much load. Rounds of kills and runs of properties find more the more there are, and each
 * costs the same: an ordinary run takes a quarter of them, with other seeds each time, and a thorough one, before a
 * release, takes all.
 */
import { slowness } from "./patience.ts"

/** Any value but the empty one asks for a thorough run. */
export const thoroughVariable = "KUBEREEL_TEST_THOROUGH"

/** Whether this run is thorough. */
export const isThorough = (environment: NodeJS.ProcessEnv = process.env): boolean =>
  (environment[thoroughVariable] ?? "") !== ""

/** Of `all` rounds those that this run takes: a quarter, at least one. */
export const rounds = (all: number, environment?: NodeJS.ProcessEnv): number =>
  isThorough(environment) ? all : Math.ceil(all / 4)

/**
 * The changes per second of a load of which `full` is meant: a quarter, because it is what costs the CPU of such a test; and on a slow machine as much less,
 * as there a server forgets what a recorder that starts has not yet seen.
 */
export const load = (full: number, environment: NodeJS.ProcessEnv = process.env): number =>
  Math.ceil(rounds(full, environment) / slowness(environment))

/** Of several cases that are alike, those that this run takes: the first. */
export const alike = <Case>(cases: ReadonlyArray<Case>, environment?: NodeJS.ProcessEnv): ReadonlyArray<Case> =>
  isThorough(environment) ? cases : cases.slice(0, 1)
