/** `reel crd types`: reading, writing and printing. The types are made in crd/. */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { text as textOf } from "node:stream/consumers"
import { quoted, visible } from "../recorder/configuration/quoted.ts"
import { codeOf, OutputExists, OutputFailed } from "../trace/files/output-errors.ts"
import { openOutputFile } from "../trace/files/output-file.ts"
import { type CommandSyntax, flag, type OptionValues, optional, text } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { UsageError } from "./command-line/usage-error.ts"
import { definitionTypes, UnusableDefinition } from "./crd/definition-types.ts"
import type { Terminal } from "./terminal/terminal.ts"

const options = {
  output: optional({
    short: "o",
    placeholder: "FILE",
    help: "write to a file instead of standard output",
    parse: text,
  }),
  force: flag({ short: "f", help: "overwrite the file if it exists" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel crd",
  summary: "Prints TypeScript types of custom resources, for controllers.",
  description: [
    "One interface for each served version of each CustomResourceDefinition in FILE, which may be YAML or JSON and hold several. " +
      "docs/guides/controllers.md shows a controller that uses them.",
  ],
  options,
  operand: {
    placeholder: "types FILE",
    help: "types: what to print; FILE: the definitions, or - for standard input",
    count: 2,
  },
  examples: [
    "reel crd types simplepod.yaml -o simplepod-types.ts",
    "kubectl get crd simplepods.slinky.dev -o yaml | reel crd types -",
  ],
}

export const crdCommand = (): Command =>
  command(syntax, async (given, terminal, [what = "", file = ""]) => {
    if (what === "types" && file !== "") return printTypes(given, file, terminal)
    const problem = file === "" ? "FILE is empty" : `${quoted(what)}: only types can be printed`
    terminal.standardError.write(`${new UsageError({ command: syntax.name, problem }).message}\n`)
    return exitCodes.usage
  })

const printTypes = async (
  { output, force }: OptionValues<typeof options>,
  file: string,
  { standardOutput, standardError }: Terminal,
): Promise<ExitCode> => {
  const say = (line: string): void => void standardError.write(`${syntax.name}: ${visible(line)}\n`)
  try {
    const types = definitionTypes(await read(file))
    if (output === undefined || output === "-") {
      standardOutput.write(types)
      return exitCodes.ok
    }
    const sink = await openOutputFile(output, { force, token: randomBytes(8).toString("hex") })
    try {
      await sink.write(Buffer.from(types))
      await sink.commit()
    } finally {
      await sink.discard()
    }
    return exitCodes.ok
  } catch (error) {
    if (error instanceof UnusableDefinition) say(`${file === "-" ? "standard input" : file} ${error.problem}`)
    else if (error instanceof OutputExists || error instanceof OutputFailed) say(error.message)
    else throw error
    return error instanceof OutputExists ? exitCodes.usage : exitCodes.failed
  }
}

const read = async (file: string): Promise<string> => {
  if (file === "-") return textOf(process.stdin)
  try {
    return await readFile(file, "utf8")
  } catch (error) {
    const code = codeOf(error)
    throw new UnusableDefinition({ problem: code === "ENOENT" ? "does not exist" : `cannot be read (${code})` })
  }
}
