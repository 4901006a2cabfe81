import { describe, expect, test } from "vitest"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { applySchemaDefaults } from "../../../src/sandbox/schema/custom/schema-defaults.ts"
import { strictFieldProblems, undecodable, unknownFields } from "../../../src/sandbox/schema/field-check.ts"
import { recordedObjects } from "./recorded-objects.ts"

const catalogue = new SchemaCatalogue()
const objects = recordedObjects().filter(({ gvk }) => catalogue.of(gvk) !== undefined)

describe("objects that the real server sent", () => {
  test("are many and of many kinds", () => {
    expect(objects.length).toBeGreaterThan(300)
    expect(new Set(objects.map(({ gvk }) => gvk.kind)).size).toBeGreaterThan(7)
  })

  test("have no unknown fields, no wrong types and nothing left to default", () => {
    const complaints: unknown[] = []
    for (const { gvk, text, where } of objects) {
      const type = catalogue.of(gvk)
      if (type === undefined) throw new Error("filtered above")
      const value: unknown = JSON.parse(text)
      const problems = [
        ...unknownFields(type, value),
        ...strictFieldProblems(type, text, value),
        undecodable(type, value),
      ].filter((problem) => problem !== undefined)
      applySchemaDefaults(type, value)
      if (problems.length > 0 || JSON.stringify(value) !== text)
        complaints.push({ where, problems, defaulted: firstDifference(text, JSON.stringify(value)) })
    }
    expect(complaints).toEqual([])
  })
})

const firstDifference = (before: string, after: string): string => {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  return after.slice(Math.max(0, at - 60), at + 60)
}
