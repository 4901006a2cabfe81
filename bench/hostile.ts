/**
 * Scenario *hostile*: what the heaviest requests do to a recorder while 5,000 events a second arrive: how long a health probe waits, and how
 * much later events are received.
 */
import { atMost, perSecond } from "./exporting/export-load.ts"
import { heavyRequests } from "./exporting/heavy-requests.ts"
import { type HeavyRun, probeMs, runHeavy, stretches } from "./exporting/heavy-run.ts"
import { givingWay, takingPrecedence } from "./processes/another-machine.ts"
import { percentile } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"

const limitMs = 220_000

export const hostile: Scenario = {
  name: "hostile",
  description: "health probes and recording while the heaviest requests are sent",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const { isQuick, tell } = settings
    const events = settings.events ?? (isQuick ? 20_000 : 100_000)
    const runs = new Map(heavyRequests.map(({ name }) => [name, [] as Array<HeavyRun>]))
    const rounds = await inRounds(settings.rounds ?? (isQuick ? 1 : 3), limitMs, async (round) => {
      for (const heavy of heavyRequests) {
        const run = await runHeavy(heavy, events, settings)
        runs.get(heavy.name)?.push(run)
        tell(`round ${round}: ${describe(heavy.name, run)}`)
      }
    })
    const { times, ms } = isQuick ? stretches.quick : stretches.full
    return {
      measures: [...runs].flatMap(([name, ofSort]) => measuresOf(name, ofSort)),
      notes: [
        `${events.toLocaleString("en")} events are recorded and ${perSecond.toLocaleString("en")}/s arrive; ${times} stretches of ${ms / 1000} s in which four connections send without a pause alternate with as many without requests, in one recorder; ` +
          `a probe every ${probeMs} ms; ${rounds} ${rounds === 1 ? "round" : "rounds"}. The ratio is that of the 99th percentiles of all events of either sort; a first stretch of either sort, in which V8 compiles, is not counted.`,
        "Acknowledged means committed, so the bound is on that. Received is when the recorder has read an event: about a ms after it is due here, so a watcher that finds both cores taken for half a ms already shows as 1.5.",
        ...placesOfMachines(),
      ],
    }
  },
}

/** What is and is not kept apart on the machine that everything shares. */
const placesOfMachines = (): ReadonlyArray<string> => {
  const client = givingWay() !== undefined
  const server = takingPrecedence() !== undefined
  return [
    "Clients and API server are other machines in reality, but share the cores with the recorder here. " +
      (client
        ? "The client runs only where a core has nothing else to do (SCHED_IDLE)"
        : "The client takes time from the recorder, because chrt(1) is missing") +
      (server
        ? ", and the API server is never kept waiting (SCHED_FIFO): what differs between the stretches is what the recorder does for the requests."
        : ", and the API server has to wait for cores that the recorder uses for the requests, because this user may not change that; as root the ratios are smaller."),
  ]
}

const p99 = (waits: ReadonlyArray<number>): number => percentile(waits, 0.99)

const ratioOf = ({ calm, heavy }: HeavyRun): number => heavy.latency.receivedMs / calm.latency.receivedMs

const describe = (name: string, run: HeavyRun): string =>
  `${name}: probe p99 ${p99(run.calm.probes).toFixed(1)} → ${p99(run.heavy.probes).toFixed(1)} ms, ` +
  `received p99 ${run.calm.latency.receivedMs.toFixed(1)} → ${run.heavy.latency.receivedMs.toFixed(1)} ms (${ratioOf(run).toFixed(2)}), responses ${JSON.stringify(run.statuses)}`

const measuresOf = (name: string, runs: ReadonlyArray<HeavyRun>): ReadonlyArray<Measure> => {
  const row = (
    what: string,
    unit: string,
    digits: number,
    value: (run: HeavyRun) => number,
    bounds: Pick<Measure, "must" | "aim"> = {},
  ): Measure => ({ name: what, unit, digits, ours: runs.map(value), ...bounds })
  const sum = ({ statuses }: HeavyRun): number => Object.values(statuses).reduce((all, count) => all + count, 0)
  return [
    row(`${name}: /healthz, p99`, "ms", 1, ({ heavy }) => p99(heavy.probes), { must: atMost(20) }),
    row("– without them", "ms", 1, ({ calm }) => p99(calm.probes)),
    row(
      `${name}: due → committed, p99, with ÷ without them`,
      "",
      2,
      ({ calm, heavy }) => heavy.latency.committedMs / calm.latency.committedMs,
      { must: atMost(1.2) },
    ),
    row("– without them", "ms", 1, ({ calm }) => calm.latency.committedMs),
    row("– due → received, p99, with ÷ without them", "", 2, ratioOf, { aim: atMost(1.2) }),
    row("– without them", "ms", 1, ({ calm }) => calm.latency.receivedMs),
    row("– requests", "", 0, sum),
    row("– cores that the client took", "", 2, ({ clientCores }) => clientCores),
  ]
}
