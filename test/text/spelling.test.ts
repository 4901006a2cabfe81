import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { pointerFault } from "../../src/kube/index.ts"
import { nearest, quoted } from "../../src/text/index.ts"

describe("the nearest word", () => {
  test.each([
    ["exprot", "export"],
    ["recrod", "record"],
    ["Export", "export"],
    ["exports", "export"],
    ["xport", "export"],
    ["import", "export"],
    ["help", undefined],
    ["", undefined],
  ])("to %j is %j", (word, expected) => {
    expect(nearest(word, ["record", "export"])).toBe(expected)
  })

  test("is the word itself if that is a candidate, and otherwise a candidate", () => {
    const word = fc.string({ minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(word, fc.array(word), (wanted, candidates) => {
        expect(nearest(wanted, [...candidates, wanted])?.toLowerCase()).toBe(wanted.toLowerCase())
        const found = nearest(wanted, candidates)
        if (found !== undefined) expect(candidates).toContain(found)
      }),
    )
  })

  test("is not searched if the word is absurdly long", () => {
    expect(nearest("a".repeat(100_000), ["a".repeat(100_000)])).toBeUndefined()
  })
})

test("a quoted text is short, on one line and contains no terminal control characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(quoted(text)).toMatch(/^"[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*"$/u)
      expect(quoted(text).length).toBeLessThan(650)
    }),
  )
  expect(quoted("a\u202eb")).toBe('"a\\u{202e}b"')
})

test("a JSON pointer built from any keys is valid; without its slash it is not", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (keys) => {
      const pointer = keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
      expect(pointerFault(pointer)).toBeUndefined()
      if (keys.length > 0) expect(pointerFault(`x${pointer}`)).toBe("does not start with /")
      expect(pointerFault(`${pointer}/~`)).toMatch(/neither ~0/)
    }),
  )
})
