/** `reel events`: everything that happened in a stretch of time. */
import { type CommandSyntax, flag, list, type OptionValues, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { fieldOption, printChanges } from "./history.ts"
import { type Asking, ask, outputOption } from "./past/asking.ts"
import { changesOf } from "./past/changes-of.ts"
import { followedChanges } from "./past/follow.ts"
import { readMoment } from "./past/moments.ts"
import { chosenKinds, exceptOption } from "./past/object-name.ts"
import { pastOptions } from "./past/past-places.ts"

const options = {
  since: withDefault("10m", "TIME", "from this moment on: 10m, 03:12; 0 is the beginning of the recording"),
  until: withDefault("now", "TIME", "up to this moment"),
  kind: list("-k KIND", "only these kinds: pods,deploy; default: all"),
  except: exceptOption,
  namespace: optional("-n NAME", "only this namespace"),
  name: optional("NAME", "only objects of this name"),
  selector: optional("-l SELECTOR", "only objects that have these labels before or after the change"),
  fieldSelector: optional("SELECTOR", "only objects that have these fields before or after the change"),
  field: fieldOption,
  follow: flag({ short: "f", help: "then go on with what changes, until Ctrl-C" }),
  output: outputOption,
  ...pastOptions,
}

type Options = OptionValues<typeof options>

const syntax: CommandSyntax<typeof options> = {
  name: "reel events",
  summary: "Shows what changed in a stretch of time, of all recorded kinds or some.",
  description: [
    "These are changes of objects. Kubernetes Events are among them, with their reason and message; --except events leaves them out. With --follow, --except means all other kinds that are recorded now.",
  ],
  options,
  exitCodes: {
    ok: "also after Ctrl-C with --follow",
    incomplete: "the recording lacks something that concerns the answer; standard error says what",
    notPermitted: "what may be read has changed, and the recorder refuses to go on",
  },
  environment: recorderVariables,
  examples: [
    "reel events --since 10m",
    "reel events --since 03:00 --until 03:12 -n shop",
    "reel events --since 1h -k deploy,pods,events",
    "reel events -f -n shop --except events",
    "reel events --since 1d -k deploy --field spec.replicas",
  ],
  seeAlso: ["reel history", "reel diff", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const eventsCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal) => ask(given, terminal, now, (asking) => events(given, asking)))

const events = async (given: Options, asking: Asking): Promise<ExitCode | undefined> => {
  const kind = await chosenKinds(asking, given.kind, given.except)
  const from = readMoment("--since", given.since, asking)
  const { namespace, name, selector: labels, fieldSelector: fields, field } = given
  const isJson = given.output === "json"
  if (given.follow) {
    if (given.until !== "now") throw new Misasked("--follow goes on, so there is no --until")
    if (field !== undefined) throw new Misasked("--follow shows whole changes: leave out --field")
    await printChanges(followedChanges(asking, { kind, name, namespace, labels, fields, from }), asking, {
      field,
      isJson,
    })
    return exitCodes.ok
  }
  const to = readMoment("--until", given.until, asking)
  const answer = changesOf(asking, { kind, name, namespace, labels, fields, field, from, to })
  const count = await printChanges(answer, asking, { field, isJson })
  if (count === 0) asking.say("nothing changed in that time")
  return undefined
}
