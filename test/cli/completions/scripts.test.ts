import { expect, test } from "vitest"
import { completionsCommand } from "../../../src/cli/completions.ts"
import { capturedTerminal } from "../captured-terminal.ts"
import { someCommands } from "./some-commands.ts"

const shells = ["bash", "zsh", "fish", "powershell"]

const run = async (...argv: ReadonlyArray<string>) => {
  const terminal = capturedTerminal()
  const code = await completionsCommand(someCommands).run(argv, terminal)
  return { code, output: terminal.standardOutput.text(), error: terminal.standardError.text() }
}

test.each(shells)("the script for %s completes commands, options, their values, files and words", async (shell) => {
  const { code, output } = await run(shell)
  expect(code).toBe(0)
  expect(output).toMatchSnapshot()
})

test.each(shells)(
  "the script for %s is plain ASCII, which every locale and code page reads the same",
  async (shell) => {
    expect((await run(shell)).output).toMatch(/^[\t\n\x20-\x7e]*$/)
  },
)

test("a shell that has no script is a usage error that names those that have one", async () => {
  expect(await run("tcsh")).toEqual({
    code: 2,
    output: "",
    error:
      'reel completions: there is no script for "tcsh": expected bash, zsh, fish or powershell\nTry "reel completions --help".\n',
  })
  expect((await run("constructor")).code).toBe(2)
})

test("a shell is required", async () => {
  expect((await run()).error).toContain("missing argument: expected bash | zsh | fish | powershell")
})
