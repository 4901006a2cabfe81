/** `reel pin`: keeps a window of a recording. */
import { visible, visibleInJson } from "../text/index.ts"
import { type CommandSyntax, type OptionValues, oneOf, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { parseDuration } from "./command-line/instant.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { faultOfPlace } from "./export/connection/recorder-place.ts"
import { readMoment } from "./past/moments.ts"
import { openPins, pinPlaceOptions } from "./pins/kept-pins.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  from: withDefault("-30m", "TIME", "where the window begins, inclusive; a duration counts back from now"),
  until: withDefault(
    "now",
    "TIME",
    "where it ends, exclusive; +30m is in half an hour, and what happens until then is kept too",
  ),
  note: optional("TEXT", "why it is kept, for those who find it later"),
  output: withDefault("text", "-o FORMAT", "text, or json with all that is known of the pin", oneOf("text", "json")),
  ...pinPlaceOptions,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel pin",
  summary: "Keeps a window of a recording although retention removes what is around it.",
  description: [
    "The window stays where it is until retention is about to remove something of it, and is then copied into a directory of its own, pins/ID in the data directory, which is read as every recording is. reel pins lists what is kept, and removes it.",
    "Without --data-dir, the recorder on this machine is asked. Alertmanager can pin by itself: docs/guides/recordings.md.",
  ],
  options,
  exitCodes: { failed: "the window is not kept: the recording is full of pins, or cannot be written" },
  environment: recorderVariables,
  examples: [
    "reel pin --note 'checkout was slow'",
    "reel pin --from 03:00 --until 03:20 --note 'incident 4711'",
    "reel pin --from -30m --until +30m --in-cluster kubereel/kubereel",
  ],
  seeAlso: ["reel pins", "reel ui", "docs/guides/recordings.md"],
}

type Options = OptionValues<typeof options>

/** The command. `now`: µs since the Unix epoch. */
export const pinCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal) => faultOfPlace(given) ?? pin(given, terminal, now()))

const pin = async (given: Options, terminal: CommandTerminal, nowMicros: number): Promise<ExitCode> => {
  const { standardOutput, say } = terminal
  using interrupted = interruption(terminal)
  const pins = await openPins(given, terminal, nowMicros, interrupted.signal)
  const reference = { moment: pins.now, say }
  const from = readMoment("--from", given.from, reference)
  const until = momentAhead(given.until, pins.now) ?? readMoment("--until", given.until, reference)
  if (from >= until) throw new Misasked("the window ends before it begins")
  const { note = "" } = given
  const { pin: made, answer } = await pins.add({ from, until, note })
  if (given.output === "json") {
    standardOutput.write(`${visibleInJson(JSON.stringify(answer, undefined, 2))}\n`)
    return exitCodes.ok
  }
  standardOutput.write(`pin/${visible(made.id)} created\n`)
  const page = pins.pageOf(made.id)
  if (page !== undefined) say(`its page is ${page}`)
  return exitCodes.ok
}

/** `+30m`: that long after now. `undefined`: it is of another form. @throws Misasked */
const momentAhead = (given: string, now: number): number | undefined => {
  if (!given.startsWith("+")) return undefined
  const duration = parseDuration(given.slice(1))
  if (duration === undefined)
    throw new Misasked(`--until ${JSON.stringify(given)}: after + only a duration can follow, such as +30m`)
  return now + duration
}
