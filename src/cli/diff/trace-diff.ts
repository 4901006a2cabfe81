/** `reel diff A B`: two traces. What is compared is decided in src/trace/comparison. */
import { stat } from "node:fs/promises"
import { visible, visibleInJson } from "../../text/index.ts"
import {
  type ComparedTrace,
  type ComparedTraceFacts,
  compareTraces,
  type TraceComparison,
} from "../../trace/comparison/compare-traces.ts"
import type { ObjectEvent } from "../../trace/event.ts"
import { codeOf } from "../../trace/files/output-errors.ts"
import { InputUnreadable, openTraceFile } from "../../trace/files/trace-input.ts"
import { openTraceItems } from "../../trace/files/trace-items.ts"
import { formatOfFileName } from "../../trace/formats/names.ts"
import { formatExactJson, type JsonValue } from "../../trace/json/exact-json.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { reading } from "../command-line/failures.ts"
import { readKind } from "../command-line/kind-option.ts"
import { incompleteTogether } from "../past/shortcoming-lines.ts"
import { interruption } from "../terminal/terminal.ts"
import { traceDiffLines } from "./trace-diff-lines.ts"
import { traceDiffPage } from "./trace-diff-page.ts"

// What is different between two traces, for programs. Times are µs.

/** A document for JSON.stringify. */
const traceDiffJson = (paths: readonly [string, string], comparison: TraceComparison): object => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, times, isSame } = comparison
  return {
    version: 1,
    isSame,
    a: traceOf(paths[0], traces[0]),
    b: traceOf(paths[1], traces[1]),
    onlyInA: onlyInFirst,
    onlyInB: onlyInSecond,
    changed: changed.map(({ object, differences, ...others }) => ({
      ...object,
      ...others,
      ...(differences !== undefined && {
        differences: differences.map(({ path, before, after }) => ({
          path,
          ...(before !== undefined && { a: plain(before) }),
          ...(after !== undefined && { b: plain(after) }),
        })),
      }),
    })),
    changes: changes.map(({ object, onlyInFirst: first, onlyInSecond: second }) => ({
      ...{ ...object, onlyInA: first, onlyInB: second },
    })),
    times: { ...times, largest: times.largest.map(({ object, offset, shift }) => ({ ...object, offset, shift })) },
  }
}

const traceOf = (path: string, { start, events, changes, objects, gaps, incomplete }: ComparedTraceFacts): object => ({
  ...{ path, events, changes, objects, gaps, incomplete },
  ...(start !== undefined && { start }),
})

/** JSON.stringify knows no integers beyond 2^53; they become the nearest number. */
const plain = (value: JsonValue): unknown => JSON.parse(formatExactJson(value))

/** What of the command line is for traces. */
export interface TraceDiffOrder {
  readonly paths: readonly [string, string]
  readonly output: "text" | "json" | "html"
  /** Names as on the command line; empty: all. */
  readonly kinds: ReadonlyArray<string>
  /** Names of kinds that are left out. */
  readonly except: ReadonlyArray<string>
  readonly namespace: string | undefined
  readonly isWhole: boolean
  /** µs. */
  readonly tolerance: number
  /** Whether the exit code says that the traces differ. */
  readonly hasExitCode: boolean
}

/** Prints what differs. A text is what is wrong with the command line. */
export const diffTraces = async (order: TraceDiffOrder, terminal: CommandTerminal): Promise<ExitCode | string> => {
  const { standardOutput, say } = terminal
  const kinds = exactKindsOf("--kind", order.kinds)
  const except = exactKindsOf("--except", order.except)
  if (typeof kinds === "string" || typeof except === "string") return typeof kinds === "string" ? kinds : String(except)
  using interrupted = interruption(terminal)
  const { paths, namespace } = order
  const isSelected = (event: ObjectEvent): boolean =>
    (kinds.size === 0 || kinds.has(event.gvk)) &&
    !except.has(event.gvk) &&
    (namespace === undefined || event.namespace === namespace)
  /** Of which trace a problem is. */
  let read = paths[0]
  const traceAt = (path: string): ComparedTrace => ({
    open: async () => {
      read = path
      return itemsOf(path, interrupted.signal)
    },
  })
  for (const path of paths)
    if (!(await isFile(path))) throw new CommandFailed(`${path} is no file, and a trace is read twice: write it to one`)
  const comparison = await reading(
    () => read,
    () =>
      compareTraces(traceAt(paths[0]), traceAt(paths[1]), {
        ...{ fields: order.isWhole ? "all" : "replayed", tolerance: order.tolerance, isSelected },
      }),
  )
  if (order.output === "json")
    standardOutput.write(`${visibleInJson(JSON.stringify(traceDiffJson(paths, comparison), undefined, 2))}\n`)
  else if (order.output === "html") standardOutput.write(traceDiffPage(paths, comparison))
  else for (const line of traceDiffLines(paths, comparison)) standardOutput.write(`${visible(line)}\n`)
  if (comparison.isSame) say("nothing differs")
  const lacks = shortcomings(paths, comparison)
  for (const line of lacks) say(line)
  if (order.hasExitCode && !comparison.isSame) return exitCodes.failed
  return lacks.length > 0 ? exitCodes.incomplete : exitCodes.ok
}

const itemsOf = async (path: string, signal: AbortSignal): Promise<ComparedItems> => {
  const from = formatOfFileName(path)
  return (await openTraceItems(await openTraceFile(path), { inputName: path, from, signal })).items
}

/** A trace is read twice. Rejects with InputUnreadable. */
const isFile = async (path: string): Promise<boolean> => {
  const status = await stat(path).catch((cause: unknown) => {
    throw new InputUnreadable({ path, code: codeOf(cause) })
  })
  if (status.isDirectory()) throw new InputUnreadable({ path, code: "EISDIR" })
  return status.isFile()
}

type ComparedItems = Awaited<ReturnType<ComparedTrace["open"]>>

/** A problem is a text. */
const exactKindsOf = (option: string, names: ReadonlyArray<string>): ReadonlySet<string> | string => {
  const kinds = new Set<string>()
  for (const name of names) {
    const reading = readKind(name, [])
    if (reading.tag === "unknown") return `${option}: ${reading.problem}`
    kinds.add(reading.text)
  }
  return kinds
}

const shortcomings = (paths: readonly [string, string], { traces }: TraceComparison): ReadonlyArray<string> =>
  traces.flatMap(({ gaps, firstGap, incomplete }, index) => [
    ...(firstGap === undefined
      ? []
      : [
          `incomplete: ${paths[index]} has ${gaps === 1 ? "a gap" : `${gaps} gaps, the first`} of ${firstGap.gvk}: ${firstGap.reason}`,
        ]),
    ...incompleteTogether(incomplete).map(
      ({ what, state }) => `incomplete: of ${what}, ${paths[index]} lacks what was not recorded: ${state}`,
    ),
  ])
