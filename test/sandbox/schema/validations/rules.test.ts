import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { errorText, type StructuralSchema, type ValidationRule } from "../../../../src/apiserver/index.ts"
import { compileRules } from "../../../../src/sandbox/schema/validations/compiled-rules.ts"
import { escapedName } from "../../../../src/sandbox/schema/validations/declared-types.ts"
import { checkCustomObject } from "../../../../src/sandbox/schema/validations/rule-check.ts"
import { ruleProblems } from "../../../../src/sandbox/schema/validations/rule-problems.ts"

const rules = (...all: Array<string | ValidationRule>): Pick<StructuralSchema, "x-kubernetes-validations"> => ({
  "x-kubernetes-validations": all.map((one) => (typeof one === "string" ? { rule: one } : one)),
})
const ofSpec = (spec: StructuralSchema): StructuralSchema => ({
  type: "object",
  properties: { spec: { type: "object", ...spec } },
})

/** The texts of errors, then those of what an update leaves broken. */
const found = (schema: StructuralSchema, spec: unknown, old?: unknown): readonly [string[], string[]] => {
  const before = old === undefined ? undefined : { spec: old }
  const { errors, tolerated } = checkCustomObject(schema, compileRules(schema), { spec }, before)
  return [errors.map(errorText), tolerated.map(errorText)]
}

describe("a rule", () => {
  const size = ofSpec({
    properties: { size: { type: "integer", ...rules({ rule: "self > 0", message: " must be positive " }) } },
  })

  test("that is broken is reported with its message and the type of the value", () => {
    expect(found(size, { size: 0 })).toEqual([['spec.size: Invalid value: "integer": must be positive'], []])
    expect(found(size, { size: 1 })).toEqual([[], []])
    expect(found(size, {})).toEqual([[], []])
  })

  test("that fails is reported as broken, with what went wrong", () => {
    const schema = ofSpec({ properties: { a: { type: "integer" } }, ...rules("1 / self.a > 0", "self.a > 0") })
    expect(found(schema, { a: 0 })[0]).toEqual([
      'spec: Invalid value: "object": division by zero evaluating rule: 1 / self.a > 0',
      'spec: Invalid value: "object": failed rule: self.a > 0',
    ])
    expect(found(schema, {})[0][0]).toContain("no such key: a evaluating rule")
  })

  test("is not looked at if the schema finds a field missing or of a wrong type", () => {
    expect(found(size, { size: "x" })[0]).toEqual([
      'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    ])
  })

  test("may name the reason, and the field that is to blame", () => {
    const broken = (reason: string): ValidationRule => ({
      rule: "false",
      reason,
      fieldPath: ".a['b.c']",
      message: "no",
    })
    const schema = ofSpec({
      properties: { a: { type: "object", additionalProperties: { type: "string" } } },
      ...rules(
        ...["FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid"].map(broken),
      ),
    })
    expect(found(schema, {})[0]).toEqual([
      "spec.a[b.c]: Forbidden: no",
      "spec.a[b.c]: Required value: no",
      'spec.a[b.c]: Duplicate value: "object"',
      'spec.a[b.c]: Invalid value: "object": no',
    ])
  })

  test("may make its message, and falls back to the plain one if that is of no use", () => {
    const message = (messageExpression: string): ValidationRule => ({
      rule: "false",
      message: "plain",
      messageExpression,
    })
    const schema = ofSpec({
      properties: { a: { type: "string" } },
      ...rules(
        message("'not ' + self.a"),
        message("self.?b.orValue('')"),
        message("'a\\nb'"),
        message("self.a + string(1 / 0)"),
      ),
    })
    const typed = ofSpec({ ...schema.properties?.spec, properties: { a: { type: "string" }, b: { type: "string" } } })
    const end = 'spec: Invalid value: "object": '
    expect(found(typed, { a: "x" })[0]).toEqual([`${end}not x`, `${end}plain`, `${end}plain`, `${end}plain`])
  })

  test("sees times, durations, bytes and numbers as what they are", () => {
    const schema = ofSpec({
      properties: {
        at: { type: "string", format: "date-time" },
        day: { type: "string", format: "date" },
        wait: { type: "string", format: "duration" },
        data: { type: "string", format: "byte" },
        ratio: { type: "number" },
        either: { "x-kubernetes-int-or-string": true },
      },
      ...rules(
        "self.at - timestamp('2020-01-01T00:00:00Z') == duration('1h') && self.day.getFullYear() == 2020",
        "self.wait == duration('48h') && self.data == b'abc' && self.ratio == 2.0",
        "self.either == '50%' || self.either == 50",
      ),
    })
    const spec = { at: "2020-01-01T01:00:00Z", day: "2020-02-29", wait: "2 days", data: "YWJj", ratio: 2 }
    expect(found(schema, { ...spec, either: "50%" })).toEqual([[], []])
    expect(found(schema, { ...spec, either: 50 })).toEqual([[], []])
    expect(found(schema, { ...spec, either: 51 })[0]).toHaveLength(1)
  })

  test("sees an embedded resource's kind and name, and compares what is only preserved", () => {
    const schema = ofSpec({
      properties: {
        object: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
          ...rules("self.kind == 'Pod' && self.metadata.name == 'a'", "self == oldSelf"),
        },
      },
    })
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { deep: [1] } }
    expect(found(schema, { object: pod }, { object: structuredClone(pod) })).toEqual([[], []])
    expect(found(schema, { object: pod }, { object: { ...pod, spec: { deep: [2] } } })[0]).toHaveLength(1)
  })

  test("is the last that is looked at when all rules of an object have taken too many steps", () => {
    const schema = ofSpec({
      properties: {
        lists: {
          type: "array",
          items: { type: "array", items: { type: "integer" }, ...rules("self.all(x, self.all(y, x + y >= 0))") },
        },
      },
    })
    const lists = (count: number): unknown => ({ lists: Array.from({ length: count }, () => Array(370).fill(1)) })
    expect(found(schema, lists(5))).toEqual([[], []])
    expect(found(schema, lists(20))[0]).toEqual([
      expect.stringMatching(/^spec.lists\[\d+\].* no further validation rules/),
    ])
  })
})

