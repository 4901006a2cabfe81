import { execFileSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isInstalled } from "../../harness/installed-program.ts"
import { linesOf, type ShellDirectory, shellDirectory } from "./real-shell.ts"

const skipped = isInstalled("fish") ? undefined : "fish is not installed"

describe.skipIf(skipped !== undefined)(`fish${skipped === undefined ? "" : ` (${skipped})`}`, () => {
  let place: ShellDirectory
  beforeAll(async () => {
    place = await shellDirectory("fish")
  })
  afterAll(() => place[Symbol.dispose]())

  /** Candidates without their meanings. */
  const complete = (line: string): ReadonlyArray<string> =>
    linesOf("fish", ["--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', place.script, line], place).map(
      (candidate) => candidate.split("\t")[0] ?? "",
    )

  test("the script has no mistakes", () => {
    execFileSync("fish", ["-n", place.script])
  })

  test("shows what a command and an option do", () => {
    const meanings = linesOf("fish", ["--no-config", "-c", `source ${place.script}; complete -C "reel pau"`], place)
    expect(meanings).toEqual(["pause\tPauses a Simulation: the trace's time stops within a second"])
  })

  test.each([
    ["commands and aliases", "reel va", ["val", "validate"]],
    ["options", "reel export --fo", ["--force", "--format"]],
    ["kinds", "reel get statefuls", ["statefulsets"]],
    ["no kind twice", "reel get pods statefuls", []],
    ["options of an alias", "reel rm --w", ["--wait"]],
    ["options of a variant", "reel k8s --modu", ["--modules"]],
    ["the values of an option", "reel export --format ", ["kwok", "ndjson", "simkube"]],
    ["the values of a short option", "reel validate -o s", ["sarif"]],
    ["values after =", "reel export --format=nd", ["--format=ndjson"]],
    ["files for an option", "reel export --output rec", ["recent.txt", "recording/"]],
    ["files", "reel convert tw", ["two words.ndjson"]],
    ["only directories for a directory", "reel record -d rec", ["recording/"]],
    ["nothing for a value that is free", "reel export --start ", []],
    ["subcommands", "reel store ", ["backup", "compact", "info", "salvage", "verify"]],
    ["no second subcommand", "reel store verify ", []],
    ["commands to get help for", "reel help ex", ["exit-codes", "export"]],
    ["shells", "reel completions ", ["bash", "fish", "powershell", "zsh"]],
    ["nothing for a command that does not exist", "reel exprot ", []],
  ])("completes %s", (_, line, expected) => {
    expect(complete(line).toSorted()).toEqual(expected)
  })
})
