import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
  readSimkubeTrace,
} from "../../../src/trace/index.ts"
import { metadataOf, withoutManagedFields } from "../../../src/trace/sanitising/managed-fields.ts"
import { jsonObject, jsonValue, mutated, objectOf, text } from "../json-values.ts"
import { goldenTrace, watchLines } from "../recording.ts"

const cut = (json: string): string => Buffer.from(withoutManagedFields(Buffer.from(json))).toString()

/** An object with one member inserted at a given position among others. */
const withMember = (others: JsonObject, key: string, value: JsonValue, place: number): JsonObject => {
  const entries = Object.entries(others).filter(([name]) => name !== key)
  entries.splice(place % (entries.length + 1), 0, [key, value])
  return objectOf(entries)
}

const kubernetesObject = fc
  .record({ others: jsonObject, metadata: jsonObject, managed: jsonValue, place: fc.nat(), inner: fc.nat() })
  .map(({ others, metadata, managed, place, inner }) =>
    withMember(others, "metadata", withMember(metadata, "managedFields", managed, inner), place),
  )

/** An object whose members may have the same name. */
const memberText = (entries: ReadonlyArray<readonly [string, JsonValue]>): string =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${formatExactJson(value)}`).join(",")}}`

const pretty = fc.constantFrom(undefined, 1, "\t", " \r\n")

