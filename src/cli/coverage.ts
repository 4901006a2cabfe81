/** `reel coverage`: what a recording has, of a running recorder or in a directory, as a table or as the recorder describes it. */
import { visibleInJson } from "../text/index.ts"
import { type CommandSyntax, type OptionValues, oneOf, withDefault } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { faultOfPlace, type OpenPlace, openPlace, placeOptions } from "./export/connection/recorder-place.ts"
import { askCoverage, coverageLines, isWhole } from "./export/coverage-table.ts"
import { readWindow } from "./past/moments.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  output: withDefault(
    "table",
    "-o FORMAT",
    "table, with times of this machine's time zone; or json, with times in µs since 1970",
    oneOf("table", "json"),
  ),
  start: withDefault(
    "0",
    "TIME",
    "start of the window, inclusive; a duration counts back from --end. 0 is the beginning of the recording",
  ),
  end: withDefault("now", "TIME", "end of the window, exclusive; now is, with --data-dir, the end of the recording"),
  ...placeOptions,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel coverage",
  summary: "Shows what is recorded, since when, until when, and what is missing.",
  description: [
    "For each kind: events, since when and until when it is recorded, whether anything is missing, and its state; then gaps with their reasons, and changes that were received late.",
  ],
  options,
  exitCodes: { incomplete: "a kind that is to be recorded lacks a part of the window" },
  environment: recorderVariables,
  examples: [
    "reel coverage",
    "reel coverage --data-dir /var/lib/kubereel",
    "reel coverage --start -1h -o json | jq '.kinds[] | select(.isComplete | not).gvk'",
  ],
  seeAlso: ["reel export", "reel store"],
}

type Options = OptionValues<typeof options>

/** The command. `now`: µs since the Unix epoch. */
export const coverageCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal) => {
    return faultOfPlace(given) ?? show(given, terminal, now)
  })

const show = async (given: Options, terminal: CommandTerminal, now: () => number): Promise<ExitCode> => {
  const { standardOutput, say } = terminal
  using interrupted = interruption(terminal)
  const nowMs = now() / 1000
  let place: OpenPlace | undefined
  try {
    place = await openPlace(given, terminal, say, interrupted.signal)
    const { offline } = place.recorder
    const window = readWindow(given, { moment: offline?.knownUntil ?? now(), say })
    const { coverage, answer } = await askCoverage(place, window, interrupted.signal)
    if (given.output === "json") standardOutput.write(`${visibleInJson(JSON.stringify(answer, undefined, 2))}\n`)
    else for (const line of coverageLines(coverage, nowMs)) standardOutput.write(`${line}\n`)
    return isWhole(coverage) && offline?.lacksLog !== true ? exitCodes.ok : exitCodes.incomplete
  } finally {
    await place?.close()
  }
}
