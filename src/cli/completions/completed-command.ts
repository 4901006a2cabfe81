/** What a shell has to know about a command to complete it: read from the syntax that the command line is parsed with. */
import { type CommandSyntax, type Option, optionName } from "../command-line/arguments.ts"
import type { CommandEntry } from "../command-line/command.ts"

/** What a word may be. Shells complete files and directories themselves; `other` is text that nothing is known of. */
export type Words =
  | { readonly tag: "words"; readonly words: ReadonlyArray<string> }
  | { readonly tag: "files" }
  | { readonly tag: "directories" }
  | { readonly tag: "other" }

/** One option. */
export interface CompletedOption {
  /** With its dashes: `--output`. */
  readonly long: string
  /** With its dash: `-o`. */
  readonly short: string | undefined
  /** One line of plain text, short enough to stand beside the option. */
  readonly help: string
  /** `undefined`: the option has no value. */
  readonly value: Words | undefined
}

/** One command. */
export interface CompletedCommand {
  /** The command's name, then its aliases. */
  readonly names: ReadonlyArray<string>
  readonly summary: string
  readonly options: ReadonlyArray<CompletedOption>
  /** Words that one of the operands may be, such as `verify` of `reel store`. */
  readonly operandWords: ReadonlyArray<string>
  /** What the other operands are; `undefined`: there are none. */
  readonly operands: Exclude<Words, { readonly tag: "words" }> | undefined
}

/** Loads a command and reads its syntax, and those of its variants: as one, because a variant begins with any of its options. */
export const completedCommand = async ({
  name,
  aliases = [],
  summary,
  load,
}: CommandEntry): Promise<CompletedCommand> => {
  const { syntax, variants = [] } = await load()
  const options = new Map<string, Option<unknown>>()
  for (const each of [syntax, ...variants])
    for (const [key, option] of Object.entries(each.options)) if (!options.has(key)) options.set(key, option)
  return {
    names: [name, ...aliases],
    summary: summary.replace(/\.$/, ""),
    options: [
      ...[...options].map(([key, option]) => completedOption(key, option)),
      { long: "--help", short: "-h", help: "show help for this command", value: undefined },
      { long: "--version", short: undefined, help: "show the version", value: undefined },
    ],
    ...operandsOf(syntax),
  }
}

const completedOption = (key: string, option: Option<unknown>): CompletedOption => ({
  long: `--${optionName(key)}`,
  short: option.short === undefined ? undefined : `-${option.short}`,
  help: brief(option.help),
  value: option.placeholder === undefined ? undefined : valuesOf(option.placeholder, option.choices),
})

const valuesOf = (placeholder: string, choices: ReadonlyArray<string> | undefined): Words =>
  choices === undefined ? { tag: placeOf(placeholder) } : { tag: "words", words: choices }

const operandsOf = ({ operand }: CommandSyntax): Pick<CompletedCommand, "operandWords" | "operands"> => {
  if (operand === undefined) return { operandWords: [], operands: undefined }
  const { choices = [], candidates = [] } = operand
  return { operandWords: [...choices, ...candidates], operands: { tag: placeOf(operand.placeholder) } }
}

/** Parts of placeholders that mean files, and directories. Where both are possible, files are completed, which shells do with directories too. */
const fileParts = new Set(["FILE", "FILES", "IN", "OUT", "REPORT", "TRACE"])
const directoryParts = new Set(["DIR", "DIRECTORY", "DATA-DIR"])

const placeOf = (placeholder: string): "files" | "directories" | "other" => {
  const parts = placeholder.split(/[^A-Z-]+/)
  if (parts.some((part) => fileParts.has(part))) return "files"
  return parts.some((part) => directoryParts.has(part)) ? "directories" : "other"
}

/** Characters that fit beside an option's name in most terminals. */
const longestHelp = 80

/** The first part of a help text. Shells cut what is too long at any place, fish after the window's width. */
const brief = (help: string): string => {
  const [first = ""] = help.split(/;|\. | \((?:required|default|may be)/, 1)
  if (first.length <= longestHelp) return first
  return `${first.slice(0, first.lastIndexOf(" ", longestHelp - 3))}...`
}

/** How scripts write what a word may be: `.` files, `/` directories, `-` anything, else the words. */
export const mark = (words: Words): string => {
  switch (words.tag) {
    case "files":
      return "."
    case "directories":
      return "/"
    case "other":
      return "-"
    case "words":
      return words.words.join(" ")
  }
}
