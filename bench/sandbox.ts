/**
 * Scenario *sandbox*: writes and watch events per second, and the memory of many Pods.
 *
 * Server, watchers and writers are separate processes. "In process" means `sandbox.request`, a write with everything but the socket; "over
 * HTTP" means 16 clients in another process, each with one request at a time. The latter is compared with an empty node:http server and the
 * same clients: the limit for any server on Node's HTTP.
 */

import type { Bound, Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { measureMemory, type SandboxMemory } from "./serving/sandbox-memory.ts"
import { measureRound, type Rate, type RoundRates, watcherCount, writerCount } from "./serving/sandbox-rates.ts"

/** ms for everything: memory first, then as many rounds as there is time for. */
const limitMs = 165_000
const megabyte = 1e6

const atLeast = (value: number): { readonly must: Bound } => ({ must: { relation: "at least", value } })
const atMost = (value: number): { readonly must: Bound } => ({ must: { relation: "at most", value } })

export const sandbox: Scenario = {
  name: "sandbox",
  description: "the embedded API server: writes and watch events per second, memory of 100,000 Pods",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const writes = settings.events ?? (settings.isQuick ? 4_000 : 60_000)
    const start = performance.now()
    const isProfiled = settings.profileDirectory !== undefined
    const pods = settings.isQuick ? 4_000 : 100_000
    const memory = isProfiled ? undefined : await measurePods(pods, settings)
    const rates: RoundRates[] = []
    const wanted = settings.rounds ?? (settings.isQuick || isProfiled ? 1 : 3)
    const rounds = await inRounds(wanted, Math.max(1000, limitMs - (performance.now() - start)), async (round) => {
      const measured = await measureRound(writes, settings.profileDirectory)
      rates.push(measured)
      const pace = (rate: Rate): string => Math.round(perSecond(rate)).toLocaleString("en")
      settings.tell(
        `round ${round}: in process ${pace(measured.local)} writes/s, over HTTP ${pace(measured.http)}, ` +
          `an empty server ${pace(measured.emptyHttp)}`,
      )
    })
    return report(rates, memory, { writes, rounds, pods })
  },
}

interface PodsMemory {
  readonly none: SandboxMemory
  readonly objects: SandboxMemory
}

const measurePods = async (count: number, { tell }: ScenarioSettings): Promise<PodsMemory> => {
  const measureWith = async (ledger: "none" | "objects"): Promise<SandboxMemory> => {
    const measured = await measureMemory(count, ledger)
    const [created, changed] = [measured.created, measured.changed].map((bytes) => Math.round(bytes / megabyte))
    tell(`${count.toLocaleString("en")} Pods, ledger ${ledger}: ${created} MB, each changed once ${changed} MB`)
    return measured
  }
  return { none: await measureWith("none"), objects: await measureWith("objects") }
}

const perSecond = ({ writes, seconds }: Rate): number => writes / seconds
const runningPercent = ({ seconds, cpuSeconds }: Rate): number => (cpuSeconds / seconds) * 100
const cpuMicros = ({ writes, cpuSeconds }: Rate): number => (cpuSeconds / writes) * 1e6

interface Extent {
  readonly writes: number
  readonly rounds: number
  readonly pods: number
}

const report = (rates: ReadonlyArray<RoundRates>, memory: PodsMemory | undefined, extent: Extent): ScenarioReport => ({
  measures: [...rateMeasures(rates), ...(memory === undefined ? [] : memoryMeasures(memory, extent.pods))],
  notes: [
    `${extent.rounds} ${extent.rounds === 1 ? "round" : "rounds"}; ${extent.writes.toLocaleString("en")} writes of each ` +
      "after as many unmeasured ones (Deployments: half of both). Merge patches of 100 objects in turn, each a change.",
    `“In process” is sandbox.request, without a socket; “over HTTP” are ${writerCount} clients of another process with one ` +
      "request under way each. “null reader” beside it is an empty node:http server that the same clients ask for answers " +
      "of the same length. Watchers are of another process, too; with them the time runs until the last has the last event.",
    "Memory is what the kernel counts of the whole process after a forced collection. Each Pod has 4.3 kB of JSON; the " +
      `history keeps ${extent.pods.toLocaleString("en")} changes and 256 MiB of outdated states, as by default. The peak is of the whole life, without pauses for collection.`,
    "Where the server was on a CPU for much less than 100 %, others had it: its pace in writes/s is then theirs to say, and a million " +
      "through the CPU per write is the pace of a core of its own.",
  ],
})

