/**
 * Scenario *replay*: how punctual, fast and frugal `reel replay` is, into the sandbox in another process and, if `KUBEREEL_TEST_KUBECONFIG`
 * names one, into a real control plane.
 *
 * The command is measured from outside: its CPU and memory by the kernel, its writes by the server that received them. Only what no server
 * sees is taken from its report.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connections, type FastestRun, measureFastest } from "./replaying/fastest-run.ts"
import { measurePeer, type PeerRun } from "./replaying/peer-run.ts"
import { measurePiped, type PipedRun } from "./replaying/piped-run.ts"
import { cleanUp } from "./replaying/replay-run.ts"
import { openControlPlane, type ReplayTarget, startSandbox } from "./replaying/replay-target.ts"
import { burst, onePerSecond, rollOuts, steadyChanges } from "./replaying/replay-workload.ts"
import { measureTimed, type TimedRun } from "./replaying/timed-run.ts"
import { type Bound, formatNumber, type Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"

/** ms for the rounds of what is as fast as the sandbox. */
const roundsMs = 50_000
const megabyte = 1e6

const atMost = (must: number, aim?: number): Pick<Measure, "must" | "aim"> => bounds("at most", must, aim)
const atLeast = (must: number, aim?: number): Pick<Measure, "must" | "aim"> => bounds("at least", must, aim)
const bounds = (relation: Bound["relation"], must: number, aim: number | undefined) => ({
  must: { relation, value: must },
  ...(aim !== undefined && { aim: { relation, value: aim } }),
})

/** Sizes of the workloads. */
interface Extent {
  readonly seconds: number
  readonly rollOutSeconds: number
  readonly burst: number
  /** Writes at full speed, and at 1,000 a second. */
  readonly writes: number
  readonly pacedWrites: number
  /** s of a trace that is replayed at speeds 10 and 100. */
  readonly longSeconds: number
  readonly traceBytes: number
}

const whole: Extent = {
  seconds: 60,
  rollOutSeconds: 30,
  burst: 2000,
  writes: 20_000,
  pacedWrites: 10_000,
  longSeconds: 150,
  traceBytes: 2e9,
}

const quick: Extent = {
  seconds: 6,
  rollOutSeconds: 3,
  burst: 200,
  writes: 2000,
  pacedWrites: 1000,
  longSeconds: 30,
  traceBytes: 50e6,
}

interface OnTarget {
  readonly target: ReplayTarget
  readonly everySecond: TimedRun
  readonly rollOuts: TimedRun
  /** All of a second's Deployments at once: only on the control plane, which is slower than that. */
  readonly burst: FastestRun | undefined
  /** Another program's, if one is given. */
  readonly peer?: { readonly rollOuts: PeerRun | undefined; readonly burst: PeerRun | undefined }
}

interface InSandbox {
  readonly tenfold: TimedRun
  readonly hundredfold: TimedRun
  readonly bursts: ReadonlyArray<TimedRun>
  readonly judgedBursts: ReadonlyArray<TimedRun>
  readonly fastest: ReadonlyArray<FastestRun>
  readonly paced: ReadonlyArray<TimedRun>
  readonly piped: PipedRun
}

export const replay: Scenario = {
  name: "replay",
  description: "reel replay: punctuality, speed, CPU and memory, into a sandbox and a real control plane",
  takes: [],
  takesPeer: true,
  run: async (settings) => {
    const directory = await mkdtemp(join(tmpdir(), "kubereel-bench-replay-"))
    const controlPlane = await openControlPlane()
    try {
      await using sandbox = await startSandbox()
      return await measure(sandbox, controlPlane, directory, settings)
    } finally {
      if (controlPlane !== undefined) await cleanUp(controlPlane)
      await rm(directory, { recursive: true, force: true })
    }
  },
}