describe("an object without managedFields", () => {
  test("is otherwise the same object, whatever else it contains", () => {
    fc.assert(
      fc.property(kubernetesObject, (object) => {
        const { metadata } = object
        if (!isJsonObject(metadata)) throw new Error("no metadata")
        const expected = objectOf(
          Object.entries(object).map(([key, value]) =>
            key === "metadata"
              ? [
                  key,
                  objectOf(Object.entries(metadata).map(([name, item]) => [name, name === "managedFields" ? 0 : item])),
                ]
              : [key, value],
          ),
        )
        expect(cut(formatExactJson(object))).toBe(formatExactJson(expected))
      }),
    )
  })

  test("is found whatever the white space", () => {
    fc.assert(
      fc.property(fc.dictionary(text, fc.string()), fc.array(fc.string()), pretty, (labels, managedFields, space) => {
        const object = { kind: "Pod", metadata: { labels, managedFields, name: "a" }, spec: { managedFields } }
        expect(JSON.parse(cut(JSON.stringify(object, null, space)))).toEqual(
          JSON.parse(JSON.stringify({ ...object, metadata: { ...object.metadata, managedFields: 0 } })),
        )
      }),
    )
  })

  test.each([
    [
      '{"metadata":{"managedFields":[1],"name":"a","managedFields":[{"b":2}]}}',
      '{"metadata":{"managedFields":0,"name":"a","managedFields":0}}',
    ],
    [
      '{"metadata":{"managedFields":[1]},"spec":{},"metadata":{"managedFields":[2],"name":"a"}}',
      '{"metadata":{"managedFields":0},"spec":{},"metadata":{"managedFields":0,"name":"a"}}',
    ],
    [
      '{"metadata":{"name":"a"},"metadata" : { "managedFields" : [2] , "managedFields":3}}',
      '{"metadata":{"name":"a"},"metadata" : { "managedFields" : 0 , "managedFields":0}}',
    ],
    [
      '{"metadata":{"managedFields":[1]},"spec":{"managedFields":[2]}}',
      '{"metadata":{"managedFields":0},"spec":{"managedFields":[2]}}',
    ],
  ])("has none of them, however often they occur: %s", (json, expected) => {
    expect(cut(json)).toBe(expected)
    expect(formatExactJson(metadataOf(Buffer.from(json)) ?? null)).not.toContain("[")
  })

  test("has none of them in any object with duplicate members", () => {
    const metadata = fc
      .array(fc.oneof(fc.tuple(fc.constant("managedFields"), jsonValue), fc.tuple(text, jsonValue)), { maxLength: 5 })
      .map((entries) => memberText(entries))
    const object = fc.array(
      fc.oneof(fc.tuple(fc.constant("metadata"), metadata), fc.tuple(text, jsonValue.map(formatExactJson))),
      {
        maxLength: 5,
      },
    )
    fc.assert(
      fc.property(object, (members) => {
        const json = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`
        const left = cut(json)
        // Each member by itself: a parser shows only the last of several with one name.
        const expected = members.map(([key, value]) =>
          key === "metadata"
            ? `"metadata":${cut(`{"metadata":${value}}`).slice('{"metadata":'.length, -1)}`
            : `${JSON.stringify(key)}:${value}`,
        )
        expect(left).toBe(`{${expected.join(",")}}`)
        const parsed = parseExactJson(Buffer.from(left))
        const found = isJsonObject(parsed) ? parsed.metadata : undefined
        if (isJsonObject(found) && Object.hasOwn(found, "managedFields")) expect(found.managedFields).toBe(0)
      }),
    )
  })

  test.each([
    "",
    "{}",
    "[]",
    "{",
    '{"metadata"',
    '{"metadata":',
    '{"metadata":{"managedFields"',
    '{"metadata":{"managedFields":[',
    '{"metadata":{"managedFields":["}',
    '{"metadata":{"managedFields":[1',
    '{"metadata" {"managedFields":[1]}}',
    '{"metadata":[{"managedFields":[1]}]}',
    '{"spec":{"metadata":{"managedFields":[1]}}}',
    '{"spec":"\\"metadata\\":{\\"managedFields\\":[1]}"}',
    '{"metadata":{"labels":{"managedFields":[1]}}}',
    '{"metadata":{"a":"\\\\","b":"\\"managedFields\\":[1]"}}',
    '{"metadata":null}',
  ])("%s is unchanged", (json) => {
    expect(cut(json)).toBe(json)
  })

  test("is never the result for bytes that are not JSON", () => {
    fc.assert(
      fc.property(mutated(kubernetesObject.map((object) => Buffer.from(formatExactJson(object)))), (bytes) => {
        const result = withoutManagedFields(new Uint8Array(bytes))
        expect(result.length).toBeLessThanOrEqual(bytes.length)
        const parses = (source: Uint8Array): boolean => {
          try {
            parseExactJson(source)
            return true
          } catch {
            return false
          }
        }
        // Skipped bytes are not checked, so a valid text stays valid, and nothing more is guaranteed.
        if (parses(bytes)) expect(parses(result)).toBe(true)
      }),
    )
  })
})

describe("an object's metadata", () => {
  test("equals the result of parsing the whole object, without managedFields", () => {
    fc.assert(
      fc.property(kubernetesObject, (object) => {
        const bytes = Buffer.from(formatExactJson(object))
        const before = Buffer.from(bytes)
        const { metadata } = parseExactJson(bytes) as { metadata: JsonObject }
        const found = metadataOf(bytes)
        if (found === undefined) throw new Error("not found")
        const rest = (value: JsonObject): string =>
          formatExactJson(objectOf(Object.entries(value).filter(([key]) => key !== "managedFields")))
        expect(rest(found)).toBe(rest(metadata))
        expect(bytes.equals(before)).toBe(true)
      }),
    )
  })

  test.each(["", "{}", "[1]", '{"metadata":null}', '{"metadata":[]}', '{"spec":{"metadata":{}}}', '{"metadata":{'])(
    "is not found in %s",
    (json) => {
      expect(metadataOf(Buffer.from(json))).toBeUndefined()
    },
  )

  test("is found in everything that an API server has sent", () => {
    const config = [...readSimkubeTrace([goldenTrace("recording")])].find((item) => item.type === "config")
    if (config === undefined) throw new Error("the golden trace has no config")
    const lines = watchLines("recording", config.trackedObjects)
    expect(lines.length).toBeGreaterThan(10)
    for (const { object } of lines) {
      const { managedFields: _, ...metadata } = (parseExactJson(object) as { metadata: Record<string, JsonValue> })
        .metadata
      const { managedFields: zero, ...found } = metadataOf(object) as Record<string, JsonValue>
      expect(found).toEqual(metadata)
      expect(zero).toBe(0)
    }
  })
})
