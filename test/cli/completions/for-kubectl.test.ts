import { describe, expect, test } from "vitest"
import { completionsForKubectl } from "../../../src/cli/completions/for-kubectl.ts"
import { someCommands } from "./some-commands.ts"

const complete = (...words: ReadonlyArray<string>): Promise<string> => completionsForKubectl(someCommands, words)

describe("completions for kubectl", () => {
  test("are commands and aliases with what they do, before a directive against files", async () => {
    expect(await complete("")).toBe(
      "tape\tCopies what's on a tape\nt\tCopies what's on a tape\ndeck\tDoes something with a deck\n:4\n",
    )
    expect(await complete("d")).toBe("deck\tDoes something with a deck\n:4\n")
  })

  test("are commands if kubectl gives no word at all", async () => {
    expect(await complete()).toMatch(/^tape\t/)
  })

  test.each([
    ["options with their meaning", ["tape", "--fo"], "--format\ta format\n:4\n"],
    ["options of an alias", ["t", "--data"], "--data-dir\twhere it is\n:4\n"],
    ["values of an option", ["tape", "--format", ""], "ndjson\nkwok\n:4\n"],
    ["values after =, without what is before it", ["tape", "--format=k"], "kwok\n:4\n"],
    ["nothing after = of an option without a value", ["tape", "--keep="], ":4\n"],
    ["nothing for a free value", ["tape", "-K", "p"], ":4\n"],
    ["files", ["tape", "-o", ""], ":0\n"],
    ["files for an operand", ["tape", "-k", ""], ":0\n"],
    ["directories", ["tape", "--data-dir", ""], ":16\n"],
    ["subcommands", ["deck", "w"], "wind\n:4\n"],
    ["no second subcommand", ["deck", "wind", ""], ":4\n"],
    ["no options after --", ["tape", "--", "--fo"], ":0\n"],
    ["nothing for a command that does not exist", ["tpae", ""], ":4\n"],
  ])("are %s", async (_, words, expected) => {
    expect(await complete(...words)).toBe(expected)
  })
})
