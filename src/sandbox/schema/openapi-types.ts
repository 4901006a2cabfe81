/**
 * Types from the schemas of OpenAPI v3 documents.
 *
 * A schema name means the same in all documents (scripts/openapi.ts checks it), so each becomes one type shared by all
 * kinds that use it, recursive ones included; attributes beside a field's reference (defaults, patch strategy) make a
 * copy of the node that shares its fields.
 */

import type { ListType } from "../../apiserver/index.ts"
import { type DecodedType, type KubernetesType, makeDecodedType } from "./kubernetes-type.ts"

/** The part of an OpenAPI v3 schema that is read here. */
export interface OpenApiSchema {
  readonly type?: string
  readonly format?: string
  readonly $ref?: string
  readonly allOf?: ReadonlyArray<OpenApiSchema>
  readonly oneOf?: ReadonlyArray<OpenApiSchema>
  readonly properties?: Readonly<Record<string, OpenApiSchema>>
  readonly additionalProperties?: OpenApiSchema
  readonly items?: OpenApiSchema
  readonly required?: ReadonlyArray<string>
  readonly default?: unknown
  readonly "x-kubernetes-list-type"?: ListType
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: string
  readonly "x-kubernetes-patch-merge-key"?: string
  readonly "x-kubernetes-patch-strategy"?: string
  readonly "x-kubernetes-group-version-kind"?: ReadonlyArray<{ group: string; version: string; kind: string }>
}

export type OpenApiSchemas = Readonly<Record<string, OpenApiSchema>>

/**
 * Objects whose fields the server does not check. Server-side apply also owns a RawExtension (ControllerRevision's `data`)
 * as a whole, which the documents do not state.
 */
const opaque = new Set(["FieldsV1", "RawExtension", "Patch"])

/** Shared by every field with this default, and frozen because of that. */
const emptyObject: Readonly<Record<string, unknown>> = Object.freeze({})

export class OpenApiTypes {
  readonly #named = new Map<string, DecodedType>()
  /** Types without fields, by their distinguishing attributes: most fields are plain strings and integers. */
  readonly #leaves = new Map<string, DecodedType>()

  /** The type of one schema of a document; converts it and all it refers to if it is new. */
  named(name: string, schemas: OpenApiSchemas): DecodedType {
    const known = this.#named.get(name)
    if (known !== undefined) return known
    const schema = schemas[name] ?? {}
    const fields = new Map<string, KubernetesType>()
    const type = makeDecodedType(kindOf(schema), shortName(name), {
      fields,
      required: schema.required ?? [],
      isAtomic: schema["x-kubernetes-map-type"] === "atomic" || simpleName(name) === "RawExtension",
      keepsUnknown: opaque.has(simpleName(name)),
    })
    // Before its fields, which may refer back to it.
    this.#named.set(name, type)
    for (const [field, described] of Object.entries(schema.properties ?? {}))
      fields.set(field, this.#convert(described, schemas))
    return type
  }

  #convert(schema: OpenApiSchema, schemas: OpenApiSchemas): DecodedType {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
    if (reference === undefined) return this.#inline(schema, schemas)
    const name = reference.slice("#/components/schemas/".length)
    const named = this.named(name, schemas)
    const said = fieldRules(schema, named)
    if (Object.keys(said).length === 0) return named
    const key = `${name} ${JSON.stringify(schema)}`
    return this.#leaf(key, () => ({ ...named, ...said }))
  }

  #inline(schema: OpenApiSchema, schemas: OpenApiSchemas): DecodedType {
    const kind = kindOf(schema)
    if (kind === "list")
      return makeDecodedType(kind, kind, {
        items: this.#convert(schema.items ?? {}, schemas),
        listType: schema["x-kubernetes-list-type"] ?? "atomic",
        listMapKeys: schema["x-kubernetes-list-map-keys"] ?? [],
        keyDefaults: keyDefaultsOf(schema, schemas),
        ...fieldRules(schema, { kind }),
      })
    if (kind === "map") {
      const items = this.#convert(schema.additionalProperties ?? {}, schemas)
      return makeDecodedType(kind, kind, { items, ...fieldRules(schema, { kind }) })
    }
    const { type, format, default: value } = schema
    return this.#leaf(`${kind} ${JSON.stringify({ type, format, value })}`, () =>
      makeDecodedType(kind, scalarName(schema), { keepsUnknown: kind === "object", ...fieldRules(schema, { kind }) }),
    )
  }

  #leaf(key: string, create: () => DecodedType): DecodedType {
    const type = this.#leaves.get(key) ?? create()
    this.#leaves.set(key, type)
    return type
  }
}

const kindOf = (schema: OpenApiSchema): KubernetesType["kind"] => {
  // Quantity and IntOrString: a choice between a string and a number.
  if (schema.oneOf !== undefined) return "int-or-string"
  switch (schema.type) {
    case "object":
      return schema.additionalProperties === undefined ? "object" : "map"
    case "array":
      return "list"
    case "string":
    case "integer":
    case "number":
    case "boolean":
      return schema.type
    default:
      return schema.properties === undefined ? "any" : "object"
  }
}

const patchStrategies = ["merge", "replace", "retainKeys"] as const

/** The attributes of a field beyond its type. */
const fieldRules = (schema: OpenApiSchema, of: Pick<KubernetesType, "kind">): Partial<KubernetesType> => {
  const rules: { -readonly [Key in keyof KubernetesType]?: KubernetesType[Key] } = {}
  const value = defaultOf(schema, of.kind)
  if (value !== undefined) rules.default = value
  if (schema["x-kubernetes-map-type"] === "atomic") rules.isAtomic = true
  const mergeKey = schema["x-kubernetes-patch-merge-key"]
  if (mergeKey !== undefined) rules.patchMergeKey = mergeKey
  const strategies = schema["x-kubernetes-patch-strategy"]
  if (strategies !== undefined)
    rules.patchStrategies = new Set(patchStrategies.filter((one) => strategies.split(",").includes(one)))
  return rules
}

/** The generator writes `{}` for every Go struct that is not a pointer, including those that are strings in JSON. */
const defaultOf = (schema: OpenApiSchema, kind: KubernetesType["kind"]): unknown => {
  const { default: value } = schema
  if (JSON.stringify(value) !== "{}") return value
  return kind === "object" || kind === "map" ? emptyObject : undefined
}

const keyDefaultsOf = (list: OpenApiSchema, schemas: OpenApiSchemas): ReadonlyMap<string, unknown> => {
  const reference = list.items?.$ref ?? list.items?.allOf?.[0]?.$ref ?? ""
  const item = schemas[reference.slice("#/components/schemas/".length)] ?? list.items
  const defaults = new Map<string, unknown>()
  for (const key of list["x-kubernetes-list-map-keys"] ?? []) {
    const value = item?.properties?.[key]?.default
    if (value !== undefined) defaults.set(key, value)
  }
  return defaults
}

const simpleName = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

/** `io.k8s.api.apps.v1.Deployment` is `v1.Deployment`. */
const shortName = (name: string): string => name.split(".").slice(-2).join(".")

const scalarName = ({ type = "any", format }: OpenApiSchema): string => {
  if (type === "string") return format === "byte" ? format : type
  return type === "integer" ? (format ?? "int64") : type
}
