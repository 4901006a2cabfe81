import { existsSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { type CommandSyntax, flag, optional } from "../../../src/cli/command-line/arguments.ts"
import { renderHelp, synopsisOf } from "../../../src/cli/command-line/help.ts"
import { commands } from "../../../src/cli/reel.ts"

const syntax: CommandSyntax = {
  name: "reel tape",
  summary: "Copies a tape.",
  description: ["reel deck winds it first."],
  options: {
    output: optional("-o FILE", "where to write, as reel deck does"),
    keep: flag({ help: "keep it" }),
  },
  operand: { placeholder: "TAPE", help: "the tape", count: 1 },
  exitCodes: { incomplete: "copied in part", failed: "not copied" },
  environment: [["TAPES", "where tapes are"]],
  files: [["~/.tapes", "all tapes"]],
  examples: ["reel tape a -o b"],
  seeAlso: ["reel deck", "docs/tape.md"],
}

describe("help", () => {
  test("has the sections of a manual page, exit codes in their order", () => {
    expect(renderHelp(syntax, 80)).toBe(`Usage: reel tape [OPTION]... TAPE

Copies a tape.

reel deck winds it first.

  TAPE  the tape

Options:
  -o, --output FILE  where to write, as reel deck does
      --keep         keep it
  -h, --help         show this help
      --version      show the version

Exit codes:
    1  not copied
    3  copied in part

Environment:
  TAPES  where tapes are

Files:
  ~/.tapes  all tapes

Examples:
  reel tape a -o b

See also:
  reel deck, docs/tape.md
`)
  })

  test("leaves out sections that a command has nothing for", () => {
    const { name, summary, options } = syntax
    expect(renderHelp({ name, summary, options }, 80)).not.toMatch(/Exit codes|Environment|Files|Examples|See also/)
  })

  test("names commands as they are typed for kubectl, everywhere", () => {
    const help = renderHelp(syntax, 80, "kubectl reel")
    expect(help.match(/kubectl reel/g)).toHaveLength(5)
    expect(help.replaceAll("kubectl reel", "")).not.toContain("reel")
  })
})

test("a synopsis says whether operands are required", () => {
  expect(synopsisOf(syntax)).toBe("reel tape [OPTION]... TAPE")
  expect(synopsisOf({ ...syntax, options: {}, operand: { placeholder: "TAPE", help: "" } })).toBe("reel tape [TAPE]")
  expect(synopsisOf({ name: "reel x", summary: "", options: {} })).toBe("reel x")
})

describe("every command", () => {
  test.each(commands.map(({ name, load }) => [name, load] as const))(
    "%s has examples, which call reel",
    async (_, load) => {
      const { syntax, variants = [] } = await load()
      for (const { examples = [] } of [syntax, ...variants]) expect(examples.join("\n")).toMatch(/\breel\b/)
    },
  )

  test("refers to commands and pages that exist", async () => {
    const names = new Set(commands.map(({ name }) => `reel ${name}`))
    for (const { load } of commands) {
      const { syntax, variants = [] } = await load()
      const references = [syntax, ...variants].flatMap(({ seeAlso = [] }) => seeAlso)
      for (const each of references) {
        if (each.startsWith("docs/")) expect(existsSync(new URL(`../../../${each}`, import.meta.url))).toBe(true)
        else expect(names).toContain(each)
      }
    }
  })
})
