/** The input and the results of a scenario. */

import type { Workload, WorkloadOption } from "./load/workload.ts"
import type { Curve } from "./report/chart/chart.ts"
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
  /** Options of the generator; only those that the scenario supports. */
  readonly workload: Workload
  /** Command of another recorder, or replayer, for the same rounds; only for scenarios that take one. */
  readonly peer: string | undefined
  /** True: measure the basis of the guard's floor. */
  readonly isCalibration: boolean
  /** Reports progress to the user. */
  readonly tell: (line: string) => void
}

export interface ScenarioReport {
  readonly measures: ReadonlyArray<Measure>
  /** Notes for readers of the table. */
  readonly notes: ReadonlyArray<string>
  /** What is shown as lines in the chart, beside the bars of the measures. */
  readonly curves?: ReadonlyArray<Curve>
  /** Why the command fails although everything was measured. Default: it does not. */
  readonly failure?: string
}

export interface Scenario {
  readonly name: string
  readonly description: string
  /** Options of the generator that make sense here; others are rejected. */
  readonly takes: ReadonlyArray<WorkloadOption>
  readonly takesPeer: boolean
  /** Run by `npm run bench` without a name, with a table of its own. Default true. */
  readonly isPartOfAll?: boolean
  readonly run: (settings: ScenarioSettings) => Promise<ScenarioReport>
}

/**
 * Runs `round` up to `rounds` times, but starts none that would probably end after `limitMs`: a busy machine gets fewer rounds, not a
 * longer run. At least one.
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
