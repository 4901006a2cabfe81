import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { mergeRecorded } from "../../../src/rehearsal/feed/recorded-merge.ts"

const objects = fc.dictionary(
  fc.constantFrom("a", "b", "c"),
  fc.oneof(
    fc.integer({ min: 1, max: 3 }),
    fc.constantFrom("x", "y"),
    fc.dictionary(fc.constantFrom("d", "e"), fc.integer({ min: 1, max: 3 }), { minKeys: 1 }),
  ),
)

describe("A merge of what history changed into the present", () => {
  test("changes nothing if history changed nothing, and gives what was recorded if nobody else changed anything", () => {
    void fc.assert(
      fc.property(objects, objects, (before, other) => {
        expect(mergeRecorded(before, before, other)).toEqual(other)
        expect(mergeRecorded(before, other, before)).toEqual(other)
      }),
    )
  })

  test("has the recorded value wherever history changed a field, and the present one elsewhere", () => {
    void fc.assert(
      fc.property(objects, objects, objects, (before, after, present) => {
        const merged = mergeRecorded(before, after, present) as Record<string, unknown>
        const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right)
        for (const name of ["a", "b", "c"]) {
          if (same(before[name], after[name])) expect(merged[name]).toEqual(present[name])
          else if (typeof after[name] !== "object") expect(merged[name]).toEqual(after[name])
        }
      }),
    )
  })

  test("merges conditions by type, containers by name, owners by UID, and finalizers as a set", () => {
    const condition = (type: string, status: string) => ({ type, status })
    expect(
      mergeRecorded(
        { status: { conditions: [condition("Ready", "False")] } },
        { status: { conditions: [condition("Ready", "True")] } },
        { status: { conditions: [condition("Mine", "True"), condition("Ready", "False")] } },
      ),
    ).toEqual({ status: { conditions: [condition("Mine", "True"), condition("Ready", "True")] } })
    expect(
      mergeRecorded(
        { metadata: { finalizers: ["theirs"] } },
        { metadata: { finalizers: ["more"] } },
        { metadata: { finalizers: ["own", "theirs"] } },
      ),
    ).toEqual({ metadata: { finalizers: ["own", "more"] } })
  })

  test("takes a list of anything else as one field", () => {
    expect(mergeRecorded({ args: ["a"] }, { args: ["a", "b"] }, { args: ["c"] })).toEqual({ args: ["a", "b"] })
  })
})
