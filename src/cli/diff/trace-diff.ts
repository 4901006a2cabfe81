/** `reel diff A B`: two traces. What is compared is decided in src/trace/comparison. */
import { stat } from "node:fs/promises"
import { formatInstant } from "../../local-time.ts"
import { type Block, documentPage, excerpts, type Phrase, type Phrases, shortened } from "../../page/index.ts"
import { visible, visibleInJson } from "../../text/index.ts"
import {
  type ChangedObject,
  type ComparedName,
  type ComparedTrace,
  type ComparedTraceFacts,
  codeOf,
  compareTraces,
  type DifferentChanges,
  formatExactJson,
  formatOfFileName,
  InputUnreadable,
  type JsonValue,
  type ObjectEvent,
  openTraceFile,
  openTraceItems,
  type TraceComparison,
} from "../../trace/index.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { reading } from "../command-line/failures.ts"
import { readKind } from "../command-line/kind-option.ts"
import { differenceLines, objectName } from "../past/describe-change.ts"
import { incompleteTogether } from "../past/shortcoming-lines.ts"
import { formatCount } from "../terminal/quantities.ts"
import { interruption } from "../terminal/terminal.ts"

// What is different between two traces, as lines for people.

/** Objects of each part that are shown. */
const mostShown = 50

/** Offsets that are shown for one object. */
const mostOffsets = 5

/** Lines without line breaks. */
const traceDiffLines = (
  [first, second]: readonly [string, string],
  comparison: TraceComparison,
): ReadonlyArray<string> => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, times } = comparison
  return [
    `A  ${first}: ${traceText(traces[0])}`,
    `B  ${second}: ${traceText(traces[1])}`,
    ...part("only in A", onlyInFirst, (object) => [`  - ${nameOf(object)}`]),
    ...part("only in B", onlyInSecond, (object) => [`  + ${nameOf(object)}`]),
    ...part("different at the end", changed, changedLines),
    ...part("changed in only one trace", changes, (each) => [changesLine(each)]),
    ...(times.pairs === 0 ? [] : ["", ...timesLines(comparison)]),
  ]
}

const part = <Each>(
  title: string,
  list: ReadonlyArray<Each>,
  linesOf: (each: Each) => ReadonlyArray<string>,
): ReadonlyArray<string> => {
  if (list.length === 0) return []
  const more = list.length - mostShown
  return [
    "",
    `${formatCount(list.length, "object")} ${title}:`,
    ...list.slice(0, mostShown).flatMap(linesOf),
    ...(more > 0 ? [`  … and ${formatCount(more, "more object")}; -o json has all`] : []),
  ]
}

/** `1,234 objects, 5,678 changes, from 2026-11-21T10:00:00Z`. */
const traceText = ({ objects, changes, start }: ComparedTraceFacts): string =>
  `${formatCount(objects, "object")}, ${formatCount(changes, "change")}${start === undefined ? "" : `, from ${formatInstant(start)}`}`

/** `apps/v1.Deployment shop/web`; an Event with what it says. */
const nameOf = ({ says, ...object }: ComparedName): string =>
  says === undefined ? objectName(object) : `${objectName(object)} (${says})`

/** What became of the object, in words; empty for one that is changed field by field. */
const endText = ({ type, differences }: ChangedObject): string => {
  if (type === "created") return "exists at the end of B only"
  if (type === "deleted") return "exists at the end of A only"
  if (differences === undefined) return "too many objects differ to show its fields: choose with -k or -n"
  return differences.length === 0 ? "lists have another order" : ""
}

const changedLines = (changed: ChangedObject): ReadonlyArray<string> => {
  const { object, differences = [], hasMoreDifferences = false } = changed
  const end = endText(changed)
  const fields = differences.map((each) => ({ ...each }))
  return [
    `  ${nameOf(object)}${end === "" ? "" : `: ${end}`}`,
    ...differenceLines({ differences: fields, hasMoreDifferences }).map((line) => `  ${line}`),
  ]
}

const changesLine = ({ object, onlyInFirst, onlyInSecond }: DifferentChanges): string => {
  const told = [
    ...(onlyInFirst.length > 0 ? [`${onlyInFirst.length} in A only (${offsetsText(onlyInFirst)})`] : []),
    ...(onlyInSecond.length > 0 ? [`${onlyInSecond.length} in B only (${offsetsText(onlyInSecond)})`] : []),
  ]
  return `  ${nameOf(object)}: ${told.join(", ")}`
}

/** `+1.5 s, +20 s, …` */
const offsetsText = (offsets: ReadonlyArray<number>): string =>
  [
    ...offsets.slice(0, mostOffsets).map((offset) => `+${secondsText(offset)}`),
    ...(offsets.length > mostOffsets ? ["…"] : []),
  ].join(", ")

