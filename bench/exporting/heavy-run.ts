/**
 * Part of scenario *hostile*: stretches with heavy requests and stretches without them alternate in one recorder, so that whatever else changes
 * on the machine changes both.
 */
import { get } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { type Period, type StretchLatency, sharedMs } from "../load/steady-load.ts"
import { givingWay, plainly, takingPrecedence } from "../processes/another-machine.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import { listeningPort } from "../processes/listening-port.ts"
import type { ScenarioSettings } from "../scenario.ts"
import { exportUnderLoad } from "./export-load.ts"
import type { HeavyRequests } from "./heavy-requests.ts"

const script = fileURLToPath(new URL("./heavy-requests-process.ts", import.meta.url))
/** ms between two probes. */
export const probeMs = 20
const patienceMs = 30_000
/** How many times each sort of stretch comes, and how long it takes. */
export const stretches = { full: { times: 3, ms: 1400 }, quick: { times: 1, ms: 1500 } } as const

/** Both sorts of stretches. */
export interface HeavyRun {
  readonly calm: Measured
  readonly heavy: Measured
  /** Responses by status; 0: the client has left. */
  readonly statuses: Readonly<Record<string, number>>
  /** Cores that the client took while it was sending. */
  readonly clientCores: number
}

export interface Measured {
  /** ms that each probe waited. */
  readonly probes: ReadonlyArray<number>
  readonly latency: StretchLatency
}

interface Stretches {
  readonly periods: Period[]
  readonly probes: number[]
}

const newStretches = (): Stretches => ({ periods: [], probes: [] })

interface Told {
  readonly statuses: Readonly<Record<string, number>>
  readonly cpuMs: number
}

export const runHeavy = async (
  { name }: HeavyRequests,
  events: number,
  settings: Pick<ScenarioSettings, "isQuick" | "profileDirectory">,
): Promise<HeavyRun> => {
  const { times, ms } = settings.isQuick ? stretches.quick : stretches.full
  const calm = newStretches()
  const heavy = newStretches()
  const { answer, load } = await exportUnderLoad(
    {
      ...{ format: "ndjson", workload: {}, events },
      // The stretches without requests are what it is compared with.
      ...{ seconds: ((2 * times + 1) * ms) / 1000, before: 0, launch: takingPrecedence() ?? plainly },
    },
    settings,
    async ({ subject }) => {
      const server = `http://127.0.0.1:${listeningPort(subject.pid)}`
      const askedMs = sharedMs()
      await using client = new LineProcess({ ...(givingWay() ?? plainly)([script, server, name]), endsBy: "input" })
      let told: Told = { statuses: {}, cpuMs: 0 }
      // The first stretches only warm up: V8 compiles what the requests run, on both cores.
      for (let time = -1; time < times; time++) {
        const [into, intoHeavy] = time < 0 ? [newStretches(), newStretches()] : [calm, heavy]
        await probe(server, time < 0 ? 0 : ms, into)
        const first = client.hear("the first response", patienceMs, fieldOf<boolean>("sending"))
        client.tell({ send: true })
        await first
        await probe(server, ms, intoHeavy)
        const ended = client.hear("the statuses", patienceMs, (line) =>
          fieldOf<object>("statuses")(line) === undefined ? undefined : (JSON.parse(line) as Told),
        )
        client.tell({ send: false })
        told = await ended
      }
      return { askedMs, endedMs: sharedMs(), told }
    },
    async () => ({}),
  )
  const measured = ({ periods, probes }: Stretches): Measured => ({ probes, latency: load.latencyIn(periods) })
  const sendingMs = (times + 1) * ms
  return {
    calm: measured(calm),
    heavy: measured(heavy),
    statuses: answer.told.statuses,
    clientCores: answer.told.cpuMs / sendingMs,
  }
}

/** Probes one after another for so many ms. */
const probe = async (server: string, forMs: number, into: Stretches): Promise<void> => {
  const fromMs = sharedMs()
  while (sharedMs() < fromMs + forMs) {
    const start = performance.now()
    await health(server)
    into.probes.push(performance.now() - start)
    await sleep(probeMs)
  }
  into.periods.push({ fromMs, untilMs: sharedMs() })
}

const health = (server: string): Promise<void> =>
  new Promise((resolve, reject) => {
    get(`${server}/healthz`, (response) => {
      response.resume().on("end", resolve)
    }).on("error", reject)
  })