const measure = async (
  sandbox: ReplayTarget,
  controlPlane: ReplayTarget | undefined,
  directory: string,
  { isQuick, profileDirectory, events, rounds, peer, tell }: ScenarioSettings,
): Promise<ScenarioReport> => {
  const usual = isQuick || profileDirectory !== undefined ? quick : whole
  const extent = { ...usual, writes: events ?? usual.writes }
  const places = { directory, profileDirectory }
  // V8 compiles the server's hot code first.
  const warmUp = steadyChanges(extent.writes / 4, 1000, 500)
  await measureFastest({ directory, target: sandbox, name: "warm", workload: warmUp, speed: "max" })
  const targets = [sandbox, ...(controlPlane === undefined ? [] : [controlPlane])]
  // The machine is idle between events: all targets at the same time.
  const slow = { ...places, name: "second", workload: onePerSecond(extent.seconds), speed: 1 }
  const everySecond = await Promise.all(targets.map((target) => measureTimed({ ...slow, target })))
  tell(`one event a second for ${extent.seconds} s: done`)
  const wanted = rounds ?? (usual === quick ? 1 : 3)
  const inSandbox = await measureSandbox(sandbox, extent, places, wanted)
  tell("the sandbox: done")
  const onTargets: Array<OnTarget> = []
  // The control plane last: its controllers go on for a while.
  for (const [index, target] of targets.entries()) {
    const measured = await measureTarget(target, extent, places, peer)
    onTargets.push({ target, everySecond: everySecond[index] as TimedRun, ...measured })
    tell(`${target.name}, roll-outs: done`)
  }
  return report(onTargets, inSandbox, extent)
}

type Places = Pick<ScenarioSettings, "profileDirectory"> & { readonly directory: string }

const measureTarget = async (
  target: ReplayTarget,
  extent: Extent,
  places: Places,
  command: string | undefined,
): Promise<Omit<OnTarget, "target" | "everySecond">> => {
  const workload = rollOuts(extent.rollOutSeconds, 20, 2)
  const rolled = await measureTimed({ ...places, target, name: "rollouts", workload, speed: 1 })
  const suddenly = { ...places, target, name: "burst", workload: burst(extent.burst), speed: 1 }
  const sudden = target.isReal ? await measureFastest(suddenly) : undefined
  if (command === undefined) return { rollOuts: rolled, burst: sudden }
  const peer = {
    rollOuts: await measurePeer(command, { ...places, target, name: "rollouts", workload }),
    burst: target.isReal ? await measurePeer(command, suddenly) : undefined,
  }
  return { rollOuts: rolled, burst: sudden, peer }
}

const measureSandbox = async (
  target: ReplayTarget,
  extent: Extent,
  places: Places,
  rounds: number,
): Promise<InSandbox> => {
  const { writes, pacedWrites, longSeconds, traceBytes } = extent
  const long = { ...places, target, workload: steadyChanges(longSeconds * 2, 2, 10) }
  const tenfold = await measureTimed({ ...long, name: "tenfold", speed: 10 })
  const hundredfold = await measureTimed({ ...long, name: "hundredfold", speed: 100 })
  const [bursts, judgedBursts, paced]: [Array<TimedRun>, Array<TimedRun>, Array<TimedRun>] = [[], [], []]
  const fastest: Array<FastestRun> = []
  await inRounds(rounds, roundsMs, async (round) => {
    const suddenly = { ...places, target, workload: burst(extent.burst), speed: 1 }
    bursts.push(await measureTimed({ ...suddenly, name: `burst${round}` }))
    judgedBursts.push(await measureTimed({ ...suddenly, name: `judged${round}`, isJudged: true }))
    const changes = steadyChanges(writes, 1000, 500)
    fastest.push(await measureFastest({ ...places, target, name: `max${round}`, workload: changes, speed: "max" }))
    const workload = steadyChanges(pacedWrites, 1000, 500)
    paced.push(await measureTimed({ ...places, target, name: `paced${round}`, workload, speed: 1 }))
  })
  const piped = await measurePiped(traceBytes, { ...places, target, name: "piped" })
  return { tenfold, hundredfold, bursts, judgedBursts, fastest, paced, piped }
}