const rateMeasures = (rates: ReadonlyArray<RoundRates>): ReadonlyArray<Measure> => {
  const writes = (name: string, of: keyof RoundRates, more: Partial<Measure> = {}): Measure => ({
    name,
    unit: "writes/s",
    digits: 0,
    ours: rates.map((round) => perSecond(round[of])),
    ...more,
  })
  const events = (name: string, of: keyof RoundRates): Measure => ({
    name,
    unit: "events/s",
    digits: 0,
    ours: rates.map((round) => perSecond(round[of]) * watcherCount),
    ...atLeast(100_000),
  })
  const cpu = (name: string, of: keyof RoundRates, more: Partial<Measure> = {}): Measure => ({
    name,
    unit: "µs",
    digits: 1,
    ours: rates.map((round) => cpuMicros(round[of])),
    ...more,
  })
  const running = (name: string, of: keyof RoundRates, more: Partial<Measure> = {}): Measure => ({
    name,
    unit: "%",
    digits: 0,
    ours: rates.map((round) => runningPercent(round[of])),
    hasRatios: false,
    ...more,
  })
  const watched = `${watcherCount} watchers`
  return [
    writes("in process, no watchers, ConfigMap of 0.7 kB", "local", atLeast(20_000)),
    writes(`– with ${watched}`, "localWatched", atLeast(20_000)),
    events("– – to all watchers", "localWatched"),
    writes("– Deployment of 2.3 kB", "localDeployments"),
    writes(`over HTTP, ${writerCount} clients, no watchers, ConfigMap`, "http", {
      nullReader: rates.map((round) => perSecond(round.emptyHttp)),
      ...atLeast(20_000),
    }),
    {
      name: "– share of the empty server's pace",
      unit: "",
      digits: 2,
      ours: rates.map((round) => perSecond(round.http) / perSecond(round.emptyHttp)),
    },
    writes(`– with ${watched}`, "httpWatched"),
    events("– – to all watchers", "httpWatched"),
    writes("– Deployment", "httpDeployments"),
    cpu("CPU of the server per write, in process", "local"),
    cpu(`– with ${watched}`, "localWatched"),
    cpu("– Deployment", "localDeployments"),
    cpu("– over HTTP", "http", { nullReader: rates.map((round) => cpuMicros(round.emptyHttp)) }),
    cpu(`– over HTTP with ${watched}`, "httpWatched"),
    running("server on a CPU, in process", "local"),
    running("– over HTTP", "http", { nullReader: rates.map((round) => runningPercent(round.emptyHttp)) }),
  ]
}

const memoryMeasures = ({ none, objects }: PodsMemory, pods: number): ReadonlyArray<Measure> => {
  const row = (name: string, bytes: number, more: Partial<Measure> = {}): Measure => ({
    name,
    unit: "MB",
    digits: 0,
    ours: [bytes / megabyte],
    ...more,
  })
  return [
    row(`${pods.toLocaleString("en")} Pods, ${watcherCount} watchers, no ledger`, none.created, atMost(1000)),
    row("– largest until then", none.createdPeak, atMost(1000)),
    row("– each changed once more, all in the history", none.changed),
    row("– – largest until then", none.changedPeak),
    row("the same with the ledger of all objects (default)", objects.created, atMost(1000)),
    row("– each changed once more", objects.changed),
    {
      name: "put in process until all watchers have them",
      unit: "Pods/s",
      digits: 0,
      ours: [none, objects].map(({ seconds }) => pods / seconds),
    },
  ]
}
