import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { flag, list, oneOf, optional, withDefault } from "../../src/cli/command-line/arguments.ts"
import { type CommandEntry, command } from "../../src/cli/command-line/command.ts"
import { completionsCommand } from "../../src/cli/completions.ts"
import { commands } from "../../src/cli/reel.ts"
import { isInstalled } from "../harness/installed-program.ts"
import { ran } from "./commands-in.ts"

const shells = ["bash", "zsh", "fish", "powershell"] as const

const run = (some: ReadonlyArray<CommandEntry>, ...argv: ReadonlyArray<string>) => ran(completionsCommand(some), argv)

/** Two commands with every sort of option and operand that completions distinguish. */
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
const someCommands: ReadonlyArray<CommandEntry> = [
  { name: "tape", aliases: ["t"], summary: tape.syntax.summary, load: () => Promise.resolve(tape) },
  { name: "deck", summary: deck.syntax.summary, load: () => Promise.resolve(deck) },
]

describe("an answer to a shell or to kubectl", () => {
  test.each([
    ["is commands and aliases with what they do", [""], /^tape\tCopies what's on a tape\nt\t.*\ndeck\t.*\n:4\n$/],
    ["is commands if no word is given at all", [], /^tape\t/],
    ["has the options of every command where there is none yet", ["--v"], "--version\tshow the version\n:4\n"],
    ["has options with their meaning", ["tape", "--fo"], "--format\ta format\n:4\n"],
    ["has a meaning that fits beside the option", ["tape", "--k"], /--keep\t.{1,80}\.\.\.\n/],
    ["has options of an alias", ["t", "--data"], "--data-dir\twhere it is\n:4\n"],
    ["has short options", ["tape", "-h"], "-h\tshow help\n:4\n"],
    ["has values of an option", ["tape", "--format", ""], "ndjson\nkwok\n:4\n"],
    ["has values after =, without what is before it", ["tape", "--format=k"], "kwok\n:4\n"],
    ["has nothing after = of an option without a value", ["tape", "--keep="], ":4\n"],
    ["has nothing for a free value", ["tape", "-K", "p"], ":4\n"],
    ["asks for files", ["tape", "-o", ""], ":0\n"],
    ["asks for files as an operand", ["tape", "-k", ""], ":0\n"],
    ["asks for directories", ["tape", "--data-dir", ""], ":16\n"],
    ["has subcommands", ["deck", "w"], "wind\n:4\n"],
    ["has no second subcommand", ["deck", "wind", ""], ":4\n"],
    ["has no options after --", ["tape", "--", "--fo"], ":0\n"],
    ["has nothing for a command that does not exist", ["tpae", ""], ":4\n"],
  ])("%s", async (_, words, expected) => {
    const { code, output } = await run(someCommands, "answer", "--", ...words)
    expect(code).toBe(0)
    if (typeof expected === "string") expect(output).toBe(expected)
    else expect(output).toMatch(expected)
  })

  test("has the options of a variant", async () => {
    expect((await run(commands, "answer", "--", "k8s", "--modu")).output).toMatch(/^--modules\t/)
  })
})

test.each(shells)(
  "the script for %s is plain ASCII, which every locale and code page reads the same",
  async (shell) => {
    expect((await run(commands, shell)).output).toMatch(/^[\t\n\x20-\x7e]+$/)
  },
)

test.each([
  ["tcsh", 'there is no script for "tcsh": expected bash, zsh, fish or powershell'],
  ["constructor", 'there is no script for "constructor"'],
  ["bash again", 'unexpected argument "again"'],
  ["", "missing argument: expected bash | zsh | fish | powershell"],
])("%j is a usage error", async (words, problem) => {
  const { code, error } = await run(commands, ...words.split(" ").filter((word) => word !== ""))
  expect({ code, error }).toEqual({ code: 2, error: expect.stringContaining(problem) })
})

// The scripts in shells that are installed here. They ask a `reel` that knows the answers to the lines below, which this process made; for other words it is the
// program of this checkout, which takes as long as all else together.

/** What is typed after `reel`. */
const lines = [
  ...["pau", "export --fo", "export --form", "export --format nd", "export --format=nd", "export --owned="],
  ...["export --output rece", "export --output=rec", "convert tw", "record -d rec", "export --start rece"],
  "export --start ",
]

const root = fileURLToPath(new URL("../..", import.meta.url))
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-completions-"))
  for (const shell of shells) writeFileSync(join(directory, `script.${shell}`), (await run(commands, shell)).output)
  for (const name of ["programs", "answers"]) mkdirSync(join(directory, name))
  const known = 'known=answers/$(IFS=_; printf %s "$*" | tr / .)'
  const program = join(root, "bin/reel.js")
  const text = `#!/bin/sh\n${known}\nif [ -f "$known" ]; then cat "$known"; else exec "${program}" "$@"; fi\n`
  writeFileSync(join(directory, "programs", "reel"), text, { mode: 0o755 })
  for (const line of lines) {
    const words = line.split(" ")
    const { output } = await run(commands, "answer", "--", ...words)
    writeFileSync(join(directory, "answers", ["completions", "answer", "--", ...words].join("_")), output)
  }
  mkdirSync(join(directory, "recording"))
  for (const name of ["recent.txt", "two words.ndjson"]) writeFileSync(join(directory, name), "")
})
afterAll(() => rmSync(directory, { recursive: true }))

