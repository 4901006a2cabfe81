/** What is inlined into the one file stays data, and only the page's own script may run. */
import { hash } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { inlinedPage, scriptJson } from "../../src/page/index.ts"

describe("a page in one file", () => {
  test("allows its own script and style by their hashes, and nothing else", () => {
    const page = { script: 'const end = "</script><!--"', style: "p { content: '</style>' }" }
    const { head, tail } = inlinedPage(page, { title: "<b>&", source: {} })
    const script = /<script type="module">(.*)<\/script>\n<\/body>/s.exec(tail)?.[1] ?? ""
    const style = /<style>(.*)<\/style>/s.exec(head)?.[1] ?? ""
    for (const text of [script, style]) expect(head).toContain(`'sha256-${hash("sha256", text, "base64")}'`)
    expect(script).toBe('const end = "<\\/script><\\!--"')
    expect(style).not.toMatch(/<\/style/i)
    expect(head).toContain("default-src 'none'; script-src 'sha256-")
    expect(head).toContain("<title>&lt;b&gt;&amp;</title>")
  })

  test("keeps any text of a trace within its block", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const source = { text: `${text}</script><script>\u2028` }
        const json = scriptJson(source)
        expect(json).not.toMatch(/[<\u2028\u2029]/)
        expect(JSON.parse(json)).toEqual(source)
      }),
    )
  })
})
