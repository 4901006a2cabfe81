/** The command line of `npm run bench`. Pure: throws an Error whose message says what is wrong. */
import { parseArgs } from "node:util"
import {
  largestObjectBytes,
  mostKinds,
  smallestObjectBytes,
  type Workload,
  type WorkloadOption,
} from "./load/workload.ts"

export interface BenchOptions {
  /** Scenarios to run; empty for all. */
  readonly names: ReadonlyArray<string>
  readonly events: number | undefined
  readonly rounds: number | undefined
  readonly isQuick: boolean
  readonly isProfiled: boolean
  readonly isJson: boolean
  readonly isList: boolean
  readonly isHelp: boolean
  readonly isCalibration: boolean
  /** Command of another recorder, or of another program that replays. */
  readonly peer: string | undefined
  readonly workload: Workload
}

export const usage = `npm run bench -- [SCENARIO…] [options]      all scenarios one after another, or those named

  --events N         changes (each scenario has its default)
  --rounds N         interleaved rounds (each scenario has its default)
  --quick            a small run that shows that everything works; writes no results
  --peer COMMAND     another recorder in the same rounds; it gets $KUBECONFIG, $BENCH_CONFIG and $BENCH_DIRECTORY
                     (replay: another program that replays, see docs/reference/benchmarks.md)
  --profile          takes CPU profiles of the recorder alone and says where the time goes; writes no results
  --json             the results as JSON on standard output
  --calibrate        guard only: measures the spread that the floor is derived from
  --list             the scenarios, and which of the following each takes; results of other workloads are not kept

  --rate N           events a second instead of as fast as they are read
  --heartbeats P     percentage of events that change nothing but status: 0 to 100
  --object-size N    length of a Deployment: 1k to 500k (bytes; k is 1,000)
  --kinds N          kinds that are followed, 1 to ${mostKinds}
  --objects N        Deployments, and as many ReplicaSets
  --pods N           Pods`

/** The spelling of the workload's options. */
export const workloadFlags: Readonly<Record<WorkloadOption, string>> = {
  rate: "rate",
  heartbeatShare: "heartbeats",
  objectBytes: "object-size",
  kinds: "kinds",
  objects: "objects",
  pods: "pods",
}

const text = { type: "string" } as const
const flag = { type: "boolean", default: false } as const

export const parseOptions = (args: ReadonlyArray<string>): BenchOptions => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      events: text,
      rounds: text,
      quick: flag,
      profile: flag,
      json: flag,
      list: flag,
      help: { ...flag, short: "h" },
      calibrate: flag,
      peer: text,
      rate: text,
      heartbeats: text,
      "object-size": text,
      kinds: text,
      objects: text,
      pods: text,
    },
  })
  const { peer } = values
  if (peer !== undefined && peer.trim() === "") throw new Error("--peer needs a command")
  const given: Record<WorkloadOption, number | undefined> = {
    rate: wholeNumber("rate", values.rate, 1, 1_000_000),
    heartbeatShare: shareOf(values.heartbeats),
    objectBytes: bytesOf(values["object-size"]),
    kinds: wholeNumber("kinds", values.kinds, 1, mostKinds),
    objects: wholeNumber("objects", values.objects, 1, 999_999),
    pods: wholeNumber("pods", values.pods, 0, 999_999),
  }
  return {
    names: positionals,
    events: wholeNumber("events", values.events),
    rounds: wholeNumber("rounds", values.rounds),
    isQuick: values.quick,
    isProfiled: values.profile,
    isJson: values.json,
    isList: values.list,
    isHelp: values.help,
    isCalibration: values.calibrate,
    peer,
    workload: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
}

/** The options of `workload` that a scenario does not take, as spelled on the command line. */
export const optionsNotTaken = (workload: Workload, takes: ReadonlyArray<WorkloadOption>): ReadonlyArray<string> =>
  (Object.keys(workload) as ReadonlyArray<WorkloadOption>)
    .filter((option) => !takes.includes(option))
    .map((option) => `--${workloadFlags[option]}`)

/** The options of `workload` that a scenario takes. */
export const optionsTaken = (workload: Workload, takes: ReadonlyArray<WorkloadOption>): Workload =>
  Object.fromEntries(Object.entries(workload).filter(([option]) => takes.some((taken) => taken === option)))

const wholeNumber = (
  name: string,
  written: string | undefined,
  least = 1,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined => {
  if (written === undefined) return undefined
  const value = /^\d+$/.test(written) ? Number(written) : Number.NaN
  if (value >= least && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  throw new Error(`--${name} must be a whole number ${range}, not ${written}`)
}

const shareOf = (written: string | undefined): number | undefined => {
  if (written === undefined) return undefined
  const percent = /^\d+(\.\d+)?%?$/.test(written) ? Number.parseFloat(written) : Number.NaN
  if (percent <= 100) return percent / 100
  throw new Error(`--heartbeats must be a percentage from 0 to 100, not ${written}`)
}

const bytesOf = (written: string | undefined): number | undefined => {
  if (written === undefined) return undefined
  const match = /^(\d+)(k?)$/i.exec(written)
  const bytes = match === null ? Number.NaN : Number(match[1]) * (match[2] === "" ? 1 : 1000)
  if (bytes >= smallestObjectBytes && bytes <= largestObjectBytes) return bytes
  throw new Error(`--object-size must be from ${smallestObjectBytes} to ${largestObjectBytes} bytes, not ${written}`)
}
