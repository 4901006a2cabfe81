/** YAML of the page: what kubectl prints, and what a parser reads back. */
import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { yamlLines } from "../../../src/ui/object/yaml.ts"

const read = (text: string): unknown => parse(text, { version: "1.1", merge: false })

/** Printed by kubectl 1.32: `kubectl annotate --local -f FILE -o yaml`. */
const printed = readFileSync(new URL("printed-by-kubectl.txt", import.meta.url), "utf8")

describe("an object as YAML", () => {
  test("is what kubectl prints, to the character", () => {
    expect(`${yamlLines(read(printed)).join("\n")}\n`).toBe(printed)
  })

  test("is read back by a parser as it was", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.string({ unit: fc.constantFrom(..." \n\t:#-?'\"|>{}[],&*!%@`~=<.\\abn01_+eyxo"), maxLength: 120 }),
      fc.constantFrom("no", "0o7", "1:30", "2020-01-01", "~", ".5", "<<", "=", "---", "a: b", "- a", "x".repeat(200)),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
        fc.maxSafeInteger(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(
          text.filter((key) => key !== "__proto__"),
          tie("value"),
          { maxKeys: 4 },
        ),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("a", "b", "c"), value), (object) => {
        expect(read(`${yamlLines(object).join("\n")}\n`)).toEqual(JSON.parse(JSON.stringify(object)))
      }),
    )
  })

  test("shows every character that would not be seen", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(yamlLines({ a: text, [text]: 1 }).join("")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      }),
    )
  })
})
