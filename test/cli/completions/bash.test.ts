/** bash completes with the script as it does for a user: readline calls the function with the words in COMP_WORDS. */
import { execFileSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isInstalled } from "../../harness/installed-program.ts"
import { linesOf, type ShellDirectory, shellDirectory } from "./real-shell.ts"

const skipped = isInstalled("bash") ? undefined : "bash is not installed"

describe.skipIf(skipped !== undefined)(`bash${skipped === undefined ? "" : ` (${skipped})`}`, () => {
  let place: ShellDirectory
  beforeAll(async () => {
    place = await shellDirectory("bash")
  })
  afterAll(() => place[Symbol.dispose]())

  /** Words as readline cuts them: at spaces, and around each `=`. The last one is completed. */
  const complete = (...words: ReadonlyArray<string>): ReadonlyArray<string> =>
    linesOf(
      "bash",
      [
        "--norc",
        "-c",
        `script=$1; shift; source "$script"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reel; printf '%s\\n' "\${COMPREPLY[@]}"`,
        "bash",
        place.script,
        "reel",
        ...words,
      ],
      place,
    )

  test("the script has no mistakes", () => {
    execFileSync("bash", ["-n", place.script])
  })

  test("the function is the one that completes reel", () => {
    const printed = linesOf("bash", ["--norc", "-c", `source ${place.script}; complete -p reel`], place)
    expect(printed).toEqual(["complete -F _reel reel"])
  })

  test("sourcing the script prints nothing and works in a shell that stops at errors", () => {
    expect(linesOf("bash", ["--norc", "-euo", "pipefail", "-c", `source ${place.script}`], place)).toEqual([])
  })

  test.each([
    ["commands and aliases", ["va"], ["val", "validate"]],
    ["options", ["export", "--fo"], ["--force", "--format"]],
    ["options of an alias", ["rm", "--w"], ["--wait"]],
    ["options of a variant", ["k8s", "--modu"], ["--modules"]],
    ["short options", ["export", "-"], expect.arrayContaining(["-o", "-h", "--output"])],
    ["the values of an option", ["export", "--format", ""], ["kwok", "ndjson", "simkube"]],
    ["the values of a short option", ["validate", "-o", "s"], ["sarif"]],
    ["values after =", ["export", "--format", "=", "nd"], ["ndjson"]],
    ["values right after =", ["export", "--owned", "="], ["exclude", "include"]],
    ["files for an option", ["export", "--output", "rec"], ["recent.txt", "recording"]],
    ["files after =", ["export", "--output", "=", "rec"], ["recent.txt", "recording"]],
    ["files with spaces", ["convert", "tw"], ["two words.ndjson"]],
    ["only directories for a directory", ["record", "-d", "rec"], ["recording"]],
    ["nothing for a value that is free", ["export", "--start", ""], []],
    ["subcommands", ["store", ""], ["backup", "compact", "info", "salvage", "verify"]],
    ["no second subcommand", ["store", "verify", ""], []],
    ["files beside subcommands", ["crd", "re"], ["recent.txt", "recording"]],
    ["commands to get help for", ["help", "ex"], ["exit-codes", "export"]],
    ["shells", ["completions", ""], ["bash", "fish", "powershell", "zsh"]],
    ["no options after --", ["convert", "--", "--f"], []],
    ["files after --", ["convert", "--", "rec"], ["recent.txt", "recording"]],
    ["nothing for a command that does not exist", ["exprot", ""], []],
  ])("completes %s", (_, words, expected) => {
    expect(complete(...words).toSorted()).toEqual(expected)
  })
})
