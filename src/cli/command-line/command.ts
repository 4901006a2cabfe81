import { visible } from "../../text/index.ts"
import { columnsOf, type Terminal } from "../terminal/terminal.ts"
import { type CommandSyntax, type OptionTable, type OptionValues, parseArguments, UsageError } from "./arguments.ts"
import { type ExitCode, exitCodes, Misasked } from "./exit-codes.ts"
import { failureOf } from "./failures.ts"
import { renderHelp } from "./help.ts"
import { readVersion } from "./version.ts"

/** One `reel` command, as the dispatcher sees it. */
export interface Command {
  readonly syntax: CommandSyntax
  /** Syntaxes that an option selects in place of that one, with options of their own: `reel k8s --host`. */
  readonly variants?: ReadonlyArray<CommandSyntax>
  /** Arguments after the command's name. Rejects only for defects. */
  readonly run: (argv: readonly string[], terminal: Terminal) => Promise<ExitCode>
}

/** A command before it is loaded. */
export interface CommandEntry {
  readonly name: string
  /** Other names, which SimKube's skctl has. */
  readonly aliases?: ReadonlyArray<string>
  /** Repeats the summary of its syntax. */
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** The command with this name or alias. */
export const commandNamed = (commands: ReadonlyArray<CommandEntry>, name: string): CommandEntry | undefined =>
  commands.find((entry) => entry.name === name || entry.aliases?.includes(name) === true)

/** Writes a line for people. */
export type Say = (line: string) => void

/** What a command's body is given besides its arguments. */
export interface CommandTerminal extends Terminal {
  /** On standard error, after the command's name; what would control the terminal is made visible. */
  readonly say: Say
}

/**
 * Wraps a command's body in what all commands share: parsing, `--help`, `--version`, usage errors, and failures that a person can do something about. A body
 * that resolves with a text, or rejects with Misasked, has found what is wrong with the command line, such as two options that exclude each other.
 */
export const command = <Table extends OptionTable>(
  syntax: CommandSyntax<Table>,
  body: (
    options: OptionValues<Table>,
    terminal: CommandTerminal,
    operands: readonly string[],
  ) => Promise<ExitCode | string>,
): Command => ({
  syntax,
  run: async (argv, terminal) => {
    const refuse = (problem: string): ExitCode => {
      terminal.standardError.write(`${new UsageError({ command: syntax.name, problem }).message}\n`)
      return exitCodes.usage
    }
    const say: Say = (line) => void terminal.standardError.write(`${syntax.name}: ${visible(line)}\n`)
    const parsed = parseArguments(syntax, argv)
    switch (parsed._tag) {
      case "Help":
        terminal.standardOutput.write(renderHelp(syntax, columnsOf(terminal.standardOutput)))
        return exitCodes.ok
      case "Version":
        terminal.standardOutput.write(`kubereel ${readVersion()}\n`)
        return exitCodes.ok
      case "Wrong":
        return refuse(parsed.error.problem)
    }
    try {
      const outcome = await body(parsed.options, { ...terminal, say }, parsed.operands)
      return typeof outcome === "string" ? refuse(outcome) : outcome
    } catch (error) {
      if (error instanceof Misasked) return refuse(error.message)
      const failure = await failureOf(error)
      if (failure === undefined) throw error
      for (const line of failure.line.split("\n")) say(line)
      return failure.exitCode
    }
  },
})