const row = (
  name: string,
  unit: string,
  digits: number,
  ours: ReadonlyArray<number | undefined>,
  more: Partial<Measure> = {},
): Measure => ({ name, unit, digits, ours: ours.filter((value) => value !== undefined), ...more })

/** Punctuality is no matter of ratios. */
const noRatios = { hasRatios: false } as const

const report = (onTargets: ReadonlyArray<OnTarget>, inSandbox: InSandbox, extent: Extent): ScenarioReport => ({
  measures: [...onTargets.flatMap((each) => targetMeasures(each, extent)), ...sandboxMeasures(inSandbox, extent)],
  notes: [
    "Each run is `bin/reel.js replay` in its own process, and each server another one. Due → received: from the moment at which an event was " +
      "due until the server had the head of its request, by the server's clock on the same machine; sent and answered are the command's own report.",
    `“null reader” is the limit: a bare client that sends the same bodies over ${connections} connections, without trace, schedule and order.`,
    `CPU is user and system time of the whole process, its start (${formatNumber(extent.burst, 0)} writes pay for one) included.`,
    "Where the comparison is not named, the command runs with --no-fidelity.",
    "The sandbox has neither Pods nor controllers of workloads.",
    ...(onTargets.length === 1
      ? ["No control plane: KUBEREEL_TEST_KUBECONFIG is not set."]
      : onTargets
          .filter(({ everySecond: { received } }) => received === undefined)
          .map(
            ({ target: { name } }) =>
              `The ${name} has no audit log (AUDIT=1) beside its kubeconfig: due → received is not known.`,
          )),
  ],
})

const targetMeasures = (
  { target, everySecond, rollOuts: rolled, burst: sudden, peer }: OnTarget,
  { burst: count }: Extent,
): ReadonlyArray<Measure> => {
  const on = (name: string): string => `${target.name}: ${name}`
  const ms = (name: string, value: number | undefined, more: Partial<Measure> = {}): Measure =>
    row(name, "ms", 1, [value], { ...noRatios, ...more })
  return [
    ms(on("one event a second, drift in all"), everySecond.received?.driftMs, atMost(5, 1)),
    ms("– due → received, p99", everySecond.received?.p99),
    ms("– due → answered, p99", everySecond.answered.p99),
    row("– CPU of the process", "% of a core", 1, [everySecond.cpuPercent], { ...noRatios, ...atMost(2) }),
    ms(on("20 Deployments a second, due → received, p99"), rolled.received?.p99, {
      ...peers(peer?.rollOuts?.lateP99),
      ...atMost(150, 50),
    }),
    ms("– p50", rolled.received?.p50),
    ms("– longest", rolled.received?.max),
    // The upper bound of the row above, where that is not known.
    ms(
      on("20 Deployments a second, due → answered, p99"),
      rolled.answered.p99,
      rolled.received === undefined ? atMost(150, 50) : {},
    ),
    ms("– p50", rolled.answered.p50),
    ms("– longest", rolled.answered.max),
    row("– CPU per write", "ms", 2, [rolled.cpuMsPerWrite], peers(peer?.rollOuts?.cpuMsPerWrite)),
    ...(sudden === undefined
      ? []
      : burstMeasures(on(`${formatNumber(count, 0)} Deployments in one second`), sudden, peer?.burst)),
  ]
}

const peers = (value: number | undefined): Pick<Measure, "peer"> => (value === undefined ? {} : { peer: [value] })

