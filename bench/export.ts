/**
 * Scenario *export*: 100,000 events in either format (docs/reference/architecture.md#budgets). The exporter alone, from a recording that is
 * not being written to; then a running recorder, with a client that takes everything at once and one that hardly reads.
 */
import { measureLive } from "./exporting/export-live.ts"
import { measureRecorded } from "./exporting/export-recorded.ts"
import { measureSlowReader } from "./exporting/export-slow-reader.ts"
import type { Scenario, ScenarioReport } from "./scenario.ts"

export const exporting: Scenario = {
  name: "export",
  description: "exporting 100,000 events: alone, while 5,000 events/s arrive, and to a client that reads 10 kB/s",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const isProfiled = settings.profileDirectory !== undefined
    const events = settings.events ?? (settings.isQuick ? 20_000 : 100_000)
    // A profile covers a recorder with a user's request.
    const parts = isProfiled ? [measureLive] : [measureRecorded, measureLive, measureSlowReader]
    const reports: Array<ScenarioReport> = []
    for (const part of parts) reports.push(await part(events, settings))
    return {
      measures: reports.flatMap(({ measures }) => measures),
      notes: reports.flatMap(({ notes }) => notes),
    }
  },
}