describe("a rule of a transition", () => {
  const schema = ofSpec({
    properties: {
      name: { type: "string", ...rules("self == oldSelf") },
      once: { type: "string", ...rules({ rule: "!oldSelf.hasValue()", optionalOldSelf: true }) },
      ports: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
        items: {
          type: "object",
          properties: { port: { type: "integer" }, to: { type: "string" } },
          ...rules("self.to == oldSelf.to"),
        },
      },
    },
  })

  test("is checked only against a value that was there before, unless it asks for none", () => {
    expect(found(schema, { name: "a", once: "a" })).toEqual([[], []])
    expect(found(schema, { name: "a" }, {})).toEqual([[], []])
    expect(found(schema, { name: "a" }, { name: "b" })[0]).toHaveLength(1)
    expect(found(schema, { once: "b" }, { once: "a" })[0]).toHaveLength(1)
  })

  test("compares items of a keyed list with those of the same key, wherever they are", () => {
    const [one, two] = [
      { port: 1, to: "a" },
      { port: 2, to: "b" },
    ]
    expect(found(schema, { ports: [two, one, { port: 3, to: "c" }] }, { ports: [one, two] })).toEqual([[], []])
    expect(found(schema, { ports: [two, { ...one, to: "x" }] }, { ports: [one, two] })[0]).toEqual([
      'spec.ports[1]: Invalid value: "object": failed rule: self.to == oldSelf.to',
    ])
  })
})