const linesOf = (program: string, argv: ReadonlyArray<string>): ReadonlyArray<string> =>
  execFileSync(program, argv, {
    cwd: directory,
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: [join(directory, "programs"), dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: directory,
      LC_ALL: "C",
    },
  })
    .split("\n")
    .filter((line) => line !== "")

describe.skipIf(!isInstalled("bash"))("bash (if it is installed)", () => {
  /** Words as readline cuts them: at spaces, and around each `=`. The last one is completed. */
  const complete = (...words: ReadonlyArray<string>): ReadonlyArray<string> => {
    const calling = `source script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reel; printf '%s\\n' "\${COMPREPLY[@]}"`
    return linesOf("bash", ["--norc", "-c", calling, "bash", "reel", ...words])
  }

  test("sources the script in a shell that stops at errors, and then completes reel by it", () => {
    const printed = linesOf("bash", ["--norc", "-euo", "pipefail", "-c", "source script.bash; complete -p reel"])
    expect(printed).toEqual(["complete -F _reel reel"])
  })

  test.each([
    ["commands and aliases", ["va"], ["val", "validate"]],
    ["options", ["export", "--fo"], ["--force", "--format"]],
    ["values after =", ["export", "--format", "=", "nd"], ["ndjson"]],
    ["values right after =", ["export", "--owned", "="], ["exclude", "include"]],
    ["files after =", ["export", "--output", "=", "rec"], ["recent.txt", "recording"]],
    ["files with spaces", ["convert", "tw"], ["two words.ndjson"]],
    ["only directories for a directory", ["record", "-d", "rec"], ["recording"]],
    ["nothing for a value that is free", ["export", "--start", ""], []],
  ])("completes %s", (_, words, expected) => {
    expect(complete(...words).toSorted()).toEqual(expected)
  })
})

describe.skipIf(!isInstalled("fish"))("fish (if it is installed)", () => {
  const complete = (line: string): ReadonlyArray<string> =>
    linesOf("fish", ["--no-config", "-c", 'source script.fish; complete -C "$argv[1]"', line])

  test("shows what a command does", () => {
    expect(complete("reel pau")).toEqual(["pause\tPauses a Simulation: the trace's time stops within a second"])
  })

  test.each([
    ["options", "reel export --fo", ["--force", "--format"]],
    ["values after =", "reel export --format=nd", ["--format=ndjson"]],
    ["files after =", "reel export --output=rec", ["--output=recent.txt", "--output=recording/"]],
    ["files", "reel convert tw", ["two words.ndjson"]],
    ["only directories for a directory", "reel record -d rec", ["recording/"]],
    ["nothing for a value that is free", "reel export --start ", []],
  ])("completes %s", (_, line, expected) => {
    const words = complete(line).map((candidate) => candidate.split("\t")[0])
    expect(words.toSorted()).toEqual(expected)
  })
})

/** What a user would have in ~/.zshrc, with a `reel` that prints the words that it is called with, unless the script asks it. */
const zshConfiguration = `
PS1='ready> '
unsetopt beep zle_bracketed_paste
autoload -Uz compinit
compinit -u -D
source ./script.zsh
reel() {
  if [[ $1 == completions ]]; then command reel "$@"; else print -r -- "typed:\${(j:|:)@}"; fi
}
`

/** zsh completes only in its line editor, so keys are typed into an interactive one, at a pseudo-terminal of zsh's own module. */
const typing = `
zmodload zsh/zpty
zpty shell 'TERM=dumb ZDOTDIR=./zsh zsh -i'
for keys; do
  zpty -r shell output '*ready> ' || exit 1
  zpty -w -n shell "$keys"$'\\n'
  zpty -r shell output $'*typed:*\\r' || exit 1
  print -r -- "\${\${output##*typed:}%%$'\\r'*}"
done
zpty -d shell
`

const zshCases = [
  ["commands", "reel expo\t", "export"],
  ["options", "reel export --form\t", "export|--format"],
  ["the values of an option", "reel export --format nd\t", "export|--format|ndjson"],
  ["values after =", "reel export --format=nd\t", "export|--format=ndjson"],
  ["files for an option", "reel export --output rece\t", "export|--output|recent.txt"],
  ["files with spaces", "reel convert tw\t", "convert|two words.ndjson"],
  ["only directories for a directory", "reel record -d rec\t", "record|-d|recording"],
  ["nothing for a value that is free", "reel export --start rece\t", "export|--start|rece"],
] as const

describe.skipIf(!isInstalled("zsh"))("zsh (if it is installed)", () => {
  let typed: ReadonlyArray<string>
  beforeAll(() => {
    mkdirSync(join(directory, "zsh"))
    writeFileSync(join(directory, "zsh", ".zshrc"), zshConfiguration)
    typed = linesOf("zsh", ["-f", "-c", typing, "zsh", ...zshCases.map(([, keys]) => keys)])
  })

  // zsh adds the slash of a directory, and takes it away again if the line ends.
  test.each(zshCases.map(([what, , line], index) => [what, line, index] as const))("completes %s", (_, line, index) => {
    expect(typed[index]).toBe(line)
  })

  test("the script also works as a file of fpath, which zsh runs as the function", () => {
    const inPath = `fpath=(./functions $fpath); mkdir functions; cp script.zsh functions/_reel; autoload -Uz compinit; compinit -u -D; print -r -- $_comps[reel]`
    expect(linesOf("zsh", ["-f", "-c", inPath])).toEqual(["_reel"])
  })
})
