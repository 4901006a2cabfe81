/**
 * Scenario *host*: controllers in one process, as WebAssembly modules and in TypeScript, beside one process for each with client-node's informer
 * (docs/reference/benchmarks.md#host): memory, CPU, and the time from a PATCH to the controller that it wakes.
 */
import { loadavg } from "node:os"
import { type HostKind, hostKinds } from "./hosting/host-cluster.ts"
import { type HostRun, type PaceRun, runHost, runUnloading, type UnloadingRun } from "./hosting/host-run.ts"
import type { SubjectSort } from "./hosting/hosted-subject.ts"
import { percentile } from "./report/statistics.ts"
import { formatValues, type Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport } from "./scenario.ts"

/** ms; a round takes some four minutes. */
const limitMs = 300_000
const mebibyte = 2 ** 20

type Bounds = Pick<Measure, "must" | "aim">
const atMost = (must: number, aim: number): Bounds => ({
  must: { relation: "at most", value: must },
  aim: { relation: "at most", value: aim },
})
const wakeUp = atMost(9, 7)
/** Events/s of the budget's wake-ups. */
const budgetPace = 50

/** Controllers on the kinds: `one` of the ten each, in turn, or `all` of them each. */
interface Shape {
  readonly controllers: number
  readonly kindsEach: "one" | "all"
  /** Of the memory, and of p99 at {@link budgetPace}. */
  readonly bounds: Readonly<Record<"memory" | "wakeUp", Bounds>>
  readonly sorts: ReadonlyArray<SubjectSort>
  /** Events/s. */
  readonly paces: ReadonlyArray<number>
}

const shapes: ReadonlyArray<Shape> = [
  {
    controllers: 10,
    kindsEach: "one",
    bounds: { memory: atMost(180, 120), wakeUp },
    sorts: ["modules", "controllers", "informers"],
    paces: [budgetPace, 1000],
  },
  {
    controllers: 10,
    kindsEach: "all",
    bounds: { memory: atMost(400, 200), wakeUp },
    sorts: ["modules", "controllers", "informers"],
    paces: [budgetPace, 1000],
  },
  {
    controllers: 100,
    kindsEach: "one",
    bounds: { memory: atMost(400, 250), wakeUp },
    sorts: ["modules"],
    paces: [budgetPace, 1000],
  },
  // A thousand changes a second would be a hundred thousand deliveries.
  {
    controllers: 100,
    kindsEach: "all",
    bounds: { memory: atMost(400, 250), wakeUp },
    sorts: ["modules"],
    paces: [budgetPace],
  },
]

const quickControllers = 2

/** Shows that everything works, and is not judged. */
const quick = (shape: Shape): Shape => ({ ...shape, controllers: quickControllers, bounds: { memory: {}, wakeUp: {} } })

/** What was measured of one shape, a value for each round. */
type Runs = Readonly<Record<SubjectSort, Array<HostRun>>>

export const host: Scenario = {
  name: "host",
  description: "controllers in one process, as WebAssembly modules and in TypeScript: memory, wake-up, CPU",
  takes: [],
  takesPeer: false,
  run: async ({ isQuick, rounds: wanted, tell }) => {
    const kinds = isQuick ? hostKinds(200, 100) : hostKinds(2000, 1000)
    const times = isQuick
      ? { seconds: 0.5, events: 0, settleMs: 200, idleMs: 500 }
      : { seconds: 3, events: 400, settleMs: 2000, idleMs: 3000 }
    const chosen = isQuick ? shapes.filter(({ controllers }) => controllers === 10).map(quick) : shapes
    const measured = new Map<Shape, Runs>(
      chosen.map((shape) => [shape, { modules: [], controllers: [], informers: [] }]),
    )
    const unloadings: Array<UnloadingRun> = []
    const loads: Array<number> = []
    const rounds = await inRounds(wanted ?? (isQuick ? 1 : 3), limitMs, async (round) => {
      for (const [shape, runs] of measured) {
        for (const sort of shape.sorts) {
          const { controllers, kindsEach, paces } = shape
          const run = await runHost({ sort, controllers, kindsEach, kinds, paces, ...times })
          runs[sort].push(run)
          loads.push(loadavg()[0] ?? Number.NaN)
          const [first] = run.paces
          tell(
            `round ${round}: ${controllers} ${sort}, ${kindsOf(shape)}: ${Math.round(run.pss / mebibyte)} MiB, ` +
              `p99 at ${first?.perSecond}/s ${first?.p99Ms.toFixed(1)} ms`,
          )
        }
      }
      unloadings.push(
        await runUnloading(
          { controllers: isQuick ? quickControllers : 10, kinds, settleMs: times.settleMs },
          isQuick ? 1 : 5,
        ),
      )
      const { unloadedPss } = unloadings.at(-1) as UnloadingRun
      tell(`round ${round}: modules unloaded: ${Math.round(unloadedPss / mebibyte)} MiB`)
    })
    return report(measured, unloadings, rounds, kinds, loads)
  },
}

const numberOf = (controllers: number): string => (controllers === 10 ? "ten" : String(controllers))
const kindsOf = ({ kindsEach }: Shape): string => (kindsEach === "one" ? "a kind each" : "ten kinds each")

