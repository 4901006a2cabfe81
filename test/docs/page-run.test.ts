import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { runPage } from "./page-run.ts"

const given = "<!-- given: greeting -->\n"

/** Runs a page with these blocks; returns its directory and the lines that ran. */
const run = async (...blocks: ReadonlyArray<string>) => {
  const directory = temporaryDirectory()
  const done = await runPage({
    page: "page.md",
    markdown: blocks.join("\n"),
    directory,
    environment: { PATH: process.env.PATH },
    givens: { greeting: (path) => writeFileSync(path, "hello\n") },
    isIncluded: () => true,
  })
  return { done, of: (name: string) => readFileSync(join(directory, name), "utf8") }
}
const sh = (...lines: ReadonlyArray<string>): string => `\`\`\`sh\n${lines.join("\n")}\n\`\`\``

describe("A page", () => {
  test("is one shell: variables and folders are those that earlier blocks left", async () => {
    const { done, of } = await run(sh("mkdir a; cd a", "export X=1"), "text", sh("echo $X > x"))
    expect([done, of("a/x")]).toEqual([[1, 6], "1\n"])
  })

  test("fails at a command that ends with another code than 0, and names the line and the command", async () => {
    await expect(run(sh("true", "echo why; false | cat", "true"))).rejects.toThrow(
      "page.md:1: exit code 1 of\necho why; false | cat\nwhy",
    )
  })

  test("may say on a command's line which code it may end with", async () => {
    await expect(run(sh("sh -c 'exit 3'   # exit code 3 if it is so"))).resolves.toMatchObject({ done: [1] })
    await expect(run(sh("sh -c 'exit 4'   # exit code 3 if it is so"))).rejects.toThrow("exit code 4")
    await expect(run(sh("sh -c \\", "  'exit 3'   # exit code 3"))).resolves.toMatchObject({ done: [1] })
  })

  test("may say why a block is not run", async () => {
    expect((await run(`${sh("false")}\n<!-- not run: it fails -->\n`, sh("true"))).done).toEqual([6])
  })

  test("has what its reader is given, and the files that it shows", async () => {
    const shown = "```yaml\n# a.yml\nb: c\n```"
    const { of } = await run(shown, `${sh("cat greeting a.yml > both")}\n${given}`)
    expect(of("both")).toBe("hello\n# a.yml\nb: c\n")
  })

  test("shows what a command prints, other figures aside", async () => {
    const shown = (line: string): string => `\`\`\`text\n${line}\n\`\`\`\n<!-- printed by: echo -->\n`
    const command = sh("echo took 3.5 ms; echo more")
    expect((await run(command, shown("took   1,200 s"))).done).toEqual([1, 4])
    await expect(run(command, shown("takes 3.5 ms"))).rejects.toThrow('page.md:4: "takes 3.5 ms" is not printed')
  })

  test("goes on when what runs on has said so, and ends it with Ctrl-C", async () => {
    const server = (code: number): string =>
      `${sh(`sh -c 'trap "echo bye > said; exit ${code}" INT; echo started; while :; do sleep 0.05; done'`)}\n<!-- runs on: started -->\n`
    const { done, of } = await run(server(0), sh("true"))
    expect([done, of("said")]).toEqual([[1, 6], "bye\n"])
    await expect(run(server(5))).rejects.toThrow("after Ctrl-C it ended with exit code 5")
  })
})