/** `1.5 s`, `0.000012 s`. */
const secondsText = (micros: number): string => `${Number((micros / 1_000_000).toFixed(6))} s`

const timesLines = ({ times }: TraceComparison): ReadonlyArray<string> => [
  timesText(times),
  ...times.largest.map(
    ({ object, offset, shift }) =>
      `  ${secondsText(Math.abs(shift))} ${shift < 0 ? "earlier" : "later"} in B: ${nameOf(object)} at +${secondsText(offset)}`,
  ),
]

/** The distribution in one sentence. */
const timesText = (times: TraceComparison["times"]): string => {
  const { pairs, earlier, later, median, percentile90, percentile99, maximum } = times
  const shifts = [
    `median ${secondsText(median)}`,
    ...[`90 % ${secondsText(percentile90)}`, `99 % ${secondsText(percentile99)}`, `largest ${secondsText(maximum)}`],
  ]
  return `${formatCount(pairs, "change")} in both, of which ${later} later in B and ${earlier} earlier; by how much: ${shifts.join(", ")}`
}

// What is different between two traces as a page: one file that loads nothing.

/** Objects of each part that the page has. */
const mostRows = 1000

/** The whole file. @throws PageNotBuilt */
const traceDiffPage = (paths: readonly [string, string], comparison: TraceComparison): string => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, isSame } = comparison
  const isLacking = traces.some(({ gaps, incomplete }) => gaps + incomplete.length > 0)
  const lacking = "A trace has gaps or kinds that were not recorded completely: what differs may be missing only."
  const blocks: ReadonlyArray<Block> = [
    { type: "text", text: { text: `A: ${paths[0]}: ${traceText(traces[0])}`, mood: "quiet" } },
    { type: "text", text: { text: `B: ${paths[1]}: ${traceText(traces[1])}`, mood: "quiet" } },
    ...(isSame ? [{ type: "text", text: { text: "Nothing differs.", mood: "good" } } as const] : []),
    ...(isLacking ? [{ type: "text", text: { text: lacking, mood: "warn" } } as const] : []),
    ...listed("only in A", onlyInFirst, ["Object"], (object) => [nameOf(object)]),
    ...listed("only in B", onlyInSecond, ["Object"], (object) => [nameOf(object)]),
    ...listed("different at the end", changed, ["Object", "From A to B"], changedRow),
    ...listed("changed in only one trace", changes, ["Object", "In A only", "In B only"], (each) => [
      ...[nameOf(each.object), countText(each.onlyInFirst), countText(each.onlyInSecond)],
    ]),
    ...times(comparison),
  ]
  return documentPage({ title: `Differences of ${paths.join(" and ")}`, blocks })
}

/** Nothing if the list is empty. */
const listed = <Each>(
  what: string,
  list: ReadonlyArray<Each>,
  columns: ReadonlyArray<string>,
  rowOf: (each: Each) => ReadonlyArray<Phrases>,
): ReadonlyArray<Block> => {
  if (list.length === 0) return []
  const more = list.length - mostRows
  const note = `${formatCount(more, "more object")}; reel diff -o json has all.`
  return [
    { type: "heading", text: `${formatCount(list.length, "object")} ${what}` },
    table(columns, list.slice(0, mostRows).map(rowOf)),
    ...(more > 0 ? [{ type: "text", text: { text: note, mood: "quiet" } } as const] : []),
  ]
}

const times = ({ times: summary }: TraceComparison): ReadonlyArray<Block> => {
  if (summary.pairs === 0) return []
  const rows = summary.largest.map(({ object, offset, shift }) => [
    ...[
      nameOf(object),
      `+${secondsText(offset)}`,
      `${secondsText(Math.abs(shift))} ${shift < 0 ? "earlier" : "later"}`,
    ],
  ])
  return [
    { type: "heading", text: "Times" },
    { type: "text", text: timesText(summary) },
    ...(rows.length > 0 ? [table(["Object", "After the start of A", "In B"], rows)] : []),
  ]
}

const countText = (offsets: ReadonlyArray<number>): string =>
  offsets.length === 0 ? "" : `${offsets.length}: ${offsetsText(offsets)}`

const table = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Phrases>>): Block => ({
  type: "table",
  columns: columns.map((label) => ({ label })),
  rows,
})

const changedRow = (changed: ChangedObject): ReadonlyArray<Phrases> => {
  const { object, differences = [], hasMoreDifferences } = changed
  const fields = differences.map(({ path, before, after }): Phrase => {
    const [old, now] = excerpts([jsonOf(before), jsonOf(after)])
    return {
      path: shortened(path),
      ...(old !== undefined && { before: old }),
      ...(now !== undefined && { after: now }),
    }
  })
  return [nameOf(object), [endText(changed), ...fields, ...(hasMoreDifferences === true ? ["and more"] : [])]]
}

const jsonOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : formatExactJson(value)

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
