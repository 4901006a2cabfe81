/** `reel why`: the chain of events that led to what became of an object. */
import { formatLocalTime } from "../local-time.ts"
import { type CommandSyntax, type OptionValues, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { type Asking, ask } from "./past/asking.ts"
import { changesOf } from "./past/changes-of.ts"
import { readMoment } from "./past/moments.ts"
import { exactKinds, readObjectName } from "./past/object-name.ts"
import { pastOptions } from "./past/past-places.ts"
import { WhyLines } from "./past/why-lines.ts"

const options = {
  namespace: optional("-n NAME", "namespace of the object; default: any"),
  since: withDefault("0", "TIME", "from this moment on; 0 is the beginning of the recording"),
  until: withDefault("now", "TIME", "up to this moment"),
  ...pastOptions,
}

type Options = OptionValues<typeof options>

const syntax: CommandSyntax<typeof options> = {
  name: "reel why",
  summary:
    "Shows what led to the state or the end of an object: its owners' changes, scheduling, conditions, deletion.",
  options,
  operand: { placeholder: "KIND/NAME", help: "the object, as with kubectl: pod/web-0", isRepeated: true },
  exitCodes: { incomplete: "the recording lacks something that concerns the answer; standard error says what" },
  environment: recorderVariables,
  examples: ["reel why pod/web-0 -n shop", "reel why pod/web-0 --until 03:12 --data-dir /var/lib/kubereel"],
  seeAlso: ["reel history", "reel events", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const whyCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, operands) =>
    ask(given, terminal, now, (asking) => why(given, operands, asking)),
  )

const why = async (given: Options, operands: ReadonlyArray<string>, asking: Asking): Promise<ExitCode | undefined> => {
  const { kind: named, name } = readObjectName(operands)
  if (name === undefined) throw new Misasked("which object? Write KIND/NAME, such as pod/web-0")
  const [kind = ""] = await exactKinds(asking, [named])
  const from = readMoment("--since", given.since, asking)
  const to = readMoment("--until", given.until, asking)
  const { namespace } = given
  const lines = new WhyLines(kind, (micros) => formatLocalTime(micros / 1000, asking.nowMs))
  let isFound = false
  for await (const change of changesOf(asking, { kind, name, namespace, from, to, owners: true, objects: true })) {
    isFound ||= change.gvk === kind
    const told = lines.of(change)
    for (const line of told) asking.print(line)
    if (told.length > 0) asking.unknown.add(change)
  }
  if (isFound) return undefined
  asking.say(`there are no changes of ${kind} ${name} in that time`)
  return exitCodes.failed
}
