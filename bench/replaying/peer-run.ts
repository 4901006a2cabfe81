/**
 * Another program that replays the same workload, given as a command line: SimKube's driver, for example, with what it needs around it.
 *
 * Its environment has `KUBECONFIG`, `BENCH_TRACE` (NDJSON), `BENCH_TRACE_SIMKUBE` (the same in SimKube's format, in whole seconds) and
 * `BENCH_NAME`. It has to write namespace `bench` of the trace as `$BENCH_NAME-bench`, to label that namespace `kubereel.dev/replay:
 * $BENCH_NAME` or remove it itself, and to end by itself.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { percentile } from "../report/statistics.ts"
import { arrivals } from "./lateness.ts"
import { childrenSeconds, type RunOptions, replayName, startReel } from "./replay-run.ts"
import { nameOf, namespace, traceOf } from "./replay-workload.ts"

export interface PeerRun {
  /** Writes a second, from the first received to the last. */
  readonly receivedRate: number
  /** ms of the p99 from due to received, by whole seconds of the trace, and as if the first write was on time. */
  readonly lateP99: number
  /** Of the command and all that it waited for. */
  readonly cpuMsPerWrite: number
}

/** `undefined` if the target does not tell what it received. Rejects if the command fails, or writes of the trace are missing. */
export const measurePeer = async (
  command: string,
  { target, workload, name, directory }: Omit<RunOptions, "speed">,
): Promise<PeerRun | undefined> => {
  const full = replayName(target, `${name}-peer`)
  const [trace, simkube] = [join(directory, `${full}.ndjson`), join(directory, `${full}.sktrace`)]
  await pipeline(Readable.from(traceOf(workload)), createWriteStream(trace))
  const conversion = startReel(["convert", trace, simkube])
  conversion.input.end()
  await conversion.ended
  const before = childrenSeconds()
  await runCommand(command, {
    KUBECONFIG: target.kubeconfig,
    BENCH_TRACE: trace,
    BENCH_TRACE_SIMKUBE: simkube,
    BENCH_NAME: full,
  })
  const cpuSeconds = childrenSeconds() - before
  await Promise.all([rm(trace), rm(simkube)])
  const received = await target.received(`${full}-${namespace}`)
  const [first, last] = [received?.[0]?.[1], received?.at(-1)?.[1]]
  if (received === undefined || first === undefined || last === undefined) return undefined
  const changes = [...workload.changes()].map((change) => ({ ...change, atMs: Math.floor(change.atMs / 1000) * 1000 }))
  const schedule = { changes, speed: 1, startedAt: first, isStartVague: true }
  const late = arrivals(schedule, received, nameOf).map(({ lateMs }) => lateMs)
  return {
    receivedRate: ((received.length - 1) * 1e6) / (last - first),
    lateP99: percentile(late, 0.99),
    cpuMsPerWrite: (cpuSeconds * 1000) / received.length,
  }
}

const runCommand = async (command: string, environment: Readonly<Record<string, string>>): Promise<void> => {
  const child = spawn("/bin/sh", ["-c", command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
    detached: true,
  })
  const kill = (): void => void process.kill(-(child.pid ?? 0), "SIGKILL")
  process.once("exit", kill)
  let said = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4000)
    })
  const [code] = await once(child, "close")
  process.off("exit", kill)
  if (code !== 0) throw new Error(`the peer ended with ${code}:\n${said}`)
}