describe("an update", () => {
  const schema = ofSpec({
    properties: {
      size: { type: "integer", maximum: 5, ...rules("self < 3") },
      list: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: {
          type: "object",
          properties: { k: { type: "string", maxLength: 1 }, v: { type: "string", enum: ["a"] } },
        },
      },
      tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      other: { type: "integer" },
    },
  })

  test("is not refused for what it leaves as it was, which is a warning if a rule says so", () => {
    expect(found(schema, { size: 9, other: 2 }, { size: 9, other: 1 })).toEqual([
      [],
      ['spec.size: Invalid value: "integer": failed rule: self < 3'],
    ])
    expect(found(schema, { size: 8 }, { size: 9 })[0]).toHaveLength(2)
    expect(found(schema, { tags: ["a", "a"], other: 1 }, { tags: ["b", "b"] })).toEqual([[], []])
  })

  test("of a keyed list is judged item by item", () => {
    const bad = { k: "x", v: "bad" }
    expect(found(schema, { list: [{ k: "y", v: "a" }, bad] }, { list: [bad] })).toEqual([[], []])
    expect(found(schema, { list: [{ k: "y", v: "bad" }, bad] }, { list: [bad] })[0][0]).toBe(
      'spec.list[0].v: Unsupported value: "bad": supported values: "a"',
    )
  })

  test("that changes nothing below a field of the object is never refused", () => {
    const value = fc.record(
      {
        size: fc.integer({ min: -9, max: 9 }),
        list: fc.uniqueArray(fc.record({ k: fc.string({ maxLength: 3 }), v: fc.string({ maxLength: 2 }) }), {
          selector: ({ k }) => k,
          maxLength: 3,
        }),
        tags: fc.array(fc.constantFrom("a", "b"), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(value, (spec) => {
        expect(found(schema, spec, structuredClone(spec))[0]).toEqual([])
      }),
    )
  })
})

describe("a definition's rules", () => {
  const problems = (schema: StructuralSchema): ReadonlyArray<string> =>
    ruleProblems(schema, "s").map(({ field, detail }) => `${field} ${detail.split("\n")[0]}`)

  test("may use what the schema describes, and nothing else", () => {
    const schema = ofSpec({
      properties: { free: { "x-kubernetes-preserve-unknown-fields": true }, a: { type: "string" } },
      ...rules("self.a == ''", "self.free == 1", "self.metadata.name == ''"),
    })
    expect(
      problems({ ...schema, ...rules("self.metadata.name != '' && self.kind != ''", "self.metadata.labels == {}") }),
    ).toEqual([
      "s.properties[spec].x-kubernetes-validations[1].rule compilation failed: ERROR: <input>:1:5: undefined field 'free'",
      "s.properties[spec].x-kubernetes-validations[2].rule compilation failed: ERROR: <input>:1:5: undefined field 'metadata'",
      "s.x-kubernetes-validations[1].rule compilation failed: ERROR: <input>:1:14: undefined field 'labels'",
    ])
  })

  test("may not compare items of lists without keys with old ones", () => {
    const items: StructuralSchema = { type: "string", ...rules("self == oldSelf") }
    expect(problems(ofSpec({ properties: { a: { type: "array", items } } }))).toEqual([
      "s.properties[spec].properties[a].items.x-kubernetes-validations[0].rule oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec].properties[a]",
    ])
  })

  test("are judged by their form first", () => {
    expect(problems(ofSpec(rules({ rule: " ", reason: "Nope", fieldPath: ".x" }, "self.nope")))).toEqual([
      "s.properties[spec].x-kubernetes-validations[0].rule rule is not specified",
      's.properties[spec].x-kubernetes-validations[0].reason supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
      "s.properties[spec].x-kubernetes-validations[0].fieldPath must be a valid path",
    ])
  })
})

describe("the name of a property in an expression", () => {
  test.each([
    ["a-b", "a__dash__b"],
    ["a.b/c", "a__dot__b__slash__c"],
    ["a__b", "a__underscores__b"],
    ["namespace", "__namespace__"],
    ["plain_name", "plain_name"],
    ["1a", undefined],
    ["a b", undefined],
  ])("%s is %s", (name, escaped) => {
    expect(escapedName(name)).toBe(escaped)
  })

  test("may be missing: rules about the property itself hold nevertheless", () => {
    const part = { type: "object", properties: { n: { type: "integer" } }, ...rules("self.n > 0") }
    const schema = ofSpec({ properties: { "1a": part, "b c": structuredClone(part) } })
    expect(found(schema, { "1a": { n: 1 }, "b c": { n: 0 } })[0]).toEqual([
      'spec.b c: Invalid value: "object": failed rule: self.n > 0',
    ])
  })

  test("is another for another property", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "_", ".", "-", "/"), minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(escapedName(a) === escapedName(b)).toBe(a === b)
      }),
    )
  })
})

