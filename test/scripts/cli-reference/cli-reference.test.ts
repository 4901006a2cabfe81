import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import type { Documented } from "../../../scripts/cli-reference/parts.ts"
import { documentedCommands, updated } from "../../../scripts/cli-reference.ts"
import { flag, oneOf, optional } from "../../../src/cli/command-line/arguments.ts"

const kubeconfig = optional("FILE", "kubeconfig; default: KUBECONFIG")
const context = optional("NAME", "context of it")

const tape: Documented = {
  syntax: {
    name: "reel tape",
    summary: "Copies a tape.",
    description: ["docs/guides/replay.md says more; reel deck winds it first."],
    options: {
      output: optional("-o FORMAT", "text, or json for a program | a script", oneOf("text", "json")),
      kubeconfig,
      context,
    },
    operand: { placeholder: "TAPE", help: "the tape", count: 1 },
    exitCodes: { failed: "there is no TAPE" },
    environment: [
      ["KUBECONFIG", "kubeconfigs"],
      ["HTTPS_PROXY", "a proxy"],
    ],
    examples: ["reel tape a"],
    seeAlso: ["reel deck", "docs/reference/exit-codes.md"],
  },
  aliases: ["t"],
}
const deck: Documented = {
  syntax: {
    name: "reel deck",
    summary: "Winds.",
    options: { fast: flag({ help: "at once" }), kubeconfig, context },
    environment: [["HTTPS_PROXY", "a proxy"]],
  },
  aliases: [],
}
const both = [tape, deck]

const page = `# Commands

<!-- generated: all commands -->
old
<!-- end of the generated part -->

By hand.

## reel tape

By hand too.
`

describe("the page", () => {
  const after = updated(page, both)

  test("keeps what was written by hand, and gets a part for each command: below its heading, or at the end", () => {
    expect(after).not.toContain("old")
    expect(after).toMatch(
      /end of the generated part -->\n\nBy hand.\n\n## reel tape\n\n<!-- generated: reel tape -->\n/,
    )
    expect(after).toMatch(
      /<!-- end of the generated part -->\n\nBy hand too.\n\n## reel deck\n\n<!-- generated: reel deck -->/,
    )
  })

  test("does not change when it is generated again", () => {
    expect(updated(after, both)).toBe(after)
  })

  test("has everything that the command says of itself", () => {
    expect(after.split("<!-- generated: reel tape -->\n")[1]?.split("<!-- end")[0]).toBe(`
\`\`\`text
reel tape [OPTION]... TAPE
\`\`\`

Copies a tape.

[guides/replay.md](../guides/replay.md) says more; \`reel deck\` winds it first.

Also reel t.

| option | meaning |
| --- | --- |
| \`TAPE\` | the tape |
| \`-o\`, \`--output FORMAT\` | \`text\`, or \`json\` for a program \\| a script |
| \`--kubeconfig FILE\` | kubeconfig; default: \`KUBECONFIG\` |
| \`--context NAME\` | context of it |

| exit code | meaning |
| --- | --- |
| 1 | there is no \`TAPE\` |

| variable | meaning |
| --- | --- |
| \`KUBECONFIG\` | kubeconfigs |
| \`HTTPS_PROXY\` | a proxy |

\`\`\`sh
reel tape a
\`\`\`

See also [\`reel deck\`](#reel-deck), [reference/exit-codes.md](exit-codes.md).

`)
  })

  test("refers to the command above that has two of the same options, and repeats what is alone", () => {
    const part = after.split("<!-- generated: reel deck -->\n")[1] ?? ""
    expect(part).toContain("| `--kubeconfig FILE`, `--context NAME` | as for [`reel tape`](#reel-tape) |\n")
    expect(part).toContain("| `HTTPS_PROXY` | a proxy |\n")
  })

  test.each([
    [
      "of no command",
      "<!-- generated: reel tpae -->\n<!-- end of the generated part -->\n",
      "there is no command reel tpae",
    ],
    ["without an end", "<!-- generated: reel tape -->\n", "the generated part of reel tape does not end"],
    ["before another begins", "<!-- generated: reel tape -->\n<!-- generated: reel deck -->\n", "does not end"],
    [
      "twice",
      "<!-- generated: reel deck -->\n<!-- end of the generated part -->\n".repeat(2),
      "two generated parts of reel deck",
    ],
  ])("is refused with a part %s", (_, text, problem) => {
    expect(() => updated(text, both)).toThrow(problem)
  })
})

test("docs/reference/cli.md says what the commands say (npm run docs:cli)", async () => {
  const text = readFileSync(fileURLToPath(new URL("../../../docs/reference/cli.md", import.meta.url)), "utf8")
  expect(updated(text, await documentedCommands())).toBe(text)
})
