/**
 * The types of a schema's values as expressions see them, and the values. What a schema says nothing about has no type and cannot be
 * named: fields that are only preserved, and of the metadata everything but the names.
 */

import type { Environment } from "@marcbachmann/cel-js"
import { maximumSchemaDepth, type StructuralSchema } from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { fail } from "../../cel/evaluation.ts"
import { newEnvironment } from "../../cel/program.ts"
import { durationOf } from "../../cel/times.ts"
import { keyedBy, type ObjectField, ObjectValue, type Value } from "../../cel/values.ts"

const text: StructuralSchema = { type: "string" }

/** The schema of a whole resource, with the fields that every one has. One that describes the names itself is left as it is. */
const asResource = (schema: StructuralSchema): StructuralSchema => {
  const { apiVersion, kind, metadata } = schema.properties ?? {}
  const names = [apiVersion, kind, metadata?.properties?.name, metadata?.properties?.generateName]
  if (metadata?.type === "object" && names.every((name) => name?.type === "string")) return schema
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: text,
      kind: text,
      metadata: { type: "object", properties: { name: text, generateName: text } },
    },
  }
}

// Names of properties as expressions write them: `a-b` is `a__dash__b`, `namespace` is `__namespace__`.

const reserved: ReadonlySet<string> = new Set([
  ...["true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"],
  ...["let", "loop", "package", "namespace", "return", "var", "void", "while"],
])

const symbols: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
}

/** `undefined` for a name that expressions cannot write. */
export const escapedName = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (symbol) => symbols[symbol] ?? symbol)
}

export interface DeclaredType {
  /** As the library names it. */
  readonly name: string
  /** Throws EvaluationError for JSON that the schema does not allow. */
  readonly convert: (json: unknown) => Value
}

/** The types of a schema and of those inside it, in one environment. */
export class DeclaredTypes {
  readonly environment = newEnvironment()
  readonly #known = new Map<StructuralSchema, DeclaredType | undefined>()

  /** The schema of a whole resource. */
  constructor(schema: StructuralSchema) {
    this.#declare(schema, "self", 0, true)
  }

  /** `undefined` for a value that expressions cannot see. */
  of(schema: StructuralSchema): DeclaredType | undefined {
    return this.#known.get(schema)
  }

  #declare(
    given: StructuralSchema,
    path: string,
    depth: number,
    isResource = isEmbedded(given),
  ): DeclaredType | undefined {
    if (depth > maximumSchemaDepth) return undefined
    const declared = this.#typeOf(isResource ? asResource(given) : given, path, depth)
    this.#known.set(given, declared && notNull(declared))
    return declared && (given.nullable === true ? nullable(declared) : notNull(declared))
  }

  #typeOf(schema: StructuralSchema, path: string, depth: number): DeclaredType | undefined {
    if (schema["x-kubernetes-int-or-string"] === true)
      return { name: "dyn", convert: (json) => (typeof json === "number" ? BigInt(json) : String(json)) }
    const { type, format = "", items, additionalProperties } = schema
    if (type === "array") {
      const item = items && this.#declare(items, `${path}.@items`, depth + 1)
      return item && listOf(item, schema)
    }
    if (type === "object" && isRecord(additionalProperties)) {
      const value = this.#declare(additionalProperties, `${path}.@values`, depth + 1)
      return value && mapOf(value)
    }
    if (type === "object") return this.#object(schema, path, depth)
    return type === "string" ? (formats[format] ?? scalars.string) : scalars[type ?? ""]
  }

  /** Objects are named by their path, which makes their types distinct. */
  #object({ properties = {} }: StructuralSchema, path: string, depth: number): DeclaredType {
    const fields = new Map<string, ObjectField>()
    const types: Record<string, string> = {}
    for (const [index, [property, child]] of Object.entries(properties).entries()) {
      const name = escapedName(property)
      // One that expressions cannot name may have rules of its own, about its self.
      const type = this.#declare(child, `${path}.${name ?? `@${index}`}`, depth + 1)
      if (type === undefined || name === undefined) continue
      fields.set(name, { name: property, convert: type.convert })
      types[name] = type.name
    }
    const Declared = class extends ObjectValue {}
    this.environment.registerType(path, { ctor: Declared, fields: types })
    return {
      name: path,
      convert: (json) => (isRecord(json) ? new Declared(json, fields) : mismatch("a map", json)),
    }
  }
}

