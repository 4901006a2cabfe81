/**
 * `npm run bench -- guard`: a check for continuous integration. The recorder's CPU per event, against the informer's in the same
 * interleaved rounds, may not rise so far that the ratio falls below the floor of guard-floor.ts. `--calibrate` measures the basis of the
 * floor again, bench/results/guard.json, which is committed with the change that made it differ.
 *
 * Bounded: it starts no round that would end after 60 s, and fails after 85 s in any case.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { informer, ours } from "./ingest.ts"
import { type Calibration, floorOf, foundRise, guardFailure } from "./measuring/guard-floor.ts"
import { cpuOf, type IngestRun, measureIngest } from "./measuring/ingest-run.ts"
import { currentCommit } from "./report/commit.ts"
import { describeMachine, thisMachine } from "./report/machine.ts"
import { quotients } from "./report/ratios.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"

/** Enough that a process's CPU is known to a few percent (it is counted in steps of 10 ms), and short. */
const events = 60_000
const usualRounds = 5
/** Maximum rounds if the usual ones fail. */
const mostRounds = 12
const calibrationRounds = 15
const limitMs = 60_000
const calibrationLimitMs = 300_000
const endMs = 85_000

const file = new URL("./results/guard.json", import.meta.url)

export const guard: Scenario = {
  name: "guard",
  description: "for CI, below 90 s: fails when the recorder's CPU per event has risen against the informer's",
  takes: [],
  takesPeer: false,
  isPartOfAll: false,
  run: async (settings) => {
    if (settings.isCalibration) return await calibrate(settings)
    if (!existsSync(file)) throw new Error("there is no calibration yet: npm run bench -- guard --calibrate")
    const calibration = JSON.parse(readFileSync(file, "utf8")) as Calibration
    const floor = floorOf(calibration.ratios)
    const end = setTimeout(() => {
      console.error(
        `guard: not decided within ${endMs / 1000} s, so it fails: the machine is too slow or something hangs`,
      )
      process.exit(1)
    }, endMs)
    try {
      const runs = await judge(settings, floor)
      const failure = guardFailure(runs.ratios, floor)
      return {
        ...report(runs, floor),
        notes: [
          `Floor: half the spread below the smallest of ${calibration.ratios.length} rounds of ${calibration.date} at ${calibration.commit} on ${calibration.machine}. It finds a rise of our CPU by ${Math.round(foundRise(calibration.ratios) * 100)} %.`,
          failure === undefined ? "The guard is content." : `The guard fails: ${failure}.`,
        ],
        ...(failure !== undefined && { failure }),
      }
    } finally {
      clearTimeout(end)
    }
  },
}

interface Runs {
  readonly ours: ReadonlyArray<IngestRun>
  readonly informer: ReadonlyArray<IngestRun>
  readonly ratios: ReadonlyArray<number>
}

/** The usual rounds; if these fail, as many more as there is time for, and all of them are judged. */
const judge = async (settings: ScenarioSettings, floor: number): Promise<Runs> => {
  const start = performance.now()
  const wanted = settings.rounds ?? (settings.isQuick ? 1 : usualRounds)
  const first = await measure(settings, wanted, limitMs)
  const restMs = limitMs - (performance.now() - start)
  const roundMs = (limitMs - restMs) / Math.max(1, first.ratios.length)
  if (guardFailure(first.ratios, floor) === undefined || wanted < usualRounds || restMs < roundMs) return first
  settings.tell("below the floor so far: further rounds decide")
  const further = await measure(settings, mostRounds - wanted, restMs - roundMs)
  return {
    ours: [...first.ours, ...further.ours],
    informer: [...first.informer, ...further.informer],
    ratios: [...first.ratios, ...further.ratios],
  }
}

const measure = async (settings: ScenarioSettings, wanted: number, limit: number): Promise<Runs> => {
  const runs = { ours: [] as Array<IngestRun>, informer: [] as Array<IngestRun> }
  await inRounds(wanted, limit, async (round) => {
    runs.ours.push(await measureIngest(ours, round, settings.events ?? events, settings))
    runs.informer.push(await measureIngest(informer, round, settings.events ?? events, settings))
  })
  return { ...runs, ratios: quotients(runs.informer.map(cpuOf), runs.ours.map(cpuOf)) }
}

const report = (runs: Runs, floor: number | undefined): Pick<ScenarioReport, "measures"> => ({
  measures: [
    {
      name: "informer's CPU per event through ours",
      unit: "",
      digits: 2,
      ours: runs.ratios,
      ...(floor !== undefined && { must: { relation: "at least", value: Number(floor.toFixed(3)) } as const }),
    },
    { name: "CPU per event", unit: "µs", digits: 2, ours: runs.ours.map(cpuOf), informer: runs.informer.map(cpuOf) },
  ],
})

const calibrate = async (settings: ScenarioSettings): Promise<ScenarioReport> => {
  const machine = describeMachine(await thisMachine())
  const runs = await measure(settings, settings.rounds ?? calibrationRounds, calibrationLimitMs)
  const floor = floorOf(runs.ratios)
  const calibration: Calibration = {
    ratios: runs.ratios.map((ratio) => Number(ratio.toFixed(3))),
    machine,
    commit: currentCommit(),
    date: new Date().toISOString().slice(0, 10),
  }
  mkdirSync(new URL(".", file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(calibration, undefined, 2)}\n`)
  return {
    ...report(runs, floor),
    notes: [
      `The floor is ${floor.toFixed(2)} from now on and finds a rise of our CPU by ${Math.round(foundRise(runs.ratios) * 100)} %.`,
    ],
  }
}
