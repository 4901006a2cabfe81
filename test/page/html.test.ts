/** Whatever a text is, it stays text on a page, and looks like what it is. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { escaped, html } from "../../src/page/html.ts"

describe("a text on a page", () => {
  test("ends neither an element nor an attribute", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(escaped(text)).not.toMatch(/[<>"']/)
        expect(escaped(text).isWellFormed()).toBe(true)
        expect(String(html`<a title="${text}">${text}</a>`).match(/["<>]/g)).toHaveLength(6)
      }),
    )
  })

  test("does not look like another one", () => {
    expect(escaped("web-\u202egnp.exe\u2066\u0000\u0085")).toBe("web-\ufffdgnp.exe\ufffd\ufffd\ufffd")
    expect(escaped("naïve 名前 🚀\n\t")).toBe("naïve 名前 🚀\n\t")
  })
})
