/** Two commands with every sort of option and operand that completions distinguish. Those of `reel` change too often for snapshots. */
import { flag, list, oneOf, optional, withDefault } from "../../../src/cli/command-line/arguments.ts"
import { type CommandEntry, command } from "../../../src/cli/command-line/command.ts"

const tape = command(
  {
    name: "reel tape",
    summary: "Copies what's on a tape.",
    options: {
      output: optional("-o FILE", "where to write [it]; default: nowhere"),
      dataDir: optional("-d DIR", "where it is"),
      format: withDefault("ndjson", "FORMAT", "a format", oneOf("ndjson", "kwok")),
      kind: list("-K KIND", "only these: pods,deploy"),
      keep: flag({ short: "k", help: `keep it, ${"and a long explanation ".repeat(5)}of that` }),
    },
    operand: { placeholder: "TRACE", help: "the trace", count: 1 },
  },
  () => Promise.resolve(0),
)

const deck = command(
  {
    name: "reel deck",
    summary: "Does something with a deck.",
    options: {},
    operand: { placeholder: "wind | rewind", help: "what to do", choices: ["wind", "rewind"] },
  },
  () => Promise.resolve(0),
)

export const someCommands: ReadonlyArray<CommandEntry> = [
  { name: "tape", aliases: ["t"], summary: tape.syntax.summary, load: () => Promise.resolve(tape) },
  { name: "deck", summary: deck.syntax.summary, load: () => Promise.resolve(deck) },
]
