/**
 * zsh completes only in its line editor, so keys are typed into an interactive one, at a pseudo-terminal of zsh's own module. `reel` is a
 * function there that prints its arguments.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isInstalled } from "../../harness/installed-program.ts"
import { linesOf, type ShellDirectory, shellDirectory } from "./real-shell.ts"

const skipped = isInstalled("zsh") ? undefined : "zsh is not installed"

/** What a user would have in ~/.zshrc, and what makes the output easy to read. */
const configuration = `
PS1='ready> '
unsetopt beep zle_bracketed_paste
autoload -Uz compinit
compinit -u -D
source ./script
reel() { print -r -- "typed:\${(j:|:)@}" }
`

/** Types each argument and Enter, and prints the words that the function got. */
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

const cases = [
  ["commands", "reel expo\t", ["export"]],
  ["options", "reel export --form\t", ["export", "--format"]],
  ["options of an alias", "reel rm --wa\t", ["rm", "--wait"]],
  ["options of a variant", "reel k8s --modu\t", ["k8s", "--modules"]],
  ["the values of an option", "reel export --form\tnd\t", ["export", "--format=ndjson"]],
  ["the values of a short option", "reel validate -o s\t", ["validate", "-o", "sarif"]],
  ["files for an option", "reel export --output rece\t", ["export", "--output", "recent.txt"]],
  ["files with spaces", "reel convert tw\t", ["convert", "two words.ndjson"]],
  ["only directories for a directory", "reel record -d rec\t", ["record", "-d", "recording"]],
  ["nothing for a value that is free", "reel export --start rece\t", ["export", "--start", "rece"]],
  ["subcommands, then options", "reel store verif\t --data-d\trec\t", ["store", "verify", "--data-dir=recording"]],
  ["files after subcommands", "reel crd typ\t rece\t", ["crd", "types", "recent.txt"]],
  ["commands to get help for", "reel help exit\t", ["help", "exit-codes"]],
  ["kinds, then a name", "reel get statefuls\t web", ["get", "statefulsets", "web"]],
  ["shells", "reel completions z\t", ["completions", "zsh"]],
  ["options between repeated ones", "reel record -vv --log-format j\t", ["record", "-vv", "--log-format", "json"]],
] as const

describe.skipIf(skipped !== undefined)(`zsh${skipped === undefined ? "" : ` (${skipped})`}`, () => {
  let place: ShellDirectory
  let typed: ReadonlyArray<string>
  beforeAll(async () => {
    place = await shellDirectory("zsh")
    mkdirSync(join(place.directory, "zsh"))
    writeFileSync(join(place.directory, "zsh", ".zshrc"), configuration)
    typed = linesOf("zsh", ["-f", "-c", typing, "zsh", ...cases.map(([, keys]) => keys)], place)
  })
  afterAll(() => place[Symbol.dispose]())

  test("the script has no mistakes", () => {
    execFileSync("zsh", ["-n", place.script])
  })

  test.each(cases.map(([what, , words], index) => [what, words, index] as const))("completes %s", (_, words, index) => {
    // zsh adds the slash of a directory and the = of an option, and takes them away again if the line ends.
    expect(typed[index]?.split("|")).toEqual(words)
  })

  test("the script also works as a file of fpath, which zsh runs as the function", () => {
    const place_ = `fpath=(./functions $fpath); mkdir functions; cp script functions/_reel; autoload -Uz compinit; compinit -u -D; print -r -- $_comps[reel]`
    expect(linesOf("zsh", ["-f", "-c", place_], place)).toEqual(["_reel"])
  })
})