/** Whether the schema is that of a whole resource inside another one. */
const isEmbedded = (schema: StructuralSchema): boolean => schema["x-kubernetes-embedded-resource"] === true

/**
 * The type of a field, an item or a member: `dyn<T>`, because the library has no types that include null. To expressions it is T
 * (`cel/prepare.ts`).
 */
const nullable = ({ name, convert }: DeclaredType): DeclaredType => ({
  name: name === "dyn" ? name : `dyn<${name}>`,
  convert: (json) => (json === null ? null : convert(json)),
})

const notNull = ({ name, convert }: DeclaredType): DeclaredType => ({
  name,
  convert: (json) => (json === null ? fail("invalid data, got null for schema with nullable=false") : convert(json)),
})

const mismatch = (wanted: string, json: unknown): never =>
  fail(`invalid data, expected ${wanted}, got ${Array.isArray(json) ? "array" : typeof json}`)

const listOf = ({ name, convert }: DeclaredType, schema: StructuralSchema): DeclaredType => {
  const { "x-kubernetes-list-type": type, "x-kubernetes-list-map-keys": keys = [] } = schema
  const itemKeys = type === "map" ? keys.map((key) => escapedName(key) ?? key) : type === "set" ? [] : undefined
  return {
    name: `list<${name}>`,
    convert: (json) => {
      if (!Array.isArray(json)) return mismatch("an array", json)
      const list = json.map(convert)
      return itemKeys === undefined ? list : keyedBy(list, itemKeys)
    },
  }
}

const mapOf = ({ name, convert }: DeclaredType): DeclaredType => ({
  name: `map<string, ${name}>`,
  convert: (json) =>
    isRecord(json)
      ? new Map(Object.entries(json).map(([key, member]) => [key, convert(member)]))
      : mismatch("a map", json),
})

const scalars: Readonly<Record<string, DeclaredType>> = {
  string: { name: "string", convert: (json) => (typeof json === "string" ? json : mismatch("a string", json)) },
  boolean: { name: "bool", convert: (json) => (typeof json === "boolean" ? json : mismatch("a boolean", json)) },
  number: { name: "double", convert: (json) => (typeof json === "number" ? json : mismatch("a number", json)) },
  integer: {
    name: "int",
    convert: (json) => (typeof json === "number" ? BigInt(Math.trunc(json)) : mismatch("an integer", json)),
  },
}

const time = (json: unknown, format: string, suffix = ""): Date => {
  const found = new Date(`${String(json).toUpperCase()}${suffix}`)
  return Number.isNaN(found.getTime()) ? fail(`Invalid ${format} formatted string ${json}`) : found
}

const formats: Readonly<Record<string, DeclaredType>> = {
  byte: { name: "bytes", convert: (json) => new Uint8Array(Buffer.from(String(json), "base64")) },
  date: { name: "google.protobuf.Timestamp", convert: (json) => time(json, "date", "T00:00:00Z") },
  "date-time": { name: "google.protobuf.Timestamp", convert: (json) => time(json, "date-time") },
  duration: { name: "google.protobuf.Duration", convert: (json) => durationOf(String(json)) },
}

/** An environment with the variables of a rule. */
export const withSelf = ({ environment }: DeclaredTypes, self: string, oldSelf: string): Environment =>
  environment.clone().registerVariable("self", self).registerVariable("oldSelf", oldSelf)
