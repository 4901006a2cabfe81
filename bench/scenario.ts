/** What a scenario gets and gives. */

import type { Workload, WorkloadOption } from "./load/workload.ts"
import type { Curve } from "./report/chart.ts"
import type { Measure } from "./report/table.ts"

export interface ScenarioSettings {
  /** Changes that a subject takes; each scenario has its default. */
  readonly events: number | undefined
  /** Interleaved rounds; each scenario has its default. */
  readonly rounds: number | undefined
  /** A small run that only shows that everything works; its figures mean little. */
  readonly isQuick: boolean
  /** Directory for CPU profiles of the recorder; its figures are then too high. */
  readonly profileDirectory: string | undefined
  /** What is asked of the generator; only what the scenario takes. */
  readonly workload: Workload
  /** Command of another recorder for the same rounds; only for scenarios that take one. */
  readonly peer: string | undefined
  /** True: measure what the floor of the guard is derived from. */
  readonly isCalibration: boolean
  /** Says what goes on, for people who wait. */
  readonly tell: (line: string) => void
}

export interface ScenarioReport {
  readonly measures: ReadonlyArray<Measure>
  /** What a reader of the table must know. */
  readonly notes: ReadonlyArray<string>
  /** What is shown as lines in the chart, beside the bars of the measures. */
  readonly curves?: ReadonlyArray<Curve>
  /** Why the command fails although everything was measured. Default: it does not. */
  readonly failure?: string
}

export interface Scenario {
  readonly name: string
  readonly description: string
  /** Options of the generator that make sense here; others are refused. */
  readonly takes: ReadonlyArray<WorkloadOption>
  readonly takesPeer: boolean
  /** Run by `npm run bench` without a name, with a table of its own. Default true. */
  readonly isPartOfAll?: boolean
  readonly run: (settings: ScenarioSettings) => Promise<ScenarioReport>
}

/**
 * Runs `round` up to `rounds` times, but begins none that would probably end after `limitMs`: a busy machine gets fewer
 * rounds, not a longer run. At least one.
 */
export const inRounds = async (
  rounds: number,
  limitMs: number,
  round: (number: number) => Promise<void>,
): Promise<number> => {
  const start = performance.now()
  let longest = 0
  let done = 0
  while (done < rounds && performance.now() - start + longest <= limitMs) {
    const before = performance.now()
    await round(++done)
    longest = Math.max(longest, performance.now() - before)
  }
  return done
}