const burstMeasures = (
  name: string,
  { rate, receivedRate, limit, cpuMsPerWrite }: FastestRun,
  peer: PeerRun | undefined,
): ReadonlyArray<Measure> => [
  row(name, "writes/s", 0, [rate], { nullReader: [limit], ...atLeast(150) }),
  row("– received", "writes/s", 0, [receivedRate], { ...noRatios, ...peers(peer?.receivedRate) }),
  // The aim of the design; the limit in the same run is of a machine that others may use.
  row("– share of the limit", "", 2, [rate / limit], { ...noRatios, ...atLeast(0.75, 0.9) }),
  row("– CPU per object", "ms", 2, [cpuMsPerWrite], { ...peers(peer?.cpuMsPerWrite), ...atMost(1, 0.7) }),
]

const sandboxMeasures = (measured: InSandbox, { burst: count }: Extent): ReadonlyArray<Measure> => {
  const { tenfold, hundredfold, bursts, judgedBursts, fastest, paced, piped } = measured
  const stretch = ({ received }: TimedRun): ReadonlyArray<number | undefined> => [
    received && Math.abs(received.stretchPercent),
  ]
  return [
    row(
      `sandbox: ${formatNumber(count, 0)} Deployments in one second, CPU per object`,
      "ms",
      2,
      bursts.map(({ cpuMsPerWrite }) => cpuMsPerWrite),
      atMost(1, 0.7),
    ),
    row(
      "– due → received, p99",
      "ms",
      1,
      bursts.map(({ received }) => received?.p99),
      noRatios,
    ),
    row(
      "– with a recording of the target and the comparison, CPU per object",
      "ms",
      2,
      judgedBursts.map(({ cpuMsPerWrite }) => cpuMsPerWrite),
      noRatios,
    ),
    row(
      "– – due → received, p99",
      "ms",
      1,
      judgedBursts.map(({ received }) => received?.p99),
      noRatios,
    ),
    row("length of the run at speed 10, off by", "%", 3, stretch(tenfold), { ...noRatios, ...atMost(1, 0.1) }),
    row("– at speed 100", "%", 3, stretch(hundredfold), noRatios),
    row(
      "as fast as the sandbox",
      "writes/s",
      0,
      fastest.map(({ rate }) => rate),
      {
        nullReader: fastest.map(({ limit }) => limit),
        ...atLeast(1500, 3000),
      },
    ),
    row(
      "– received",
      "writes/s",
      0,
      fastest.map(({ receivedRate }) => receivedRate),
      noRatios,
    ),
    row(
      "– CPU per write",
      "ms",
      2,
      fastest.map(({ cpuMsPerWrite }) => cpuMsPerWrite),
    ),
    row(
      "1,000 writes a second, due → sent, p99",
      "ms",
      1,
      paced.map(({ sent }) => sent.p99),
      { ...noRatios, ...atMost(10, 4) },
    ),
    row(
      "– due → received, p99",
      "ms",
      1,
      paced.map(({ received }) => received?.p99),
      noRatios,
    ),
    row(
      "– – p50",
      "ms",
      1,
      paced.map(({ received }) => received?.p50),
      noRatios,
    ),
    row(
      "– – longest",
      "ms",
      1,
      paced.map(({ received }) => received?.max),
      noRatios,
    ),
    row(
      "– CPU per write",
      "ms",
      2,
      paced.map(({ cpuMsPerWrite }) => cpuMsPerWrite),
    ),
    row(
      "command → first write received",
      "s",
      2,
      paced.map(({ firstWriteSeconds }) => firstWriteSeconds),
      {
        ...noRatios,
        ...atMost(3),
      },
    ),
    row(`a trace of ${(piped.traceBytes / 1e9).toFixed(2)} GB, peak`, "MB", 0, [piped.peakBytes / megabyte], noRatios),
    row("– after a tenth of it", "MB", 0, [piped.earlyBytes / megabyte], noRatios),
    row("– – growth since", "MB", 0, [(piped.peakBytes - piped.earlyBytes) / megabyte], { ...noRatios, ...atMost(30) }),
    row("– read", "MB/s", 0, [piped.traceBytes / megabyte / piped.seconds], noRatios),
  ]
}
