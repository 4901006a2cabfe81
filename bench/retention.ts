/**
 * Scenario *retention*: a gigabyte of the beginning of a recording is removed while 5,000 events a second arrive: how much later these are committed, and how
 * much memory it takes.
 */
import { atMost, megabyte, perSecond } from "./exporting/export-load.ts"
import { type RetentionRun, retentionSizes, runRetention } from "./measuring/retention-run.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"

const limitMs = 290_000

export const retention: Scenario = {
  name: "retention",
  description: "the beginning of a recording is removed while 5,000 events/s arrive",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const { isQuick, tell } = settings
    const runs: RetentionRun[] = []
    const rounds = await inRounds(settings.rounds ?? (isQuick ? 1 : 3), limitMs, async (round) => {
      const run = await runRetention(perSecond, settings)
      runs.push(run)
      tell(`round ${round}: ${describe(run)}`)
    })
    const { filledBytes, keptBytes } = isQuick ? retentionSizes.quick : retentionSizes.full
    return {
      measures: measuresOf(runs),
      notes: [
        `A recorder continues a recording of ${(filledBytes / 1e9).toFixed(2)} GB, of objects whose content cannot be compressed, and is given a limit of ${keptBytes / megabyte} MB while ${perSecond.toLocaleString("en")} events/s arrive; ` +
          `${rounds} ${rounds === 1 ? "round" : "rounds"}. Before: 15 s in the same process without a limit. Acknowledged means committed, so the bound is on that; received is 0.3 to 0.5 ms later for one event in a hundred, because generator, watcher, store and the measurement share two cores.`,
      ],
    }
  },
}

const describe = ({ removedBytes, seconds, before, during, longestTurnMs }: RetentionRun): string =>
  `${(removedBytes / 1e9).toFixed(2)} GB removed in ${seconds.toFixed(0)} s, committed p99 ${before.committedMs.toFixed(1)} → ${during.committedMs.toFixed(1)} ms, ` +
  `received p99 ${before.receivedMs.toFixed(1)} → ${during.receivedMs.toFixed(1)} ms, longest turn ${longestTurnMs.toFixed(0)} ms`

const measuresOf = (runs: ReadonlyArray<RetentionRun>): ReadonlyArray<Measure> => {
  const row = (
    name: string,
    unit: string,
    digits: number,
    value: (run: RetentionRun) => number,
    bounds: Pick<Measure, "must" | "aim"> = {},
  ): Measure => ({ name, unit, digits, ours: runs.map(value), ...bounds })
  return [
    row("removed", "GB", 2, ({ removedBytes }) => removedBytes / 1e9, { must: { relation: "at least", value: 1 } }),
    row("– within", "s", 0, ({ seconds }) => seconds),
    row("– files in the end", "MB", 0, ({ storedBytes }) => storedBytes / megabyte),
    row(
      "due → committed, p99, with ÷ without",
      "",
      2,
      ({ before, during }) => during.committedMs / before.committedMs,
      {
        must: atMost(1.2),
      },
    ),
    row("– without", "ms", 1, ({ before }) => before.committedMs),
    row("due → received, p99, with ÷ without", "", 2, ({ before, during }) => during.receivedMs / before.receivedMs, {
      aim: atMost(1.2),
    }),
    row("– without", "ms", 1, ({ before }) => before.receivedMs),
    row("memory, growth at its peak", "MB", 0, ({ growthDuring }) => growthDuring / megabyte, { must: atMost(64) }),
    row("– without", "MB", 0, ({ growthBefore }) => growthBefore / megabyte),
    row("longest turn", "ms", 0, ({ longestTurnMs }) => longestTurnMs, { aim: atMost(20) }),
  ]
}
