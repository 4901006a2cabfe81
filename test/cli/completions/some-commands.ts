/** Two commands with every sort of option and operand that completions distinguish. Those of `reel` change too often for snapshots. */
import { flag, list, oneOf, optional, text, withDefault } from "../../../src/cli/command-line/arguments.ts"
import { type CommandEntry, command } from "../../../src/cli/command-line/command.ts"

const tape = command(
  {
    name: "reel tape",
    summary: "Copies what's on a tape.",
    options: {
      output: optional({ short: "o", placeholder: "FILE", help: "where to write [it]; default: nowhere", parse: text }),
      dataDir: optional({ short: "d", placeholder: "DIR", help: "where it is", parse: text }),
      format: withDefault("ndjson", { placeholder: "FORMAT", help: "a format", parse: oneOf("ndjson", "kwok") }),
      kind: list({ short: "K", placeholder: "KIND", help: "only these: pods,deploy", parse: text, split: true }),
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
