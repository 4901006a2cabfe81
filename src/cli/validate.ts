/** `reel validate`: what a replay of a trace would trip over. The rules are in src/validation. */

import { tmpdir } from "node:os"
import { visible, visibleInJson } from "../text/index.ts"
import {
  type ConvertError,
  convertInto,
  fileSpool,
  formatOfFileName,
  type LeftOut,
  openTraceFile,
  openTraceItems,
  SpooledBytes,
  type TraceFormatName,
  type TraceInput,
} from "../trace/index.ts"
import {
  type Findings,
  type RepairCounts,
  type Rule,
  repairing,
  ruleNamed,
  rules,
  transformProgram,
  type ValidatedTrace,
  type ValidationOptions,
  type ValidationReport,
  validateTrace,
} from "../validation/index.ts"
import {
  type CommandSyntax,
  flag,
  type OptionValues,
  oneOf,
  optional,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command, type Say } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { reading } from "./command-line/failures.ts"
import { formatOption, temporaryVariables } from "./command-line/shared-options.ts"
import {
  compressionOf,
  describeLeftOut,
  exitCodeOfFailure,
  openOutput,
  placeOf,
  saysItsGaps,
  terminalFault,
} from "./command-line/written-trace.ts"
import { alignedRows } from "./terminal/display-width.ts"
import { formatCount } from "./terminal/quantities.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"
import { countFindings, placeText, reportTable, reportText } from "./validate/report-lines.ts"

// Writes the repaired trace of `reel validate --fix`.

/** What to repair, and where to. */
interface FixOrder {
  readonly inputName: string
  /** The same trace as was validated, from its beginning. */
  readonly openInput: () => Promise<TraceInput>
  readonly from: TraceFormatName
  /** `-` is standard output. */
  readonly output: string
  readonly to: TraceFormatName
  readonly isForced: boolean
  readonly findings: Findings
  readonly options: ValidationOptions
  readonly signal: AbortSignal
}

/** The number of states that were changed, and what the format cannot represent; or why nothing was written. */
const writeFixed = async (
  order: FixOrder,
  terminal: Terminal,
): Promise<(RepairCounts & { readonly leftOut: LeftOut }) | ConvertError> => {
  const counts: RepairCounts = { states: 0 }
  const outcome = await convertInto({
    inputName: order.inputName,
    openInput: order.openInput,
    from: order.from,
    to: order.to,
    excludeOwned: false,
    filter: repairing(order.findings, order.options, counts),
    compression: compressionOf(order.output),
    openSink: () => openOutput(order.output, { force: order.isForced }, terminal),
    signal: order.signal,
    onProgress: () => undefined,
  })
  return outcome._tag === "Converted" ? { ...counts, leftOut: outcome.summary.leftOut } : outcome.error
}

// The report of a validation for programs. Its version changes if a field is removed or changes its meaning.

/** `cut`: why the trace could not be read to its end. Times are µs since the Unix epoch. */
const reportJson = (trace: string, report: ValidationReport, cut: string | undefined) => ({
  version: 1,
  trace,
  isComplete: cut === undefined,
  ...(cut !== undefined && { cut }),
  states: report.states,
  deletions: report.deletions,
  unreadable: report.unreadable,
  errors: countFindings(report, "error"),
  warnings: countFindings(report, "warning"),
  unrecordedKinds: report.unrecordedKinds,
  notLookedFor: report.notLookedFor,
  notAwaited: report.notAwaited,
  rules: report.rules.map(({ rule: { code, name, severity, fix }, findings, unlisted }) => ({
    code,
    name,
    severity,
    hasFix: fix !== undefined,
    unlisted,
    findings: findings.map(({ subject, kind, name: missing, count, firstTime, places }) => ({
      gvk: subject.gvk,
      namespace: subject.namespace,
      name: subject.name,
      ...(kind !== "" && { missing: { kind, name: missing } }),
      states: count,
      firstTime,
      paths: places.map(placeText),
    })),
  })),
})

// The rules themselves, for people and for programs.

/** A table of all rules. */
const ruleTable = (): ReadonlyArray<string> =>
  alignedRows([
    ["CODE", "SEVERITY", "FIX", "RULE", "FINDS"],
    ...rules.map(({ code, severity, fix, name, summary }) => [code, severity, fix ? "yes" : "no", name, summary]),
  ])

