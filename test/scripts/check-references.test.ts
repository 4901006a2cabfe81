import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { anchorsOf, brokenReferences } from "../../scripts/check-references.ts"

describe("the anchors of a page", () => {
  test.each([
    ["# One room", "one-room"],
    ["## Code, `src/kube`: what it is", "code-srckube-what-it-is"],
    ["### [A link](elsewhere.md) and 5 more", "a-link-and-5-more"],
    ["## Über µs", "über-µs"],
  ])("of %s: %s", (heading, anchor) => {
    expect([...anchorsOf(`${heading}\n`)]).toEqual([anchor])
  })

  test("are numbered when headings repeat, and code is no heading", () => {
    expect([...anchorsOf("# A\n\n```sh\n# not this\n```\n\n# A\n")]).toEqual(["a", "a-1"])
  })
})

describe("a reference", () => {
  let root = ""
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  const broken = (file: string, text: string): ReadonlyArray<string> => {
    write(file, text)
    return brokenReferences(root)
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "kubereel-references-"))
    write("docs/page.md", "# Page\n\n## What is here\n")
    write("docs/decisions/0007-a-choice.md", "# 0007 A choice\n")
    write("docs/facts/simkube.md", "| W-07 | a defect |\n")
    write("docs/facts/watch-protocol.md", "### Rule 3\n\n| J7 | a hazard |\n| J20 | another |\n")
    write("src/room/module.ts", "export const one = 1\n")
    write("package.json", '{"scripts": {"lint": "true"}}')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  test.each([
    ["a link to a page that is not there", "[a](other.md)", "docs/other.md does not exist"],
    ["a link to a heading that is not there", "[a](page.md#gone)", "docs/page.md has no heading for #gone"],
    ["a link to a heading of the page itself", "[a](#gone)", "docs/new.md has no heading for #gone"],
    ["a path in code font", "`src/room/gone.ts`", "src/room/gone.ts does not exist"],
    ["a pattern that nothing matches", "`src/room/*.js`", "src/room/*.js does not exist"],
    ["a file name", "see `gone.ts`", "no file is called gone.ts"],
    ["a decision", "see decision 0008", "docs/decisions/0008 does not exist"],
    ["the number of a decision as a path", "docs/decisions/0008", "docs/decisions/0008 does not exist"],
    ["a script of package.json", "after `npm run lint` comes `npm run gone`", "package.json has no script gone"],
    ["a defect", "guards against W-08", "docs/facts/simkube.md does not define W-08"],
    ["a hazard", "told once (J7, J21)", "docs/facts/watch-protocol.md does not define J21"],
    ["a rule", "as rule 4 says", "docs/facts/watch-protocol.md does not define rule 4"],
    ["the second of two rules", "rules 3 and 4", "docs/facts/watch-protocol.md does not define rule 4"],
    ["a section without a page", "see architecture §5", "§ of what? Name the heading of a page (page.md#heading)"],
  ])("is found in a page: %s", (_what, text, problem) => {
    expect(broken("docs/new.md", `# New\n\n${text}\n`)).toEqual([`docs/new.md:3: ${problem}`])
  })

  test.each([
    "[a](page.md#what-is-here), [b](#new), [c](decisions), [d](https://example.com/gone.md)",
    "`src/room/module.ts`, src/room, `src/*/module.ts`, `src/room/NAME.ts`, module.ts, docs/page.md#what-is-here.",
    "decision 0007, docs/decisions/0007, W-07, (J7, J20), rule 3, RFC 9112 §6.1",
    "k8s.io/api/src/gone, node_modules/x/src/gone, dist/gone.js, `[a](gone)`",
  ])("is left alone if it is there, or not ours: %s", (text) => {
    expect(broken("docs/new.md", `# New\n\n${text}\n\n\`\`\`ts\nimport "src/room/gone.ts"\n\`\`\`\n`)).toEqual([])
  })

  test.each([
    ["/** See docs/page.md#gone. */", "docs/page.md has no heading for #gone"],
    [" * which src/room/gone.ts does", "src/room/gone.ts does not exist"],
    ["const a = 1 // src/room/gone.ts", "src/room/gone.ts does not exist"],
    ['test("W-09: is guarded", () => {', "docs/facts/simkube.md does not define W-09"],
  ])("is found in code: %s", (line, problem) => {
    expect(broken("test/new.test.ts", `${line}\n`)).toEqual([`test/new.test.ts:1: ${problem}`])
  })

  test("is not looked for in the strings of code", () => {
    expect(broken("test/new.test.ts", 'write("src/room/gone.ts", "docs/gone.md") // a file\n')).toEqual([])
  })
})
