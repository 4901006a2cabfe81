/**
 * How much longer than on an idle machine something may take before a test fails. A limit only ends a test that would never end: a result
 * is still correct after five times the time. So no limit is short, and all of them grow with the machine's load, and if it is slow.
 */
import { availableParallelism, loadavg } from "node:os"
import { measuredSlowness } from "./slowness.ts"

/** Sets the factor by hand: 1 for an idle machine. */
export const patienceVariable = "KUBEREEL_TEST_PATIENCE"

/** How much slower than usual the machine is: set by the process that began the run, so that it is measured once; `.ci/run` sets it for all of its suites. */
export const slownessVariable = "KUBEREEL_TEST_SLOWNESS"

/**
 * The current factor: 2 on an idle machine, since the other tests of the run keep it busy, and 1 more for each process per processor that
 * ran or waited in the last minute, 10 at most; or twice the slowness of the machine, if that is more.
 */
export const patience = (environment: NodeJS.ProcessEnv = process.env, load: number = loadavg()[0] ?? 0): number => {
  const given = environment[patienceVariable]
  if (given !== undefined) return factorOf(patienceVariable, given)
  return Math.max(Math.min(2 + load / availableParallelism(), 10), 2 * slowness(environment))
}

/** How much slower than usual the machine is, at least 1: measured if no process of this run has done that. */
export const slowness = (environment: NodeJS.ProcessEnv = process.env): number => {
  environment[slownessVariable] ??= String(measuredSlowness())
  return factorOf(slownessVariable, environment[slownessVariable])
}

const factorOf = (variable: string, text: string): number => {
  const factor = Number(text)
  if (!(factor >= 1)) throw new Error(`${variable}=${text}: it must be a number of at least 1`)
  return factor
}

/** A limit in ms for work that takes at most `idleMs` on an idle machine. */
export const patient = (idleMs: number): number => Math.ceil(idleMs * patience())
