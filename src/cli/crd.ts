/** `reel crd`: reading, writing and printing. The definitions are made in src/simulation/api, types in crd/. */
import { readFile } from "node:fs/promises"
import { text as textOf } from "node:stream/consumers"
import { renderManifests } from "../k8s/index.ts"
import { simulationDefinitions } from "../simulation/index.ts"
import { quoted } from "../text/index.ts"
import { codeOf } from "../trace/index.ts"
import { type CommandSyntax, flag, type OptionValues, optional } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { writeWholeFile } from "./command-line/written-trace.ts"
import { definitionTypes, UnusableDefinition } from "./crd/definition-types.ts"
import type { Terminal } from "./terminal/terminal.ts"

const options = {
  output: optional("-o FILE", "write to a file instead of standard output"),
  force: flag({ short: "f", help: "overwrite the file if it exists" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel crd",
  summary: "Prints the CustomResourceDefinitions of Simulations, or TypeScript types of other ones.",
  description: [
    "Without arguments: the definitions of Simulation and SimulationRoot, for kubectl apply. SimKube's manifests and tools work with them; " +
      "docs/reference/simulation-api.md describes the fields.",
    "types FILE: an interface for each served version of each CustomResourceDefinition in FILE, which may be YAML or JSON and hold several. " +
      "docs/guides/controllers.md shows a controller that uses them.",
  ],
  options,
  operand: {
    placeholder: "types FILE",
    help: "types: print types; FILE: of these definitions, or - for standard input",
    isRepeated: true,
    choices: ["types"],
  },
  exitCodes: { failed: "the file cannot be read, or has no definition with a served version" },
  examples: [
    "reel crd | kubectl apply --server-side -f -",
    "reel crd types simplepod.yaml -o simplepod-types.ts",
    "kubectl get crd simplepods.slinky.dev -o yaml | reel crd types -",
  ],
  seeAlso: ["reel run", "docs/guides/controllers.md", "docs/reference/simulation-api.md"],
}

export const crdCommand = (): Command =>
  command(syntax, async (given, terminal, [what, file = "", unexpected]) => {
    if (what === undefined) return print(given, terminal, renderManifests(simulations(), header))
    if (what === "types" && file !== "" && unexpected === undefined) return print(given, terminal, await typesIn(file))
    return problemOf(what, file, unexpected)
  })

const header = "Simulations for kubereel and SimKube: docs/reference/simulation-api.md"

const simulations = () => simulationDefinitions().map((object) => ({ object, comments: [] }))

const problemOf = (what: string, file: string, unexpected: string | undefined): string => {
  if (what !== "types")
    return `${quoted(what)}: only types can be printed; the definitions are printed without arguments`
  if (file === "") return "types needs the FILE with the definitions"
  return `unexpected argument ${quoted(unexpected ?? "")}`
}

/** Writes a text to where the options say. */
const print = async (
  { output, force }: OptionValues<typeof options>,
  { standardOutput }: Terminal,
  text: string,
): Promise<ExitCode> => {
  if (output === undefined || output === "-") {
    standardOutput.write(text)
    return exitCodes.ok
  }
  await writeWholeFile(output, Buffer.from(text), { force, mode: 0o666 })
  return exitCodes.ok
}

/** Rejects with CommandFailed. */
const typesIn = async (file: string): Promise<string> => {
  try {
    return definitionTypes(await read(file))
  } catch (error) {
    if (!(error instanceof UnusableDefinition)) throw error
    throw new CommandFailed(`${file === "-" ? "standard input" : file} ${error.problem}`)
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
