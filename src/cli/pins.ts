/** `reel pins`: lists the windows of a recording that are kept, and removes them. */
import { formatLocalTime } from "../local-time.ts"
import { quoted, visible, visibleInJson } from "../text/index.ts"
import { type CommandSyntax, type OptionValues, oneOf, withDefault } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { faultOfPlace } from "./export/connection/recorder-place.ts"
import { type KeptPin, openPins, pinPlaceOptions } from "./pins/kept-pins.ts"
import { alignedRows } from "./terminal/display-width.ts"
import { formatBytes } from "./terminal/quantities.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  output: withDefault(
    "table",
    "-o FORMAT",
    "ls: table, with times of this machine's time zone; or json",
    oneOf("table", "json"),
  ),
  ...pinPlaceOptions,
}

const actions = ["ls", "rm"] as const

const syntax: CommandSyntax<typeof options> = {
  name: "reel pins",
  summary: "Lists the windows of a recording that are kept, or removes some of them.",
  description: [
    "ls is the default. PLACE is open while a window is not over, recording while all of it is in the recording, kept once it has a copy of its own, which is SIZE large, and lost if a part of it was removed before it could be copied.",
    "rm removes pins with their copies. What of them is still in the recording goes with the limits of time and size.",
  ],
  options,
  operand: {
    placeholder: "ls | rm ID",
    help: "what to do; rm takes several pins",
    count: 0,
    isRepeated: true,
    choices: actions,
  },
  exitCodes: { failed: "a pin that is to be removed does not exist, or pins cannot be changed" },
  environment: recorderVariables,
  examples: [
    "reel pins",
    "reel pins ls -o json | jq '.items[] | select(.source == \"alert\").note'",
    "reel pins rm 20261129t0312-1f2e3d4c",
    "reel pins --data-dir /var/lib/kubereel",
  ],
  seeAlso: ["reel pin", "reel store", "docs/guides/recordings.md"],
}

type Options = OptionValues<typeof options>

/** The command. `now`: µs since the Unix epoch. */
export const pinsCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, [action = "ls", ...ids]) => {
    if (action === "ls")
      return ids.length > 0
        ? `unexpected argument ${quoted(ids[0] ?? "")}`
        : (faultOfPlace(given) ?? list(given, terminal, now()))
    if (action !== "rm") return `${quoted(action)} is neither ls nor rm`
    if (ids.length === 0) return "rm needs the ID of a pin; reel pins lists them"
    return faultOfPlace(given) ?? remove(given, terminal, now(), ids)
  })

const list = async (given: Options, terminal: CommandTerminal, nowMicros: number): Promise<ExitCode> => {
  const { standardOutput, say } = terminal
  using interrupted = interruption(terminal)
  const found = await (await openPins(given, terminal, nowMicros, interrupted.signal)).list()
  if (given.output === "json") {
    const items = found.map(({ answer }) => answer)
    standardOutput.write(`${visibleInJson(JSON.stringify({ items }, undefined, 2))}\n`)
    return exitCodes.ok
  }
  if (found.length === 0) say("no pins found")
  else for (const line of table(found, nowMicros / 1000)) standardOutput.write(`${line}\n`)
  return exitCodes.ok
}

const table = (found: ReadonlyArray<{ readonly pin: KeptPin }>, nowMs: number): ReadonlyArray<string> => {
  const local = (instant: string): string => {
    const milliseconds = Date.parse(instant)
    return Number.isNaN(milliseconds) ? visible(instant) : formatLocalTime(milliseconds, nowMs)
  }
  const rows = found.map(({ pin: { id, from, until, place, bytes, source, note, alert = "" } }) => [
    ...[visible(id), local(from), local(until), visible(place), bytes === 0 ? "-" : formatBytes(bytes)],
    ...[visible(source), visible(`${note} ${alert}`.replaceAll(/\s+/g, " ").trim())],
  ])
  return alignedRows([["ID", "FROM", "UNTIL", "PLACE", "SIZE", "SOURCE", "NOTE"], ...rows])
}

const remove = async (
  given: Options,
  terminal: CommandTerminal,
  nowMicros: number,
  ids: ReadonlyArray<string>,
): Promise<ExitCode> => {
  const { standardOutput, say } = terminal
  using interrupted = interruption(terminal)
  const pins = await openPins(given, terminal, nowMicros, interrupted.signal)
  let isWhole = true
  for (const id of new Set(ids)) {
    const wasThere = await pins.remove(id)
    isWhole &&= wasThere
    if (wasThere) standardOutput.write(`pin/${visible(id)} removed\n`)
    else say(`there is no pin ${visible(id)}`)
  }
  return isWhole ? exitCodes.ok : exitCodes.failed
}