describe("a field that may be null", () => {
  const flag: StructuralSchema = { type: "boolean", nullable: true }
  const maybe = (...all: Array<string | ValidationRule>): StructuralSchema =>
    ofSpec({
      properties: {
        flag,
        note: { type: "string", nullable: true },
        size: { type: "integer", nullable: true },
        since: { type: "string", format: "date-time", nullable: true },
        inner: { type: "object", nullable: true, properties: { flag, on: { type: "boolean" } }, ...rules("self.on") },
        flags: { type: "array", nullable: true, items: flag },
        named: { type: "object", additionalProperties: flag },
      },
      ...rules(...all),
    })
  const full = {
    ...{ flag: true, note: "so", size: 1, since: "2026-01-01T00:00:00Z" },
    ...{ inner: { flag: true, on: true }, flags: [true, null], named: { a: true, b: null } },
  }
  const none = {
    ...{ flag: null, note: null, size: null, since: null },
    ...{ inner: null, flags: null, named: {} },
  }

  test.each([
    "self.flag",
    "self.inner.flag && self.inner.on",
    "self.inner.on",
    "self.named['a']",
    "self.flags[0]",
    "self.size > 0 && self.size + 1 == 2 && -self.size < 0",
    "size(self.note) == 2 && self.note.startsWith('s') && 'also'.endsWith(self.note) && int(self.size) == 1",
    "self.?flag.orValue(false) && self.?inner.?flag.orValue(false) && self.?inner.flag.value()",
    "self.flags.filter(f, type(f) == bool).all(f, f) && self.flags.exists(i, f, i == 0 && f)",
    "true in self.flags && self.named.exists(k, v, k == 'a' && v)",
    "self.since < timestamp('2027-01-01T00:00:00Z') && self.since.getFullYear() == 2026",
    "(self.flag ? self.note : '') == 'so'",
  ])("has the type that it has otherwise, and null is refused where it is used: %s", (rule) => {
    const schema = maybe(rule)
    expect(ruleProblems(schema, "schema")).toEqual([])
    expect(found(schema, full)).toEqual([[], []])
    const [problems] = found(schema, none)
    expect(problems).toHaveLength(1)
    expect(problems[0]).not.toMatch(/TypeError|undefined|BigInt|Cannot/)
  })

  test("may be null where values of any type may be", () => {
    const schema = maybe(
      "dyn(self.flag) == null && self.inner == null && self.since == null && type(self.note) == null_type",
      "optional.of(self.note).hasValue() && !optional.ofNonZeroValue(self.note).hasValue() && [1, self.size].size() == 2",
    )
    expect(ruleProblems(schema, "schema")).toEqual([])
    expect(found(schema, none)).toEqual([[], []])
  })

  test("may be a message", () => {
    const schema = maybe({ rule: "false", message: "usual", messageExpression: "self.note" })
    expect(ruleProblems(schema, "schema")).toEqual([])
    expect(found(schema, full)[0][0]).toContain(": so")
    expect(found(schema, none)[0][0]).toContain(": usual")
  })

  test.each([
    ["self.note", "cel expression must evaluate to a bool"],
    ["self.inner.nope", "undefined field 'nope'"],
    ["self.size == 'a'", "no matching overload"],
    ["self.size == null", "no matching overload"],
    ["size(self.inner) == 0", "no matching overload"],
    ["'on' in self.inner", "no such overload"],
    ["self.inner.all(k, false)", "cannot be range of a comprehension"],
  ])("is refused when its type does not fit: %s", (rule, problem) => {
    expect(ruleProblems(maybe(rule), "schema").map(errorText)).toEqual([expect.stringContaining(problem)])
  })
})

test("an object without its type has the fields that it has, before any of them is read", () => {
  const schema = ofSpec({
    properties: {
      inner: { type: "object", properties: { "a-b": { type: "integer" }, c: { type: "integer" } } },
      empty: { type: "object", properties: { a: { type: "integer" } } },
    },
    ...rules(
      "optional.ofNonZeroValue(self.inner).hasValue() && !optional.ofNonZeroValue(self.empty).hasValue()",
      "'a__dash__b' in dyn(self.inner) && !('c' in dyn(self.inner))",
      "dyn(self.inner).all(key, key == 'a__dash__b') && !dyn(self.inner).all(key, false)",
      "dyn(self.inner).exists(key, value, value == 1) && dyn(self.inner) == {'a__dash__b': 1}",
      "self.inner == self.inner && dyn(self.inner) != dyn(self.empty)",
    ),
  })
  expect(ruleProblems(schema, "schema")).toEqual([])
  expect(found(schema, { inner: { "a-b": 1 }, empty: {} })).toEqual([[], []])
})
