/** Objects as kubectl prints them: keys in order, without managedFields, several as a List. Streams: an object is printed as it comes. */
import { Document, Scalar, visit } from "yaml"
import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import { visibleInJson } from "../../text/index.ts"
import {
  formatExactJson,
  IntegralFloat,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  sortedKeys,
  withoutMember,
  withProperty,
} from "../../trace/index.ts"
import { isJsonList } from "./describe-change.ts"

/** With apiVersion and kind, which items of lists lack, and keys in order. */
export const printedObject = (object: JsonObject, gvk: string, keepsManagedFields: boolean): JsonObject => {
  const parsed = parseGvk(gvk)
  const named: JsonObject =
    parsed === undefined ? object : { apiVersion: apiVersionOf(parsed), kind: parsed.kind, ...object }
  const { metadata } = named
  const shown =
    keepsManagedFields || !isJsonObject(metadata)
      ? named
      : { ...named, metadata: withoutMember(metadata, "managedFields") }
  return ordered(shown)
}

const ordered = (object: JsonObject): JsonObject => {
  let members: Record<string, JsonValue> = {}
  for (const key of sortedKeys(object)) members = withProperty(members, key, inOrder(object[key] ?? null))
  return members
}

const inOrder = (value: JsonValue): JsonValue => {
  if (isJsonList(value)) return value.map(inOrder)
  return isJsonObject(value) ? ordered(value) : value
}

/** Writes objects as they come: a List, or one by itself. Holds one of them. */
export class ListWriter {
  readonly #print: (line: string) => void
  readonly #format: "json" | "yaml"
  readonly #isNamed: boolean
  #count = 0
  /** The last object: whether a comma follows it, or whether it is the only one, is not known yet. */
  #last: JsonObject | undefined

  /** `isNamed`: an object that is the only one is printed by itself. */
  constructor(print: (line: string) => void, format: "json" | "yaml", isNamed: boolean) {
    this.#print = print
    this.#format = format
    this.#isNamed = isNamed
  }

  add(object: JsonObject): void {
    if (this.#last !== undefined) this.#item(this.#last, ",")
    this.#last = object
  }

  #item(object: JsonObject, comma: string): void {
    const isFirst = this.#count++ === 0
    if (this.#format === "json") {
      if (isFirst) this.#print('{\n    "apiVersion": "v1",\n    "items": [')
      return this.#print(`${indented(object, "        ")}${comma}`)
    }
    if (isFirst) this.#print("apiVersion: v1\nitems:")
    this.#print(yamlOf(object, "  ").replace(/^ {2}/, "- "))
  }

  /** Call it once, after the last object. */
  end(): void {
    const last = this.#last
    if (this.#isNamed && this.#count === 0) {
      if (last !== undefined) this.#print(this.#format === "json" ? indented(last, "") : yamlOf(last, ""))
      return
    }
    if (last !== undefined) this.#item(last, "")
    const isEmpty = this.#count === 0
    if (this.#format === "yaml") {
      if (isEmpty) this.#print("apiVersion: v1\nitems: []")
      return this.#print('kind: List\nmetadata:\n  resourceVersion: ""')
    }
    if (isEmpty) this.#print('{\n    "apiVersion": "v1",\n    "items": [')
    this.#print('    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}')
  }
}

/** Indented by four spaces, as kubectl does; every number as it was recorded. */
const indented = (value: JsonValue, margin: string): string => `${margin}${pretty(value, margin)}`

const pretty = (value: JsonValue, margin: string): string => {
  const inner = `${margin}    `
  if (isJsonList(value)) {
    const items = value.map((item) => `${inner}${pretty(item, inner)}`)
    return items.length === 0 ? "[]" : `[\n${items.join(",\n")}\n${margin}]`
  }
  if (!isJsonObject(value)) return formatExactJson(value)
  const members = Object.entries(value).map(
    ([key, member]) => `${inner}${JSON.stringify(key)}: ${pretty(member, inner)}`,
  )
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${margin}}`
}

/** The object as YAML without the last line break, every line after a margin. What would control a terminal is escaped, in double quotes. */
export const yamlOf = (object: JsonObject, margin: string): string => {
  const document = new Document(plainNumbers(object), { version: "1.1", aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === "string" && visibleInJson(scalar.value) !== scalar.value)
        scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  return visibleInJson(document.toString({ indentSeq: false, lineWidth: 0 }))
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? line : margin + line))
    .join("\n")
}

/** YAML has one kind of number. */
const plainNumbers = (value: JsonValue): unknown => {
  if (value instanceof IntegralFloat) return value.value
  if (isJsonList(value)) return value.map(plainNumbers)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plainNumbers(member)]))
}
