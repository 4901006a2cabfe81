import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isRecord } from "../../../src/is-record.ts"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { customType } from "../../../src/sandbox/schema/custom/custom-schema.ts"
import { duplicateFields, isTooDeep, maximumDepth } from "../../../src/sandbox/schema/duplicate-fields.ts"
import {
  pruneUnknownFields,
  strictFieldProblems,
  undecodable,
  unknownFields,
} from "../../../src/sandbox/schema/field-check.ts"
import type { KubernetesType } from "../../../src/sandbox/schema/kubernetes-type.ts"
import { patient } from "../../harness/patience.ts"
import { anyJson, objectOf, objectText } from "./arbitrary-objects.ts"

const catalogue = new SchemaCatalogue()
const builtin = (group: string, kind: string): KubernetesType => {
  const type = catalogue.of({ group, version: "v1", kind })
  if (type === undefined) throw new Error(`no ${kind}`)
  return type
}
const deployment = builtin("apps", "Deployment")
const definition = builtin("apiextensions.k8s.io", "CustomResourceDefinition")
const gadget = customType({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { size: { type: "integer" }, free: { "x-kubernetes-preserve-unknown-fields": true } },
    },
  },
})
const types: ReadonlyArray<readonly [string, KubernetesType]> = [
  ["Deployment", deployment],
  ["Secret", builtin("", "Secret")],
  ["CustomResourceDefinition", definition],
  ["a custom kind", gadget],
]

describe.each(types)("%s", (_, type) => {
  test("accepts every object that fits it", () => {
    fc.assert(
      fc.property(objectOf(type), (value) => {
        const text = JSON.stringify(value)
        expect(unknownFields(type, value)).toEqual([])
        expect(strictFieldProblems(type, text, value)).toEqual([])
        expect(undecodable(type, value)).toBeUndefined()
        pruneUnknownFields(type, value)
        expect(JSON.stringify(value)).toBe(text)
      }),
      { numRuns: 100 },
    )
  })

  test("finds an unknown field wherever it is, and removes only that", () => {
    fc.assert(
      fc.property(objectOf(type), fc.nat(), fc.constantFrom("zz", "__proto__", "constructor"), (value, nth, key) => {
        const places = holders(type, value, "")
        const place = places[nth % places.length]
        if (place === undefined) return
        const before = JSON.stringify(value)
        Object.defineProperty(place.record, key, {
          value: { a: 1 },
          enumerable: true,
          configurable: true,
          writable: true,
        })
        const path = place.path === "" ? key : `${place.path}.${key}`
        expect(unknownFields(type, value)).toEqual([path])
        const text = JSON.stringify(value)
        expect(strictFieldProblems(type, text, value)).toEqual([`unknown field "${path}"`])
        expect(pruneUnknownFields(type, value)).toEqual([path])
        expect(JSON.stringify(value)).toBe(before)
      }),
      { numRuns: 100 },
    )
  })

  test("survives any JSON", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = JSON.stringify(value)
        strictFieldProblems(type, text, value)
        undecodable(type, value)
        const unknown = unknownFields(type, value)
        expect(pruneUnknownFields(type, value)).toEqual(unknown)
        expect(unknownFields(type, value)).toEqual([])
      }),
    )
  })
})

/** Every object in `value` whose unknown fields the type forbids, with its path. */
const holders = (
  type: KubernetesType,
  value: unknown,
  path: string,
): Array<{ record: Record<string, unknown>; path: string }> => {
  const { items } = type
  if (Array.isArray(value) && type.kind === "list" && items !== undefined)
    return value.flatMap((item, index) => holders(items, item, `${path}[${index}]`))
  if (!isRecord(value)) return []
  const below = (name: string): string => (path === "" ? name : `${path}.${name}`)
  if (type.kind === "map" && items !== undefined)
    return Object.entries(value).flatMap(([name, item]) => holders(items, item, below(name)))
  if (type.kind !== "object" || type.keepsUnknown) return []
  const children = Object.entries(value).flatMap(([name, item]) => {
    const field = type.fields.get(name)
    return field === undefined ? [] : holders(field, item, below(name))
  })
  return [{ record: value, path }, ...children]
}

test("unknown fields are told in alphabetical order, whatever their depth", () => {
  const value = { metadata: { a: 1 }, zz: 1, spec: { template: { b: 1 }, c: 1 } }
  const paths = ["metadata.a", "spec.c", "spec.template.b", "zz"]
  expect(strictFieldProblems(deployment, JSON.stringify(value), value)).toEqual(
    paths.map((path) => `unknown field "${path}"`),
  )
})

