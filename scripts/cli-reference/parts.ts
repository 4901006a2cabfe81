/** The generated parts of docs/reference/cli.md, as Markdown. */
import { type CommandSyntax, type Option, optionName } from "../../src/cli/command-line/arguments.ts"
import { exitCodeRows, synopsisOf } from "../../src/cli/command-line/help.ts"
import { marked } from "./marked.ts"
import { type SharedKeys, sharedKeys } from "./shared-rows.ts"

/** A command on the page, or a variant of one. */
export interface Documented {
  readonly syntax: CommandSyntax
  readonly aliases: ReadonlyArray<string>
}

/** The table of all commands. A variant has no row: its command names it. */
export const overviewPart = (documented: ReadonlyArray<Documented>): string => {
  const rows = documented
    .filter(({ syntax }) => !syntax.name.includes("--"))
    .map(({ syntax, aliases }) => {
      const others = aliases.map((alias) => `, \`${alias}\``).join("")
      return [`[\`${syntax.name}\`](#${anchorOf(syntax.name)})${others}`, marked(syntax.summary, [])] as const
    })
  return table("command", "does", rows)
}

/** Synopsis, description, arguments, options, exit codes, environment, files, examples and what else to see, as far as the command has them. */
export const commandPart = ({ syntax, aliases }: Documented, documented: ReadonlyArray<Documented>): string => {
  const { summary, description = [], operand, exitCodes = {}, environment = [], files = [] } = syntax
  const { examples = [], seeAlso = [] } = syntax
  const page: Page = {
    earlier: documented
      .map((each) => each.syntax)
      .slice(
        0,
        documented.findIndex((each) => each.syntax === syntax),
      ),
    words: wordsOf(syntax, documented),
  }
  const text = (plain: string): string => marked(plain, page.words)
  const others = aliases.length === 0 ? [] : [`Also ${aliases.map((alias) => `reel ${alias}`).join(", ")}.`]
  const operands: Rows = operand === undefined ? [] : [[`\`${cell(operand.placeholder)}\``, text(operand.help)]]
  const sections = [
    fenced("text", [synopsisOf(syntax)]),
    ...[summary, ...description, ...others].map((paragraph) => `${text(paragraph)}\n`),
    table("option", "meaning", [...operands, ...optionRows(syntax, page)]),
    table(
      "exit code",
      "meaning",
      exitCodeRows(exitCodes).map(([code, meaning]) => [code.trim(), text(meaning)]),
    ),
    table("variable", "meaning", variableRows(environment, page)),
    table(
      "file",
      "meaning",
      files.map(([path, meaning]) => [`\`${path}\``, text(meaning)]),
    ),
    fenced("sh", examples),
    seeAlso.length === 0 ? "" : `See also ${seeAlso.map((each) => reference(each)).join(", ")}.\n`,
  ]
  return `\n${sections.filter((section) => section !== "").join("\n")}\n`
}

/** What a command's part depends on besides the command. */
interface Page {
  /** The commands above it. */
  readonly earlier: ReadonlyArray<CommandSyntax>
  /** Words that become code. */
  readonly words: ReadonlyArray<string>
}

type Rows = ReadonlyArray<readonly [left: string, right: string]>

const optionRows = ({ options }: CommandSyntax, { earlier, words }: Page): Rows => {
  const spelled = (key: string): string => (options[key] === undefined ? "" : spelledOption(key, options[key]))
  const explained = (key: string): string => {
    const { help = "", choices = [] } = options[key] ?? {}
    return marked(help, [...words, ...(choices ?? [])])
  }
  const groups = sharedKeys(Object.keys(options), earlier, (other, key) => isSame(options[key], other.options[key]))
  return rowsOf(Object.keys(options), groups, spelled, explained)
}

const variableRows = (environment: ReadonlyArray<readonly [string, string]>, { earlier, words }: Page): Rows => {
  const meanings = new Map(environment)
  const groups = sharedKeys([...meanings.keys()], earlier, (other, key) =>
    (other.environment ?? []).some(([name, meaning]) => name === key && meaning === meanings.get(key)),
  )
  const spelled = (key: string): string => `\`${key}\``
  return rowsOf([...meanings.keys()], groups, spelled, (key) => marked(meanings.get(key) ?? "", words))
}

/** A row for each key that the command explains itself, then one for each command that explains others. */
const rowsOf = (
  keys: ReadonlyArray<string>,
  groups: ReadonlyArray<SharedKeys>,
  spelled: (key: string) => string,
  explained: (key: string) => string,
): Rows => {
  const shared = new Set(groups.flatMap((group) => group.keys))
  return [
    ...keys.filter((key) => !shared.has(key)).map((key) => [spelled(key), explained(key)] as const),
    ...groups.map((group) => [group.keys.map(spelled).join(", "), `as for ${reference(group.name)}`] as const),
  ]
}

const isSame = (option: Option<unknown> | undefined, other: Option<unknown> | undefined): boolean =>
  option?.help === other?.help && option?.placeholder === other?.placeholder && option?.short === other?.short

const spelledOption = (key: string, { short, placeholder }: Option<unknown>): string => {
  const value = placeholder === undefined ? "" : ` ${cell(placeholder)}`
  return `${short === undefined ? "" : `\`-${short}\`, `}\`--${optionName(key)}${value}\``
}

/** Words that stand for something in a command's texts: parts of its placeholders, variables, options with a choice, and commands. */
const wordsOf = (
  { options, operand, environment = [] }: CommandSyntax,
  documented: ReadonlyArray<Documented>,
): ReadonlyArray<string> => {
  const placeholders = [operand?.placeholder, ...Object.values(options).map(({ placeholder }) => placeholder)]
  const parts = placeholders.flatMap((placeholder) => placeholder?.match(/[A-Z]{2,}/g) ?? [])
  const chosen = Object.entries(options).flatMap(([key, { choices = [] }]) =>
    choices.map((choice) => `--${optionName(key)} ${choice}`),
  )
  return [
    "KUBECONFIG",
    ...environment.map(([name]) => name),
    ...(operand?.choices ?? []),
    ...parts,
    ...chosen,
    ...documented.map(({ syntax }) => syntax.name),
  ]
}

/** A command or a page below docs/, as a link. */
const reference = (text: string): string =>
  text.startsWith("reel ") ? `[\`${text}\`](#${anchorOf(text)})` : marked(text, [])

/** As GitHub makes it from a heading. */
const anchorOf = (heading: string): string => heading.replace(/[^a-z0-9 -]/g, "").replaceAll(" ", "-")

const cell = (text: string): string => text.replaceAll("|", "\\|")

/** Nothing for no lines. */
const fenced = (language: string, lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "" : `\`\`\`${language}\n${lines.join("\n")}\n\`\`\`\n`

/** Nothing for no rows. */
const table = (left: string, right: string, rows: Rows): string =>
  rows.length === 0
    ? ""
    : `| ${left} | ${right} |\n| --- | --- |\n${rows.map(([first, second]) => `| ${first} | ${second} |\n`).join("")}`
