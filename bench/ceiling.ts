/**
 * Scenario *ceiling*: generator and null reader alone, which is the limit of kernel and machine for a workload, for comparison with other
 * figures.
 */

import { deployments } from "./load/bench-kinds.ts"
import { describeWorkload } from "./load/workload.ts"
import { cpuOf, type IngestRun, measureIngest, paceOf } from "./measuring/ingest-run.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"
import { startNullReader } from "./subjects/counting-subject.ts"

const limitMs = 60_000

export const ceiling: Scenario = {
  name: "ceiling",
  description: "generator and null reader alone: what the machine can do at most",
  takes: ["rate", "heartbeatShare", "objectBytes", "objects"],
  takesPeer: false,
  run: async (settings) => {
    const { rate, objectBytes = deployments.lineBytes } = settings.workload
    const usual = settings.isQuick ? 50_000 : 300_000
    const events =
      settings.events ?? Math.ceil(Math.min(usual, (usual * deployments.lineBytes) / objectBytes, (rate ?? usual) * 10))
    const runs: Array<IngestRun> = []
    const subject = { name: "null reader", start: startNullReader, isOfDeployments: true }
    const rounds = await inRounds(settings.rounds ?? (settings.isQuick ? 1 : 5), limitMs, async (round) => {
      runs.push(await measureIngest(subject, round, events, settings))
    })
    const row = (name: string, unit: string, digits: number, value: (run: IngestRun) => number): Measure => ({
      name,
      unit,
      digits,
      ours: [],
      nullReader: runs.map(value),
    })
    return {
      measures: [
        row("pace", "events/s", 0, paceOf),
        row("the same in bytes", "MB/s", 0, (run) => (paceOf(run) * objectBytes) / 1e6),
        row("CPU of the null reader per event", "µs", 2, cpuOf),
        row("CPU of the generator per event", "µs", 2, (run) => (run.generatorCpuSeconds / run.events) * 1e6),
      ],
      notes: [
        `${events.toLocaleString("en")} events, ${rounds} ${rounds === 1 ? "round" : "rounds"}; workload: ${describeWorkload(settings.workload) || "as in ingest"}.`,
      ],
    }
  },
}