/** Everything about one rule. */
const explanationLines = ({ code, name, severity, summary, explanation, fix }: Rule): ReadonlyArray<string> => [
  `${code} ${name} (${severity})`,
  "",
  summary,
  ...explanation.flatMap((paragraph) => ["", paragraph]),
  "",
  fix === undefined ? "--fix changes nothing: only people can decide." : `--fix removes ${fix.removes}.`,
]

/** A rule as JSON. */
const ruleJson = ({ code, name, severity, summary, explanation, fix }: Rule) => ({
  code,
  name,
  severity,
  summary,
  explanation,
  fix: fix === undefined ? null : `removes ${fix.removes}`,
})

const options = {
  output: withDefault(
    "text",
    "-o FORMAT",
    "text: by rule, with examples; table: one row for each rule; json: everything",
    oneOf("text", "table", "json"),
  ),
  fix: optional("OUT", "write a trace without what was found and can be removed; - means standard output"),
  force: flag({ short: "f", help: "overwrite OUT if it exists" }),
  generateTransform: flag({ help: "print a program of SimKube's transform language that removes the same" }),
  namespacePrefix: withDefault(
    "virtual",
    "PREFIX",
    "prefix of the replay's namespaces, with which names must not be too long; empty: no prefix",
    (given) => value(given),
  ),
  from: formatOption("TRACE"),
  explain: optional("CODE", "explain one rule, such as E0003, instead", (given) => {
    const rule = ruleNamed(given)
    return rule === undefined
      ? refused(`no such rule; there are ${rules.map(({ code }) => code).join(", ")}`)
      : value(rule)
  }),
  list: flag({ help: "list all rules instead" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel validate",
  summary: "Checks a trace for what a replay would trip over: missing Secrets, accounts, kinds, owners and the like.",
  description: [
    "A reference is found if its object does not exist in the trace at that time, in the same namespace. " +
      "Each missing one is named once, with the number of recorded states that have it. skctl's forms check TRACE, explain CODE and print work too.",
  ],
  options,
  operand: { placeholder: "TRACE", help: "the trace in any format; - means standard input", isRepeated: true },
  exitCodes: {
    ok: "no errors; there may be warnings",
    incomplete:
      "with --fix: the trace has gaps, or kinds that were not being watched, which the format of OUT cannot say",
    failed: "there are errors, or the trace is cut off or damaged; with --fix: some remain that only people can decide",
  },
  environment: temporaryVariables,
  examples: [
    "reel validate trace.sktrace",
    "reel validate day.ndjson.zst -o json > findings.json",
    "reel validate trace.sktrace --fix repaired.sktrace",
    "reel validate trace.sktrace --generate-transform > repair.skel",
    "reel validate --explain E0003",
  ],
  seeAlso: ["reel replay", "reel convert", "docs/reference/validation.md"],
}

type Options = OptionValues<typeof options>

/** What was asked for. */
type Order =
  | { readonly tag: "trace"; readonly trace: string }
  | { readonly tag: "explain"; readonly rule: Rule }
  | { readonly tag: "list" }

/** The command. `openInput`: tests replace it. */
export const validateCommand = (openInput: (path: string) => Promise<TraceInput> = openTraceFile): Command =>
  command(syntax, async (given, terminal, operands) => {
    const order = readOrder(given, operands)
    if (typeof order === "string") return order
    if (order.tag === "trace") {
      const { trace } = order
      const name = trace === "-" ? "standard input" : trace
      return reading(
        () => name,
        () => validate({ trace, name }, given, terminal, openInput),
      )
    }
    const isJson = given.output === "json"
    const json = order.tag === "list" ? rules.map(ruleJson) : ruleJson(order.rule)
    print(
      terminal,
      isJson ? [JSON.stringify(json, undefined, 2)] : order.tag === "list" ? ruleTable() : explanationLines(order.rule),
    )
    return exitCodes.ok
  })

/** Checks that involve more than one option, and skctl's forms; a problem is a text. */
const readOrder = (given: Options, [first, second, third]: ReadonlyArray<string>): Order | string => {
  if (given.list || given.explain !== undefined) {
    if (first !== undefined) return "--list and --explain take no TRACE"
    return given.explain === undefined ? { tag: "list" } : { tag: "explain", rule: given.explain }
  }
  if (first === undefined) return "missing argument: expected TRACE, --list or --explain CODE"
  if (first === "print" && second === undefined) return { tag: "list" }
  if (third !== undefined) return `unexpected argument ${JSON.stringify(third)}`
  if (first === "explain" && second !== undefined) {
    const rule = ruleNamed(second)
    return rule === undefined
      ? `there is no rule ${JSON.stringify(second)}; --list shows all`
      : { tag: "explain", rule }
  }
  if (first !== "check" && second !== undefined) return `unexpected argument ${JSON.stringify(second)}`
  const trace = first === "check" && second !== undefined ? second : first
  if (trace === "") return "the name of TRACE is empty"
  if (given.force && given.fix === undefined) return "--force needs --fix OUT"
  if (given.fix !== undefined && given.generateTransform) return "--fix and --generate-transform exclude each other"
  return { tag: "trace", trace }
}

const print = ({ standardOutput }: Terminal, lines: Iterable<string>): void => {
  let text = ""
  for (const line of lines) {
    text += `${line}\n`
    if (text.length > 65_536) {
      standardOutput.write(text)
      text = ""
    }
  }
  standardOutput.write(text)
}

const validate = async (
  { trace, name }: { readonly trace: string; readonly name: string },
  given: Options,
  terminal: CommandTerminal,
  openInput: (path: string) => Promise<TraceInput>,
): Promise<ExitCode> => {
  const { say } = terminal
  using interrupted = interruption(terminal)
  const { signal } = interrupted
  let spooled: SpooledBytes | undefined
  try {
    let input = await openInput(trace)
    // A repair reads the trace twice.
    if (given.fix !== undefined && input.size === undefined)
      spooled = new SpooledBytes(fileSpool(tmpdir()), input.bytes)
    if (spooled !== undefined) input = { bytes: spooled.read(), size: undefined }
    const from = given.from ?? formatOfFileName(trace)
    const { items, format } = await openTraceItems(input, { inputName: name, from, signal })
    const mostFindings = given.fix === undefined ? {} : { mostFindings: Number.POSITIVE_INFINITY }
    const checking = { namespacePrefix: given.namespacePrefix, ...mostFindings }
    const validated = await validateTrace(items, checking)
    const isSound = validated.cut === undefined
    if (!isSound) say(`${name} is cut off or damaged: ${validated.cut?.message}. What is before that was checked`)
    if (given.fix === undefined) {
      report(trace, validated, given, terminal)
      return isSound && countFindings(validated.report, "error") === 0 ? exitCodes.ok : exitCodes.failed
    }
    if (!isSound) throw new CommandFailed("nothing was written: a repaired trace would lack the rest")
    return await fix(validated, terminal, say, {
      inputName: name,
      openInput: async () => (spooled === undefined ? openInput(trace) : { bytes: spooled.read(), size: undefined }),
      from: format,
      output: given.fix,
      isForced: given.force,
      options: checking,
      signal,
    })
  } finally {
    spooled?.[Symbol.dispose]()
  }
}

const report = (trace: string, { report, cut }: ValidatedTrace, given: Options, terminal: Terminal): void => {
  const name = trace === "-" ? "standard input" : trace
  if (given.generateTransform) return print(terminal, transformProgram(report.rules))
  switch (given.output) {
    case "json":
      return print(terminal, [visibleInJson(JSON.stringify(reportJson(name, report, cut?.message), undefined, 2))])
    case "table":
      return print(terminal, reportTable(name, report).map(visible))
    case "text":
      return print(terminal, reportText(name, report).map(visible))
  }
}

/** Errors that have no fix remain, and so does the exit code for them. */
const fix = async (
  { report, validation }: ValidatedTrace,
  terminal: Terminal,
  say: Say,
  order: Omit<Parameters<typeof writeFixed>[0], "findings" | "to">,
): Promise<ExitCode> => {
  const to: TraceFormatName = formatOfFileName(order.output) ?? order.from
  const fault = terminalFault(order.output, to, terminal)
  if (fault !== undefined) throw new CommandFailed(fault, exitCodes.usage)
  const written = await writeFixed({ ...order, to, findings: validation.findings }, terminal)
  if (!("states" in written)) {
    say(written.message)
    return exitCodeOfFailure(written)
  }
  const left = report.rules.filter(({ rule }) => rule.fix === undefined)
  say(`${placeOf(order.output)}: ${formatCount(written.states, "state")} of objects repaired`)
  for (const { rule, findings, unlisted } of left)
    say(
      `${formatCount(findings.length + unlisted, "finding")} of ${rule.code} ${rule.name} cannot be repaired; see reel validate --explain ${rule.code}`,
    )
  for (const line of describeLeftOut(written.leftOut, to)) say(line)
  if (left.some(({ rule }) => rule.severity === "error")) return exitCodes.failed
  return saysItsGaps(written.leftOut) ? exitCodes.ok : exitCodes.incomplete
}
