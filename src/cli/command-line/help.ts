/** Help texts, rendered from the tables that the command line is parsed with, so that the two cannot disagree. */
import { type CommandSyntax, optionName } from "./arguments.ts"
import { exitCodeMeanings, exitCodes } from "./exit-codes.ts"

/** Longer lines are hard to read; narrower terminals get shorter lines. */
const widest = 100
const narrowest = 40

/** The text that `--help` prints, with a final line break. */
export const renderHelp = (syntax: CommandSyntax, columns: number): string => {
  const width = Math.max(narrowest, Math.min(widest, columns))
  const entries = Object.entries(syntax.options).map(([name, option]) => {
    const short = option.short === undefined ? "    " : `-${option.short}, `
    const placeholder = option.placeholder === undefined ? "" : ` ${option.placeholder}`
    return [`${short}--${optionName(name)}${placeholder}`, option.help] as const
  })
  const options = [
    ...entries,
    ["-h, --help", "show this help"] as const,
    ["    --version", "show the version"] as const,
  ]
  const operand = syntax.operand
  const sections = [
    `Usage: ${syntax.name}${entries.length === 0 ? "" : " [OPTION]..."}${operand === undefined ? "" : ` ${operand.count === undefined ? `[${operand.placeholder}]` : operand.placeholder}`}`,
    ...[syntax.summary, ...(syntax.description ?? [])].map((paragraph) => wrap(paragraph, width).join("\n")),
    ...(operand === undefined ? [] : [table([[operand.placeholder, operand.help]], width)]),
    `Options:\n${table(options, width)}`,
    ...(syntax.examples === undefined ? [] : [`Examples:\n${syntax.examples.map((line) => `  ${line}`).join("\n")}`]),
  ]
  return `${sections.join("\n\n")}\n`
}

/** The text of `reel help`: the list of commands. */
export const renderOverview = (
  commands: ReadonlyArray<{ readonly name: string; readonly summary: string }>,
  columns: number,
): string => {
  const width = Math.max(narrowest, Math.min(widest, columns))
  const rows = commands.map(({ name, summary }) => [name, summary.replace(/\.$/, "")] as const)
  return `Usage: reel COMMAND [OPTION]...

Records what happens in a Kubernetes cluster and exports it as traces.

Commands:
${table(rows, width)}

Run "reel COMMAND --help" for help on a command, and "reel help exit-codes" for what its exit code means.
`
}

/** The text of `reel help exit-codes`. */
export const renderExitCodes = (columns: number): string => {
  const width = Math.max(narrowest, Math.min(widest, columns))
  const rows = Object.entries(exitCodeMeanings).map(
    ([name, meaning]) => [String(exitCodes[name as keyof typeof exitCodes]).padStart(3), meaning] as const,
  )
  return `Exit codes of all commands:\n\n${table(rows, width)}\n`
}

/** Two columns; a left entry that is too long gets a line of its own. */
const table = (rows: ReadonlyArray<readonly [left: string, right: string]>, width: number): string => {
  const left = Math.min(Math.max(...rows.map(([text]) => text.length)), Math.floor(width / 3)) + 4
  return rows
    .flatMap(([name, text]) => {
      const lines = wrap(text, width - left).map((line) => " ".repeat(left) + line)
      const [first = "", ...rest] = lines
      const head = `  ${name}`
      return head.length + 2 <= left ? [head.padEnd(left) + first.slice(left), ...rest] : [head, ...lines]
    })
    .join("\n")
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
