/** `reel diff`: what two moments of a recording differ in, or two traces. */

import { visible } from "../text/index.ts"
import { formatExactJson } from "../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  list,
  type OptionValues,
  oneOf,
  optional,
  optionName,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { Misasked } from "./command-line/exit-codes.ts"
import { parseDuration } from "./command-line/instant.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { diffTraces, type TraceDiffOrder } from "./diff/trace-diff.ts"
import { type Asking, ask } from "./past/asking.ts"
import { detailLines, objectName, writersText } from "./past/describe-change.ts"
import { readStretch } from "./past/moments.ts"
import { chosenKinds, exceptOption, readObjectName } from "./past/object-name.ts"
import { askPast } from "./past/past-client.ts"
import { pastOptions } from "./past/past-places.ts"

/** What may be asked of two moments, of whatever recordings. */
export const momentsOptions = {
  namespace: optional("-n NAME", "only this namespace"),
  selector: optional("-l SELECTOR", "only objects that have these labels at one of both moments"),
  kind: list("-k KIND", "only these kinds: pods,deploy; default: all, or that of the operand"),
  except: exceptOption,
}

const options = {
  at: optional("TIME..TIME", "the two moments: 03:00..03:12, -1h..now; required, unless two traces are compared"),
  ...momentsOptions,
  output: withDefault(
    "text",
    "-o FORMAT",
    "text, or json: one JSON object a line, of traces one document; of traces also html: a page for browsers",
    oneOf("text", "json", "html"),
  ),
  allFields: flag({
    help: "of traces: compare every field, also status, UIDs, versions and what else a replay leaves to the cluster",
  }),
  tolerance: optional(
    "DURATION",
    "of traces: times that differ by no more than this are the same; default: 1s",
    (given) => {
      const duration = parseDuration(given)
      return duration === undefined ? refused("must be a duration such as 500ms or 2s") : value(duration)
    },
  ),
  exitCode: flag({ help: "of traces: exit with 1 if they differ" }),
  ...pastOptions,
}

type Options = OptionValues<typeof options>

const syntax: CommandSyntax<typeof options> = {
  name: "reel diff",
  summary: "Shows what is different between two moments, or between two traces: objects and changes, field by field.",
  description: [
    "With --at, two moments of a recording: objects created, deleted and changed. What happened in between and was undone is not shown; reel events shows it.",
    "Without --at, two traces in files, of any format: objects in one of them only, different states at the end, changes in only one of them, and the same changes at other times.",
  ],
  options,
  operand: {
    placeholder: "KIND/NAME | TRACE TRACE",
    help: "with --at: one object, or one kind; default: everything. Without: the traces",
    isRepeated: true,
  },
  exitCodes: {
    ok: "whether anything differs or not",
    failed: "there is no answer, or a trace is damaged; with --exit-code: the traces differ",
    incomplete: "the recording or a trace lacks something that concerns the answer; standard error says what",
  },
  environment: recorderVariables,
  examples: [
    "reel diff deploy/web --at 03:00..03:12",
    "reel diff --at -1h..now -n shop",
    "reel diff monday.ndjson.zst tuesday.ndjson.zst -k deploy",
    "reel diff recorded.sktrace replayed.sktrace -o html > differences.html",
  ],
  seeAlso: ["reel get", "reel events", "reel compare", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const diffCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, operands) => {
    const { at } = given
    if (at !== undefined) {
      if (given.output === "html") return "--output html is for two traces"
      if (given.allFields || given.exitCode || given.tolerance !== undefined)
        return "--all-fields, --tolerance and --exit-code are for two traces, without --at"
      return ask(given, terminal, now, (asking) => diff({ ...given, at }, operands, asking))
    }
    const order = traceOrder(given, operands)
    return typeof order === "string" ? order : diffTraces(order, terminal)
  })

/** µs. */
const defaultTolerance = 1_000_000

/** A problem is a text. */
const traceOrder = (given: Options, operands: ReadonlyArray<string>): TraceDiffOrder | string => {
  const [first, second, third] = operands
  if (first === undefined || second === undefined || third !== undefined)
    return "name two moments with --at TIME..TIME, or two traces"
  const { server, dataDir, trace, inCluster, kubeconfig, context, tokenFile, selector } = given
  const idle = Object.entries({ server, inCluster, kubeconfig, context, tokenFile, selector })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => `--${optionName(name)}`)
  if (dataDir.length > 0) idle.push("--data-dir")
  if (trace.length > 0) idle.push("--trace")
  if (idle.length > 0) return `${idle.join(", ")}: needs --at TIME..TIME; two traces are compared without`
  return {
    paths: [first, second],
    ...{
      output: given.output,
      kinds: given.kind,
      except: given.except,
      namespace: given.namespace,
      isWhole: given.allFields,
    },
    ...{ tolerance: given.tolerance ?? defaultTolerance, hasExitCode: given.exitCode },
  }
}

/** Prints what two moments differ in. @throws Misasked */
export const diff = async (
  given: OptionValues<typeof momentsOptions> & { readonly at: string; readonly output: string },
  operands: ReadonlyArray<string>,
  asking: Asking,
): Promise<undefined> => {
  const { places, signal, print, say, lacks, unknown } = asking
  if (!asking.isOne) throw new Misasked("compare moments of one recording: name one --data-dir")
  const object = operands.length === 0 ? undefined : readObjectName(operands)
  const kind = await chosenKinds(asking, object === undefined ? given.kind : [object.kind], given.except)
  const { from, to } = readStretch("--at", given.at, asking)
  const { namespace, selector: labels } = given
  const question = { kind, name: object?.name, namespace, labels, from, to }
  let count = 0
  for (const place of places)
    for await (const difference of askPast(place, "differences", question, signal, lacks)) {
      count++
      if (given.output === "json") {
        print(formatExactJson(difference))
        continue
      }
      unknown.add(difference)
      print(visible(`${String(difference.type).padEnd(8)}  ${objectName(difference)}${writersText(difference)}`))
      for (const line of detailLines(difference)) print(visible(line))
    }
  if (count === 0) say("nothing differs", true)
}