const report = (
  measured: ReadonlyMap<Shape, Runs>,
  unloadings: ReadonlyArray<UnloadingRun>,
  rounds: number,
  kinds: ReadonlyArray<HostKind>,
  loads: ReadonlyArray<number>,
): ScenarioReport => {
  const lateMs = [...measured.values()]
    .flatMap(({ modules, controllers, informers }) => [...modules, ...controllers, ...informers])
    .flatMap(({ paces }) => paces.map((pace) => pace.lateMs))
  return {
    measures: [
      ...[...measured].flatMap(([shape, runs]) => measuresOf(shape, runs)),
      ...moduleMeasures([...measured.values()][0]?.modules ?? [], unloadings),
      { name: "sender late, at most", unit: "ms", digits: 0, ours: [Math.max(...lateMs)], hasRatios: false },
    ],
    notes: [
      `Load average of the machine (one minute) after each subject: ${formatValues(loads, 1)}. The bench itself has two to three busy threads; what is above them were others, and latencies are theirs to say.`,
      `${rounds} ${rounds === 1 ? "round" : "rounds"}. Ten kinds with ${kinds.map(({ objects }) => objects.toLocaleString("en")).join(", ")} objects, Pods and ConfigMaps first, in a sandbox in another process. ` +
        "“A kind each”: controller n watches kind n modulo ten; changes go to the ten kinds in turn.",
      "Memory is the proportional set size, some seconds after the lists and without a forced collection; of the informers, that of all their processes.",
      "Sent → entered includes the server: from just before the PATCH is written until the first line of guest, reconcile or call-back reads the clock.",
    ],
  }
}

const measuresOf = (shape: Shape, { modules, controllers, informers }: Runs): ReadonlyArray<Measure> =>
  [
    { what: "modules", ours: modules },
    { what: "controllers in TypeScript", ours: controllers },
  ]
    .filter(({ ours }) => ours.length > 0)
    .flatMap(({ what, ours }) => {
      const row = (
        name: string,
        unit: string,
        digits: number,
        value: (run: HostRun) => number,
        more: Bounds = {},
      ): Measure => ({ name, unit, digits, ours: ours.map(value), informer: informers.map(value), ...more })
      const number = numberOf(shape.controllers)
      return [
        row(`${number} ${what}, ${kindsOf(shape)}: PSS`, "MiB", 0, ({ pss }) => pss / mebibyte, shape.bounds.memory),
        row("– CPU at rest", "%", 1, ({ idleShare }) => idleShare * 100),
        ...shape.paces.flatMap((perSecond) => {
          const at = (value: (pace: PaceRun) => number) => (run: HostRun) => {
            const pace = run.paces.find((each) => each.perSecond === perSecond)
            return pace === undefined ? Number.NaN : value(pace)
          }
          const pace = `at ${perSecond.toLocaleString("en")} events/s`
          const bounds = perSecond === budgetPace ? shape.bounds.wakeUp : {}
          return [
            row(
              `– sent → entered ${pace}, p99`,
              "ms",
              1,
              at(({ p99Ms }) => p99Ms),
              bounds,
            ),
            row(
              `– sent → entered ${pace}, p50`,
              "ms",
              1,
              at(({ p50Ms }) => p50Ms),
            ),
            row(
              `– CPU per delivered event ${pace}`,
              "µs",
              0,
              at(({ cpuMicros }) => cpuMicros),
            ),
            row(
              `– delivered ${pace}, not folded into a later state`,
              "%",
              1,
              at(({ share }) => share * 100),
            ),
          ]
        }),
        row("– PSS after these events", "MiB", 0, ({ pssAfter }) => pssAfter / mebibyte),
      ]
    })

const moduleMeasures = (
  modules: ReadonlyArray<HostRun>,
  unloadings: ReadonlyArray<UnloadingRun>,
): ReadonlyArray<Measure> => {
  const row = (name: string, unit: string, digits: number, ours: ReadonlyArray<number>): Measure => ({
    name,
    unit,
    digits,
    ours,
  })
  const mebibytes = (bytes: number): number => bytes / mebibyte
  return [
    row(
      "modules, a kind each, all unloaded: PSS",
      "MiB",
      0,
      unloadings.map((run) => mebibytes(run.unloadedPss)),
    ),
    row(
      "– before",
      "MiB",
      0,
      unloadings.map((run) => mebibytes(run.loadedPss)),
    ),
    row(
      "– woken by an event: sent → entered, p50",
      "ms",
      1,
      unloadings.map((run) => percentile(run.coldMs, 0.5)),
    ),
    row(
      "– – longest",
      "ms",
      1,
      unloadings.map((run) => Math.max(...run.coldMs)),
    ),
    // The first waits for the threads of the host.
    row(
      "a module started from disk: order → entered, p50",
      "ms",
      1,
      modules.map((run) => percentile(run.startedMs.slice(1), 0.5)),
    ),
    row(
      "– the first, with the threads of the host",
      "ms",
      0,
      modules.map((run) => run.startedMs[0] ?? Number.NaN),
    ),
  ]
}
