/**
 * How often what is random is tried. Rounds of kills and runs of properties find more the more there are, and each costs the same: an
 * ordinary run takes a quarter of them, with other seeds each time, and a thorough one, as in CI, takes all.
 */

/** Any value but the empty one asks for a thorough run. */
export const thoroughVariable = "KUBEREEL_TEST_THOROUGH"

/** Whether this run is thorough. */
export const isThorough = (environment: NodeJS.ProcessEnv = process.env): boolean =>
  (environment[thoroughVariable] ?? "") !== ""

/** Of `all` rounds those that this run takes: a quarter, at least one. */
export const rounds = (all: number, environment?: NodeJS.ProcessEnv): number =>
  isThorough(environment) ? all : Math.ceil(all / 4)
