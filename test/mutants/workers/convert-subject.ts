/** Converts mutants of traces with `reel convert`, and says what no user may see. */
import { parentPort } from "node:worker_threads"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { convertCommand } from "../../../src/cli/convert.ts"
import { isView, type TraceFormatName, type ViewName } from "../../../src/trace/index.ts"
import { capturedOutput, capturedTerminal } from "../../cli/captured-terminal.ts"
import { checkPage } from "../../page/checked-page.ts"
import { tracedIn } from "../../trace/views/otlp/traced.ts"
import { drawingOf } from "../../trace/views/perfetto/drawing.ts"
import type { Finding } from "../subject.ts"

export interface ConvertTask {
  readonly bytes: Uint8Array
  readonly from: TraceFormatName | undefined
  readonly to: TraceFormatName | ViewName
  readonly excludeOwned: boolean
  /** How many bytes the input brings at a time. */
  readonly piece: number
  /** As from a pipe, whose size is not known. */
  readonly isPipe: boolean
}

/** Processor time for one mutant of at most a few hundred kilobytes, read and converted, and what it became read and converted again. */
const mostCpuMs = 3000
/** Of messages on stderr, all together. */
const mostCharacters = 20_000

interface Conversion {
  readonly code: number
  readonly output: Buffer
  readonly error: string
}

const convert = async (task: ConvertTask): Promise<Conversion> => {
  const { bytes, from, to, excludeOwned, piece, isPipe } = task
  const written: Buffer[] = []
  const base = capturedTerminal()
  const standardOutput = Object.assign(capturedOutput(), {
    write: (part: Buffer, done?: () => void) => {
      written.push(Buffer.from(part))
      done?.()
      return true
    },
  })
  const openInput = async () => ({
    bytes: (async function* () {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
    })(),
    size: isPipe ? undefined : bytes.length,
  })
  const given = from === undefined ? [] : ["--from", from]
  const owned = excludeOwned ? ["--owned", "exclude"] : []
  const command = convertCommand({ openInput, now: () => 0 })
  const code = await command.run(["mutant", "-", "--to", to, ...given, ...owned], { ...base, standardOutput } as never)
  return { code, output: Buffer.concat(written), error: base.standardError.text() }
}

const problemsOf = ({ code, error, output }: Conversion): string[] => {
  const problems: string[] = []
  if (code !== exitCodes.ok && code !== exitCodes.incomplete && code !== exitCodes.failed)
    problems.push(`exit code ${code}`)
  if (/\n\s+at .*[:)]/.test(error) || error.includes("this is a bug")) problems.push("a stack trace")
  if (/\b(?:Type|Range|Syntax|Reference)Error\b|undefined|\[object |NaN\b/.test(error.replace("version undefined", "")))
    problems.push("words of a programming language")
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are looked for.
  if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(error)) problems.push("control characters")
  if (!error.endsWith("\n") || error.length > mostCharacters) problems.push(`a message of ${error.length} characters`)
  if (code === exitCodes.failed && error.trimEnd().includes("\n")) problems.push("a message of several lines")
  return problems.length === 0
    ? []
    : [`${problems.join(", ")}; exit code ${code}, ${output.length} bytes; stderr: ${error.slice(0, 3000)}`]
}

/** Views are not read back by kubereel, but by the programs that they are for. */
const problemsOfView = (view: ViewName, output: Buffer): string[] => {
  switch (view) {
    case "perfetto":
      drawingOf(output)
      return []
    case "otlp":
      tracedIn(output)
      return []
    case "html":
      checkPage(output.toString())
      return []
    case "parquet": {
      const ends = [output.subarray(0, 4), output.subarray(-4)].map((end) => end.toString())
      return ends.every((end) => end === "PAR1") ? [] : [`a Parquet file with the ends ${ends.join(" and ")}`]
    }
  }
}

const examine = async (task: ConvertTask): Promise<string[]> => {
  const there = await convert(task)
  const problems = problemsOf(there)
  if (problems.length > 0 || there.code === exitCodes.failed) return problems
  if (isView(task.to)) return [...problems, ...problemsOfView(task.to, there.output)]
  // What it has written it must be able to read.
  const back = await convert({
    ...task,
    bytes: there.output,
    from: task.to,
    to: "ndjson",
    excludeOwned: false,
    piece: 65_536,
  })
  const further = problemsOf(back)
  if (back.code === exitCodes.failed) further.push(`cannot read what it wrote: ${back.error.slice(0, 2000)}`)
  return further
}

parentPort?.on("message", async (task: ConvertTask) => {
  const start = process.threadCpuUsage()
  const problems = await examine(task).catch((error: unknown) => [
    `a defect: ${error instanceof Error ? error.stack : String(error)}`,
  ])
  const { user, system } = process.threadCpuUsage(start)
  const cpuMs = (user + system) / 1000
  if (cpuMs > mostCpuMs) problems.push(`${Math.round(cpuMs)} ms of processor time`)
  parentPort?.postMessage({ problems, cpuMs } satisfies Finding)
})
parentPort?.postMessage("ready")