describe("fields that occur twice", () => {
  test("are found at every level, each once", () => {
    const text = '{"a":1,"b":[{"c":1,"c":2,"c":3}],"a":{"d":{"\\u0065":1,"e":2}}}'
    expect(duplicateFields(text)).toEqual([
      'duplicate field "b[0].c"',
      'duplicate field "a"',
      'duplicate field "a.d.e"',
    ])
  })

  test("are found exactly when the keys of an object repeat", () => {
    const keys = fc.array(fc.oneof(fc.constantFrom("__proto__", "constructor", "a", "b"), fc.string()), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(keys, anyJson, (names, value) => {
        const text = `[${objectText(names.map((name) => [name, value]))}]`
        expect(duplicateFields(text)).toHaveLength(new Set(names.filter((name, at) => names.indexOf(name) !== at)).size)
      }),
    )
  })

  test("are ignored in text that is not JSON", () => {
    fc.assert(fc.property(fc.string(), (text) => Array.isArray(duplicateFields(text))))
    fc.assert(fc.property(fc.stringMatching(/^[{}[\]",:\\a]*$/), (text) => Array.isArray(duplicateFields(text))))
  })

  test("are reported up to a hundred, as by the server", () => {
    const fields = Array.from({ length: 500 }, (_, index) => `"f${index}":1,"f${index}":2`)
    expect(duplicateFields(`{${fields.join(",")}}`)).toHaveLength(100)
  })
})

describe("depth", () => {
  const lists = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)

  test("of 10,000 levels is the server's maximum", () => {
    expect(isTooDeep(lists(maximumDepth))).toBe(false)
    expect(isTooDeep(lists(maximumDepth + 1))).toBe(true)
    expect(isTooDeep(`${'{"a":'.repeat(maximumDepth + 1)}1${"}".repeat(maximumDepth + 1)}`)).toBe(true)
    expect(isTooDeep(`["${lists(20_000)}"]`)).toBe(false)
  })

  test("of recursive types is no danger to any check", () => {
    const level = '{"properties":{"a":'
    const text = `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${level.repeat(4_900)}{"zz":1}${"}}".repeat(4_900)}}}]}}`
    const value: unknown = JSON.parse(text)
    const path = `spec.versions[0].schema.openAPIV3Schema${".properties.a".repeat(4_900)}.zz`
    expect(unknownFields(definition, value)).toEqual([path])
    expect(strictFieldProblems(definition, text, value)).toEqual([`unknown field "${path}"`])
    expect(undecodable(definition, value)).toBeUndefined()
    expect(pruneUnknownFields(definition, value)).toEqual([path])
    expect(duplicateFields(`${'{"a":'.repeat(100_000)}1`)).toEqual([])
  })

  test("and width cost the same per byte: work that grew with their square would outlast the test's limit", {
    timeout: patient(20_000),
  }, () => {
    const count = 150_000
    const containers = Array.from({ length: count }, (_, index) => ({ name: `c${index}`, foo: 1 }))
    const text = JSON.stringify({ spec: { template: { spec: { containers } } } })
    const value: unknown = JSON.parse(text)
    expect(strictFieldProblems(deployment, text, value)).toHaveLength(100)
    expect(unknownFields(deployment, value)).toHaveLength(count)
  })
})

describe("a value of the wrong type", () => {
  test.each([
    [deployment, { spec: { replicas: "3" } }, 'spec.replicas must be int32, not "3"'],
    [deployment, { spec: { replicas: 2 ** 31 } }, "spec.replicas must be int32, not 2147483648"],
    [deployment, { spec: { template: { spec: { containers: [{ name: [] }] } } } }, "name must be string, not list"],
    [
      deployment,
      { metadata: { creationTimestamp: "2026-02-30T00:00:00Z" } },
      "metadata.creationTimestamp must be Time",
    ],
    [builtin("", "Secret"), { data: { a: "not base64" } }, 'data.a must be base64, not "not base64"'],
    [deployment, [], "the object must be object, not list"],
    [gadget, { metadata: { labels: 1 } }, "metadata.labels must be map, not 1"],
  ])("is named with its place: %#", (type, value, problem) => {
    expect(undecodable(type, value)).toContain(problem)
  })

  test.each(["2026-01-02T3:04:05Z", "2026-01-31T00:00:00.1+02:00", "2024-02-29T23:59:59,5-01:30"])(
    "is not a time such as %s",
    (time) => {
      expect(undecodable(deployment, { metadata: { creationTimestamp: time } })).toBeUndefined()
    },
  )
})
