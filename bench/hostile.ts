/**
 * Scenario *hostile*: what the heaviest requests do to a recorder, while 5,000 events a second arrive: how long a health probe waits, and how
 * much later events are received.
 */
import { get } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { atMost, exportUnderLoad, type LoadedRun, perSecond } from "./exporting/export-load.ts"
import { heavyRequests } from "./exporting/heavy-requests.ts"
import { sharedMs } from "./load/steady-load.ts"
import { fieldOf, LineProcess } from "./processes/line-process.ts"
import { listeningPort } from "./processes/listening-port.ts"
import { percentile } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioSettings } from "./scenario.ts"

const script = fileURLToPath(new URL("./exporting/heavy-requests-process.ts", import.meta.url))
/** ms between two probes, and that one thing may take. */
const probeMs = 20
const patienceMs = 30_000
const limitMs = 280_000
/** s for which requests are sent. */
const sentSeconds = { full: 8, quick: 2 } as const

interface HostileAnswer {
  readonly askedMs: number
  readonly endedMs: number
  /** ms that each probe waited. */
  readonly before: ReadonlyArray<number>
  readonly during: ReadonlyArray<number>
  /** Responses by status; 0: the client has left. */
  readonly statuses: Readonly<Record<string, number>>
}

type HostileRun = LoadedRun<HostileAnswer>

export const hostile: Scenario = {
  name: "hostile",
  description: "health probes and recording while the heaviest requests are sent",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const events = settings.events ?? (settings.isQuick ? 20_000 : 100_000)
    const runs = new Map(heavyRequests.map(({ name }) => [name, [] as Array<HostileRun>]))
    const rounds = await inRounds(settings.rounds ?? (settings.isQuick ? 1 : 3), limitMs, async (round) => {
      for (const { name } of heavyRequests) {
        const run = await measure(name, events, settings)
        runs.get(name)?.push(run)
        settings.tell(`round ${round}: ${describe(name, run)}`)
      }
    })
    return {
      measures: [...runs].flatMap(([name, ofSort]) => measuresOf(name, ofSort)),
      notes: [
        `${events.toLocaleString("en")} events are recorded and ${perSecond.toLocaleString("en")}/s arrive; four connections send without a pause for ${settings.isQuick ? sentSeconds.quick : sentSeconds.full} s; ` +
          `a probe every ${probeMs} ms; ${rounds} ${rounds === 1 ? "round" : "rounds"}. The client has the lower priority of another machine, but shares the two cores.`,
      ],
    }
  },
}

const measure = (name: string, events: number, settings: ScenarioSettings): Promise<HostileRun> => {
  const seconds = settings.isQuick ? sentSeconds.quick : sentSeconds.full
  return exportUnderLoad(
    { format: "ndjson", workload: {}, events, seconds },
    settings,
    async ({ subject }) => {
      const server = `http://127.0.0.1:${listeningPort(subject.pid)}`
      const before = await probing(server, (seconds * 1000) / 2)
      await using client = new LineProcess({ script: [script, server, name], endsBy: "input" })
      await client.hear("the first response", patienceMs, fieldOf<boolean>("sending"))
      const askedMs = sharedMs()
      const during = await probing(server, seconds * 1000)
      const endedMs = sharedMs()
      const statuses = client.hear("the statuses", patienceMs, fieldOf<Record<string, number>>("statuses"))
      client.tell({ stop: true })
      return { askedMs, endedMs, before, during, statuses: await statuses }
    },
    async () => ({}),
  )
}

/** Probes one after another for so many ms; the ms that each took. */
const probing = async (server: string, forMs: number): Promise<ReadonlyArray<number>> => {
  const waits: number[] = []
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    const start = performance.now()
    await probe(server)
    waits.push(performance.now() - start)
    await sleep(probeMs)
  }
  return waits
}

const probe = (server: string): Promise<void> =>
  new Promise((resolve, reject) => {
    get(`${server}/healthz`, (response) => {
      response.resume().on("end", resolve)
    }).on("error", reject)
  })

const p99 = (waits: ReadonlyArray<number>): number => percentile(waits, 0.99)

const describe = (name: string, { answer, before, during }: HostileRun): string =>
  `${name}: probe p99 ${p99(answer.before).toFixed(1)} → ${p99(answer.during).toFixed(1)} ms, received p99 ${before.receivedMs.toFixed(1)} → ` +
  `${during.receivedMs.toFixed(1)} ms, responses ${JSON.stringify(answer.statuses)}`

const measuresOf = (name: string, runs: ReadonlyArray<HostileRun>): ReadonlyArray<Measure> => {
  const row = (
    what: string,
    unit: string,
    digits: number,
    value: (run: HostileRun) => number,
    must?: number,
  ): Measure => ({
    ...{ name: what, unit, digits, ours: runs.map(value) },
    ...(must !== undefined && { must: atMost(must) }),
  })
  const sum = ({ answer }: HostileRun): number => Object.values(answer.statuses).reduce((all, count) => all + count, 0)
  return [
    row(`${name}: /healthz, p99`, "ms", 1, ({ answer }) => p99(answer.during), 20),
    row("– before", "ms", 1, ({ answer }) => p99(answer.before)),
    row(
      `${name}: due → received, p99, during ÷ before`,
      "",
      2,
      ({ before, during }) => during.receivedMs / before.receivedMs,
      1.2,
    ),
    row("– before", "ms", 1, ({ before }) => before.receivedMs),
    row("– requests", "", 0, sum),
  ]
}
