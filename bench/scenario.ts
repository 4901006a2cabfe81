/** What a scenario gets and gives. */
import type { Measure } from "./table.ts"

export interface ScenarioSettings {
  /** Changes that a subject takes; each scenario has its default. */
  readonly events: number | undefined
  /** Interleaved rounds; each scenario has its default. */
  readonly rounds: number | undefined
  /** A small run that only shows that everything works; its figures mean little. */
  readonly isQuick: boolean
  /** Directory for CPU profiles of the recorder; its figures are then too high. */
  readonly profileDirectory: string | undefined
  /** Says what goes on, for people who wait. */
  readonly tell: (line: string) => void
}

export interface ScenarioReport {
  readonly measures: ReadonlyArray<Measure>
  /** What a reader of the table must know. */
  readonly notes: ReadonlyArray<string>
}

export interface Scenario {
  readonly name: string
  readonly description: string
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
