/** `reel diff`: what two moments differ in. */
import { visible } from "../recorder/configuration/quoted.ts"
import { formatExactJson } from "../trace/json/exact-json.ts"
import { type CommandSyntax, list, type OptionValues, optional, required, text } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { recorderVariables } from "./command-line/variables.ts"
import { type Asking, ask, Misasked, outputOption } from "./past/asking.ts"
import { differenceLines, managersText, objectName } from "./past/describe-change.ts"
import { readStretch } from "./past/moments.ts"
import { exactKinds, readObjectName } from "./past/object-name.ts"
import { askPast } from "./past/past-client.ts"
import { pastOptions } from "./past/past-places.ts"

const options = {
  at: required({ placeholder: "TIME..TIME", help: "the two moments: 03:00..03:12, -1h..now", parse: text }),
  namespace: optional({ short: "n", placeholder: "NAME", help: "only this namespace", parse: text }),
  selector: optional({
    short: "l",
    placeholder: "SELECTOR",
    help: "only objects that have these labels at one of both moments",
    parse: text,
  }),
  kind: list({
    short: "k",
    placeholder: "KIND",
    help: "only these kinds: pods,deploy; default: all, or that of the operand",
    parse: text,
    split: true,
  }),
  output: outputOption,
  ...pastOptions,
}

type Options = OptionValues<typeof options>

const syntax: CommandSyntax<typeof options> = {
  name: "reel diff",
  summary: "Shows what is different between two moments: objects created, deleted and changed, field by field.",
  description: ["What happened in between and was undone is not shown; reel events shows it."],
  options,
  operand: { placeholder: "KIND/NAME", help: "one object, or one kind; default: everything", isRepeated: true },
  exitCodes: { incomplete: "the recording lacks something that concerns the answer; standard error says what" },
  environment: recorderVariables,
  examples: ["reel diff deploy/web --at 03:00..03:12", "reel diff --at -1h..now -n shop"],
  seeAlso: ["reel get", "reel events", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const diffCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, operands) =>
    ask(given, { name: syntax.name, terminal, now }, (asking) => diff(given, operands, asking)),
  )

const diff = async (given: Options, operands: ReadonlyArray<string>, asking: Asking): Promise<undefined> => {
  const { places, signal, print, say, lacks } = asking
  const [place, another] = places
  if (place === undefined || another !== undefined)
    throw new Misasked("compare moments of one recording: name one --data-dir")
  const object = operands.length === 0 ? undefined : readObjectName(operands)
  const named = object === undefined ? given.kind : [object.kind]
  const kind = named.length === 0 ? undefined : await exactKinds(asking, named)
  const { from, to } = readStretch("--at", given.at, asking)
  const { namespace, selector: labels } = given
  const answer = askPast(place, "differences", { kind, name: object?.name, namespace, labels, from, to }, signal)
  for (let count = 0; ; count++) {
    const next = await answer.next()
    if (next.done === true) {
      lacks(next.value)
      if (count === 0) say("nothing differs")
      return
    }
    const difference = next.value
    if (given.output === "json") print(formatExactJson(difference))
    else
      for (const line of [
        `${String(difference.type).padEnd(8)}  ${objectName(difference)}${managersText(difference.managers)}`,
        ...differenceLines(difference),
      ])
        print(visible(line))
  }
}
