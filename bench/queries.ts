/** Scenario *queries*: ten clients ask about the past all the time while 5,000 events a second arrive: how much later these are committed. */
import { atMost, megabyte, perSecond } from "./exporting/export-load.ts"
import { clients, type QueriesRun, queriesSizes, runQueries } from "./measuring/queries-run.ts"
import { median } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"

const limitMs = 170_000

export const queries: Scenario = {
  name: "queries",
  description: "ten clients ask about the past while 5,000 events/s arrive",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const { isQuick, tell } = settings
    const events = settings.events ?? (isQuick ? 20_000 : 1_000_000)
    const runs: QueriesRun[] = []
    const rounds = await inRounds(settings.rounds ?? (isQuick ? 1 : 3), limitMs, async (round) => {
      const run = await runQueries(events, perSecond, settings)
      runs.push(run)
      tell(`round ${round}: ${describe(run)}`)
    })
    const { seconds } = isQuick ? queriesSizes.quick : queriesSizes.full
    return {
      measures: measuresOf(runs),
      notes: [
        `A recorder continues a recording of ${events.toLocaleString("en")} changes of Deployments while ${perSecond.toLocaleString("en")} events/s arrive: ${seconds} s without a question, then ${seconds} s in which ${clients} clients ask in turn for 500 objects at a moment, ` +
          `the history of an object, all changes in a second of the past, and the lanes of a quarter of an hour and 40 tiles of it, over HTTP, on the machine of recorder and generator; ${rounds} ${rounds === 1 ? "round" : "rounds"}.`,
      ],
    }
  },
}

const describe = ({ before, during, pace }: QueriesRun): string =>
  `${pace.toFixed(1)} answers/s, committed p99 ${before.committedMs.toFixed(1)} → ${during.committedMs.toFixed(1)} ms, ` +
  `received p99 ${before.receivedMs.toFixed(1)} → ${during.receivedMs.toFixed(1)} ms`

const measuresOf = (runs: ReadonlyArray<QueriesRun>): ReadonlyArray<Measure> => {
  const row = (
    name: string,
    unit: string,
    digits: number,
    value: (run: QueriesRun) => number,
    bounds: Pick<Measure, "must" | "aim"> = {},
  ): Measure => ({ name, unit, digits, ours: runs.map(value), ...bounds })
  const sorts = [...(runs[0]?.answersMs.keys() ?? [])]
  return [
    // As for retention: "unchanged" within what two such stretches without a question differ by.
    row(
      "due → committed, p99, with ÷ without",
      "",
      2,
      ({ before, during }) => during.committedMs / before.committedMs,
      { must: atMost(1.2) },
    ),
    row("– without", "ms", 1, ({ before }) => before.committedMs),
    row("due → received, p99, with ÷ without", "", 2, ({ before, during }) => during.receivedMs / before.receivedMs, {
      aim: atMost(1.2),
    }),
    row("– without", "ms", 1, ({ before }) => before.receivedMs),
    row("answers", "1/s", 1, ({ pace }) => pace),
    ...sorts.map((name) => row(`– ${name}, median`, "ms", 0, ({ answersMs }) => median(answersMs.get(name) ?? []))),
    // What containers have room for; less where the reader's heap is limited as there (src/recorder/memory/memory-shares.ts).
    row("memory, growth at its peak", "MB", 0, ({ growthDuring }) => growthDuring / megabyte, { must: atMost(256) }),
    row("– without", "MB", 0, ({ growthBefore }) => growthBefore / megabyte),
  ]
}
