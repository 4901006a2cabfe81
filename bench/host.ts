/**
 * Scenario *host*: controllers in one process, as WebAssembly modules and in TypeScript, beside one process for each with client-node's informer
 * and with controller-runtime (docs/reference/benchmarks.md#host): memory, CPU, and the time from a PATCH to the controller that it wakes.
 */
import { loadavg } from "node:os"
import { buildControllerRuntime } from "./hosting/controller-runtime-program.ts"
import { hostKinds } from "./hosting/host-cluster.ts"
import { type HostRun, runHost } from "./hosting/host-run.ts"
import { budgetPace, hostMeasures, hostNotes, type MeasuredShape, type Shape } from "./hosting/host-table.ts"
import type { SubjectSort } from "./hosting/hosted-subject.ts"
import type { Bound } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"

/** ms for all rounds. The paces and rests of a round alone take five minutes, so there are two rounds at most; on a busy machine there is one. */
const limitMs = 720_000
const mebibyte = 2 ** 20

const atMost = (must: number, aim: number): { readonly must: Bound; readonly aim: Bound } => ({
  must: { relation: "at most", value: must },
  aim: { relation: "at most", value: aim },
})
const wakeUp = atMost(9, 7)

const shapes: ReadonlyArray<Shape> = [
  {
    controllers: 10,
    kindsEach: "one",
    bounds: { memory: atMost(180, 120), wakeUp },
    sorts: ["modules", "controllers", "informers", "managers"],
    paces: [budgetPace, 1000],
  },
  {
    controllers: 10,
    kindsEach: "all",
    bounds: { memory: atMost(400, 200), wakeUp },
    sorts: ["modules", "controllers", "informers", "managers"],
    paces: [budgetPace, 1000],
  },
  // A hundred processes of Node would take 10 to 17 GiB.
  {
    controllers: 100,
    kindsEach: "one",
    bounds: { memory: atMost(400, 250), wakeUp },
    sorts: ["modules", "controllers", "managers"],
    paces: [budgetPace, 1000],
  },
  // A thousand changes a second would be a hundred thousand deliveries; and a hundred processes in Go would take 5 GiB.
  {
    controllers: 100,
    kindsEach: "all",
    bounds: { memory: atMost(400, 250), wakeUp },
    sorts: ["modules", "controllers"],
    paces: [budgetPace],
  },
]

const quickControllers = 2

/** Shows that everything works, and is not judged. */
const quick = (shape: Shape): Shape => ({ ...shape, controllers: quickControllers, bounds: { memory: {}, wakeUp: {} } })

export const host: Scenario = {
  name: "host",
  description: "controllers in one process, as WebAssembly modules and in TypeScript: memory, wake-up, CPU",
  takes: [],
  takesPeer: false,
  run: async ({ isQuick, rounds: wanted, tell }) => {
    const program = await buildControllerRuntime()
    const managerPath = "path" in program ? program.path : undefined
    if ("missing" in program) tell(`controller-runtime is not measured: ${program.missing}`)
    const kinds = isQuick ? hostKinds(200, 100) : hostKinds(2000, 1000)
    const times = isQuick
      ? { seconds: 0.5, events: 0, restMs: 200, settleMs: 200, idleMs: 500 }
      : { seconds: 3, events: 400, restMs: 6000, settleMs: 2000, idleMs: 3000 }
    const chosen = isQuick ? shapes.filter(({ controllers }) => controllers === 10).map(quick) : shapes
    const measured: ReadonlyArray<MeasuredShape> = chosen.map((shape) => ({
      shape,
      runs: { modules: [], controllers: [], informers: [], managers: [] } satisfies Record<SubjectSort, Array<HostRun>>,
    }))
    const loads: Array<number> = []
    const rounds = await inRounds(wanted ?? (isQuick ? 1 : 3), limitMs, async (round) => {
      const begun = performance.now()
      for (const { shape, runs } of measured) {
        for (const sort of shape.sorts) {
          if (sort === "managers" && managerPath === undefined) continue
          const { controllers, kindsEach, paces } = shape
          const run = await runHost({ sort, controllers, kindsEach, kinds, managerPath, paces, ...times })
          runs[sort].push(run)
          loads.push(loadavg()[0] ?? Number.NaN)
          const [first] = run.paces
          const watched = kindsEach === "one" ? "a kind each" : "ten kinds each"
          const p99 = `p99 at ${first?.perSecond}/s ${first?.p99Ms.toFixed(1)} ms`
          tell(`round ${round}: ${controllers} ${sort}, ${watched}: ${mebibytesOf(run.pss)} MiB, ${p99}`)
        }
      }
      tell(`round ${round} took ${Math.round((performance.now() - begun) / 1000)} s`)
    })
    return {
      measures: hostMeasures(measured),
      notes: hostNotes({ rounds, kinds, loads, program }),
    }
  },
}

const mebibytesOf = (bytes: number): number => Math.round(bytes / mebibyte)
