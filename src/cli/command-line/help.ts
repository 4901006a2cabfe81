/** Help texts, rendered from the tables that the command line is parsed with, so that the two cannot disagree. */

import { asTyped, invocation, type Program } from "../terminal/invocation.ts"
import { type CommandSyntax, optionName } from "./arguments.ts"
import { exitCodeMeanings, exitCodes } from "./exit-codes.ts"

/** Longer lines are hard to read; narrower terminals get shorter lines. */
const widest = 100
const narrowest = 40

/** The text that `--help` prints, with a final line break: the sections of a manual page that the command has something for. */
export const renderHelp = (syntax: CommandSyntax, columns: number, program: Program = invocation.program): string => {
  const width = Math.max(narrowest, Math.min(widest, columns))
  const { operand, exitCodes: meanings, environment, files, examples, seeAlso } = syntax
  const options = [
    ...Object.entries(syntax.options).map(([name, option]) => {
      const short = option.short === undefined ? "    " : `-${option.short}, `
      const placeholder = option.placeholder === undefined ? "" : ` ${option.placeholder}`
      return [`${short}--${optionName(name)}${placeholder}`, option.help] as const
    }),
    ["-h, --help", "show this help"] as const,
    ["    --version", "show the version"] as const,
  ]
  const rows = (title: string, entries: ReadonlyArray<readonly [string, string]> | undefined): ReadonlyArray<string> =>
    entries === undefined ? [] : [`${title}:\n${table(entries, width, program)}`]
  const sections = [
    `Usage: ${asTyped(synopsisOf(syntax), program)}`,
    ...[syntax.summary, ...(syntax.description ?? [])].map((paragraph) =>
      wrap(asTyped(paragraph, program), width).join("\n"),
    ),
    ...(operand === undefined ? [] : [table([[operand.placeholder, operand.help]], width, program)]),
    ...rows("Options", options),
    ...rows("Exit codes", meanings && exitCodeRows(meanings)),
    ...rows("Environment", environment),
    ...rows("Files", files),
    ...(examples === undefined
      ? []
      : [`Examples:\n${examples.map((line) => `  ${asTyped(line, program)}`).join("\n")}`]),
    ...(seeAlso === undefined
      ? []
      : [
          `See also:\n${wrap(asTyped(seeAlso.join(", "), program), width - 2)
            .map((line) => `  ${line}`)
            .join("\n")}`,
        ]),
  ]
  return `${sections.join("\n\n")}\n`
}

/** The command in one line: what may or has to follow it. */
export const synopsisOf = ({ name, options, operand }: CommandSyntax): string => {
  const may = Object.keys(options).length === 0 ? "" : " [OPTION]..."
  if (operand === undefined) return name + may
  return `${name}${may} ${operand.count === undefined ? `[${operand.placeholder}]` : operand.placeholder}`
}

/** Exit codes in their order, each with its meaning: of all commands, or what a command says of its own. */
export const exitCodeRows = (
  meanings: Partial<Readonly<Record<keyof typeof exitCodes, string>>>,
): ReadonlyArray<readonly [code: string, meaning: string]> =>
  (Object.keys(exitCodes) as ReadonlyArray<keyof typeof exitCodes>).flatMap((name) => {
    const meaning = meanings[name]
    return meaning === undefined ? [] : [[String(exitCodes[name]).padStart(3), meaning] as const]
  })

/** The text of `reel help`: the list of commands. */
export const renderOverview = (
  commands: ReadonlyArray<{ readonly name: string; readonly summary: string }>,
  columns: number,
  program: Program = invocation.program,
): string => {
  const width = Math.max(narrowest, Math.min(widest, columns))
  const rows = commands.map(({ name, summary }) => [name, summary.replace(/\.$/, "")] as const)
  return `Usage: ${program} COMMAND [OPTION]...

Records what happens in a Kubernetes cluster and exports it as traces.

Commands:
${table(rows, width, program)}

Run "${program} COMMAND --help" for help on a command, and "${program} help exit-codes" for what its exit code means.
`
}

/** The text of `reel help exit-codes`. */
export const renderExitCodes = (columns: number): string => {
  const width = Math.max(narrowest, Math.min(widest, columns))
  return `Exit codes of all commands:\n\n${table(exitCodeRows(exitCodeMeanings), width)}\n`
}

const table = (
  rows: ReadonlyArray<readonly [left: string, right: string]>,
  width: number,
  program: Program = invocation.program,
): string =>
  helpTable(
    rows.map(([name, text]) => [name, asTyped(text, program)] as const),
    width,
  ).join("\n")

/** Two columns, a line each; a left entry that is too long gets a line of its own. */
export const helpTable = (
  rows: ReadonlyArray<readonly [left: string, right: string]>,
  width: number,
): ReadonlyArray<string> => {
  const left = Math.min(Math.max(...rows.map(([text]) => text.length)), Math.floor(width / 3)) + 4
  return rows.flatMap(([name, text]) => {
    const lines = wrap(text, width - left).map((line) => " ".repeat(left) + line)
    const [first = "", ...rest] = lines
    const head = `  ${name}`
    return head.length + 2 <= left ? [head.padEnd(left) + first.slice(left), ...rest] : [head, ...lines]
  })
}

const wrap = (text: string, width: number): string[] => {
  const lines: string[] = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}
