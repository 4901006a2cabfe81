/** The rows and notes of scenario *host*: what each shape, and modules alone, were measured with. Pure. */
import { percentile } from "../report/statistics.ts"
import { formatValues, type Measure } from "../report/table.ts"
import type { GoProgram } from "./controller-runtime-program.ts"
import type { HostKind } from "./host-cluster.ts"
import type { HostRun, PaceRun } from "./host-run.ts"
import type { SubjectSort } from "./hosted-subject.ts"

const mebibyte = 2 ** 20

/** Events/s of the budget's wake-ups. */
export const budgetPace = 50

type Bounds = Pick<Measure, "must" | "aim">

/** Controllers on the kinds: `one` of the ten each, in turn, or `all` of them each. */
export interface Shape {
  readonly controllers: number
  readonly kindsEach: "one" | "all"
  /** Of the memory, at rest and while busy, and of p99 at {@link budgetPace}. */
  readonly bounds: Readonly<Record<"memory" | "wakeUp", Bounds>>
  readonly sorts: ReadonlyArray<SubjectSort>
  /** Events/s. */
  readonly paces: ReadonlyArray<number>
}

/** What was measured of one shape, a value for each round; none for a sort that did not take part. */
export interface MeasuredShape {
  readonly shape: Shape
  readonly runs: Readonly<Record<SubjectSort, Array<HostRun>>>
}

export const hostMeasures = (measured: ReadonlyArray<MeasuredShape>): ReadonlyArray<Measure> => {
  const lateMs = measured
    .flatMap(({ runs }) => Object.values(runs).flat())
    .flatMap(({ paces }) => paces.map((pace) => pace.lateMs))
  return [
    ...measured.flatMap(measuresOf),
    ...moduleMeasures(measured[0]?.runs.modules ?? []),
    { name: "sender late, at most", unit: "ms", digits: 0, ours: [Math.max(...lateMs)], hasRatios: false },
  ]
}

const numberOf = (controllers: number): string => (controllers === 10 ? "ten" : String(controllers))
const kindsOf = ({ kindsEach }: Shape): string => (kindsEach === "one" ? "a kind each" : "ten kinds each")

const measuresOf = ({ shape, runs }: MeasuredShape): ReadonlyArray<Measure> =>
  [
    { what: "modules", ours: runs.modules },
    { what: "controllers in TypeScript", ours: runs.controllers },
  ]
    .filter(({ ours }) => ours.length > 0)
    .flatMap(({ what, ours }) => {
      const row = (
        name: string,
        unit: string,
        digits: number,
        value: (run: HostRun) => number,
        more: Partial<Measure> = {},
      ): Measure => ({
        name,
        unit,
        digits,
        ours: ours.map(value),
        informer: runs.informers.map(value),
        controllerRuntime: runs.managers.map(value),
        ...more,
      })
      const { memory, wakeUp } = shape.bounds
      const withoutRatios = { hasRatios: false }
      return [
        row(
          `${numberOf(shape.controllers)} ${what}, ${kindsOf(shape)}: PSS`,
          "MiB",
          0,
          ({ pss }) => pss / mebibyte,
          memory,
        ),
        row("– CPU at rest", "%", 1, ({ idleShare }) => idleShare * 100, withoutRatios),
        ...shape.paces.flatMap((perSecond) => {
          const at = (value: (pace: PaceRun) => number) => (run: HostRun) => {
            const pace = run.paces.find((each) => each.perSecond === perSecond)
            return pace === undefined ? Number.NaN : value(pace)
          }
          const pace = `at ${perSecond.toLocaleString("en")} events/s`
          const p99 = at(({ p99Ms }) => p99Ms)
          const p50 = at(({ p50Ms }) => p50Ms)
          const delivered = at(({ share }) => share * 100)
          return [
            row(`– sent → entered ${pace}, p99`, "ms", 1, p99, perSecond === budgetPace ? wakeUp : {}),
            row(`– sent → entered ${pace}, p50`, "ms", 1, p50),
            row(
              `– CPU per delivered event ${pace}`,
              "µs",
              0,
              at(({ cpuMicros }) => cpuMicros),
            ),
            row(`– delivered ${pace}, not folded into a later state`, "%", 1, delivered, withoutRatios),
            row(
              `– PSS ${pace}`,
              "MiB",
              0,
              at(({ pss }) => pss / mebibyte),
              { ...memory, ...withoutRatios },
            ),
          ]
        }),
        row("– PSS after these events", "MiB", 0, ({ pssAfter }) => pssAfter / mebibyte, withoutRatios),
      ]
    })

const moduleMeasures = (modules: ReadonlyArray<HostRun>): ReadonlyArray<Measure> => {
  const row = (name: string, unit: string, digits: number, ours: ReadonlyArray<number>): Measure => ({
    name,
    unit,
    digits,
    ours,
  })
  return [
    // The first waits for the threads of the host.
    row(
      "a module started from disk: order → entered, p50",
      "ms",
      1,
      modules.map((run) => percentile(run.startedMs.slice(1), 0.5)),
    ),
    row(
      "– longest",
      "ms",
      1,
      modules.map((run) => Math.max(...run.startedMs.slice(1))),
    ),
    row(
      "– the first, with the threads of the host",
      "ms",
      0,
      modules.map((run) => run.startedMs[0] ?? Number.NaN),
    ),
  ]
}

/** What readers of the table need to know about this run. */
export interface HostConditions {
  readonly rounds: number
  readonly kinds: ReadonlyArray<HostKind>
  /** Averages of the machine, one after each subject. */
  readonly loads: ReadonlyArray<number>
  readonly program: GoProgram
}

export const hostNotes = ({ rounds, kinds, loads, program }: HostConditions): ReadonlyArray<string> => [
  `Load average of the machine (one minute) after each subject: ${formatValues(loads, 1)}. The bench itself has two to three busy threads; what is above them were others, and latencies are theirs to say.`,
  `${rounds} ${rounds === 1 ? "round" : "rounds"}. Ten kinds with ${kinds.map(({ objects }) => objects.toLocaleString("en")).join(", ")} objects, Pods and ConfigMaps first, in a sandbox in another process. ` +
    "“A kind each”: controller n watches kind n modulo ten; changes go to the ten kinds in turn.",
  "Memory is the proportional set size, some seconds after the lists and without a forced collection, and at a pace just after its last delivery; of the peers, that of all their processes. Those run the same program and share its code, which as many different programs would not.",
  "Sent → entered includes the server: from just before the PATCH is written until the first line of guest, reconcile or call-back reads the clock.",
  ...("missing" in program ? [`controller-runtime was not measured: ${program.missing}.`] : []),
]
