/** One run of the real `reel replay`, observed from outside: its process by /proc, its writes by the target that received them. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream, readFileSync } from "node:fs"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { fileURLToPath } from "node:url"
import type { ReplayReport } from "../../src/simulation/index.ts"
import { parseStat } from "../processes/process-files.ts"
import { MemoryWatch } from "../processes/process-watch.ts"
import type { ReceivedWrite } from "../serving/sandbox-process.ts"
import type { ReplayTarget } from "./replay-target.ts"
import { namespace, type ReplayWorkload, traceOf } from "./replay-workload.ts"

export interface RunOptions {
  readonly target: ReplayTarget
  /** Part of the replay's name, which is the prefix of its namespace. */
  readonly name: string
  readonly workload: ReplayWorkload
  readonly speed: number | "max"
  /** For the trace and the report. */
  readonly directory: string
  readonly profileDirectory?: string | undefined
  /** The command also records the target and compares it with the trace. Default: it only replays. */
  readonly isJudged?: boolean
  /** The trace goes through standard input and never to the disk; called while it does. */
  readonly onPiped?: (bytes: number, process: RunningReplay) => void
  /** Called once the process runs. */
  readonly onStarted?: (process: RunningReplay) => void
}

export interface RunningReplay {
  readonly pid: number
}

export interface ReplayRun {
  readonly report: ReplayReport
  /** User and system time of the whole process. */
  readonly cpuSeconds: number
  /** Largest resident memory of its life, sampled five times a second. */
  readonly peakBytes: number
  /** µs since the Unix epoch: when the command was started. */
  readonly commandedAt: number
  /** `undefined` if the target does not tell. */
  readonly received: ReadonlyArray<ReceivedWrite> | undefined
}

const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))

/** Rejects if anything was refused, or an object of the trace did not arrive. Leaves everything in the target. */
export const runReplay = async (options: RunOptions): Promise<ReplayRun> => {
  const { target, workload, speed, directory, onPiped, onStarted } = options
  const name = replayName(target, options.name)
  const file = join(directory, `${target.name.replace(" ", "-")}-${name}`)
  const report = `${file}.json`
  const trace = onPiped === undefined ? `${file}.ndjson` : "-"
  if (trace !== "-") await pipeline(Readable.from(traceOf(workload)), createWriteStream(trace))
  const words = ["replay", trace, "--kubeconfig", target.kubeconfig, "--report", report, "--force", "--keep"]
  words.push("--name", name, "--namespace-prefix", name, "--speed", String(speed))
  if (options.isJudged !== true) words.push("--no-fidelity")
  const before = childrenSeconds()
  const commandedAt = Date.now() * 1000
  const process = startReel(words, options.profileDirectory)
  using memory = new MemoryWatch(process.pid)
  onStarted?.(process)
  if (onPiped !== undefined) await pipeTo(process, workload, (bytes) => onPiped(bytes, process))
  else process.input.end()
  await process.ended
  const cpuSeconds = childrenSeconds() - before
  if (trace !== "-") await rm(trace)
  const told = JSON.parse(await readFile(report, "utf8")) as ReplayReport
  const received = await target.received(`${name}-${namespace}`)
  // More is possible: writes are repeated if the server asks for that.
  if (received !== undefined && received.length < told.events.sent)
    throw new Error(`${name}: the target received ${received.length} writes, the report says ${told.events.sent}`)
  return {
    report: told,
    cpuSeconds,
    peakBytes: Math.max(...memory.samples.map(({ peak }) => peak)),
    commandedAt,
    received,
  }
}

/** The name that a replay has in a target: others may have run there before, and been killed. */
export const replayName = ({ replays }: ReplayTarget, name: string): string => {
  const full = `bench-${process.pid}-${name}`
  replays.push(full)
  return full
}

/** Removes what all runs created. */
export const cleanUp = async ({ kubeconfig, replays }: ReplayTarget): Promise<void> => {
  await Promise.all(
    replays.map(async (name) => {
      const process = startReel(["replay", "--clean", name, "--kubeconfig", kubeconfig])
      process.input.end()
      await process.ended
    }),
  )
}

interface Reel extends RunningReplay {
  readonly input: NodeJS.WritableStream
  /** Rejects if it fails. */
  readonly ended: Promise<void>
}

export const startReel = (words: ReadonlyArray<string>, profileDirectory?: string): Reel => {
  const flags = profileDirectory === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDirectory}`]
  const child = spawn(process.execPath, [...flags, reel, ...words], { stdio: ["pipe", "pipe", "pipe"] })
  const kill = (): void => void child.kill("SIGKILL")
  process.once("exit", kill)
  let said = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
  // A process that ends early is reported by its exit code.
  child.stdin.on("error", () => undefined)
  const ended = once(child, "close").then(([code]) => {
    process.off("exit", kill)
    if (code !== 0) throw new Error(`reel ${words.slice(0, 2).join(" ")} ended with ${code}:\n${said}`)
  })
  // Awaited later, perhaps after the trace was written.
  ended.catch(() => undefined)
  return { pid: child.pid ?? 0, input: child.stdin, ended }
}

const pipeTo = async (process: Reel, workload: ReplayWorkload, onPiped: (bytes: number) => void): Promise<void> => {
  let bytes = 0
  const chunks = function* (): Generator<Uint8Array, void> {
    for (const chunk of traceOf(workload)) {
      yield chunk
      bytes += chunk.length
      onPiped(bytes)
    }
  }
  await pipeline(Readable.from(chunks(), { objectMode: true, highWaterMark: 1 }), process.input).catch((cause) =>
    process.ended.then(() => Promise.reject(cause)),
  )
}

/**
 * User and system time of all children of this process that have ended, in s: the only figure that includes the last moments of a process,
 * because the kernel adds it up when the process is gone. Runs that are measured do not overlap with the end of other children.
 */
export const childrenSeconds = (): number => {
  const text = readFileSync("/proc/self/stat", "utf8")
  const own = text.slice(text.lastIndexOf(")") + 2).split(" ")
  // parseStat reads fields 14 and 15 of a process; 16 and 17 are the same of its children.
  return parseStat(`0 (children) ${[...own.slice(0, 11), ...own.slice(13)].join(" ")}`).seconds
}
