/**
 * What `/openapi/v2` says in place of a v3 document, for clients that know no v3 (kubectl before 1.27, older helm).
 * What v2 cannot say, or its readers do not understand, is left out, as the real server does: alternatives, nullable
 * values, defaults.
 */
import { hash } from "node:crypto"
import {
  methods,
  type OpenApiV3,
  type V3Content,
  type V3Operation,
  type V3Parameter,
  type V3Path,
  type V3Schema,
} from "./openapi-document.ts"

/** What comes before the parts. */
export const swaggerHead = { swagger: "2.0", info: { title: "Kubernetes", version: "1.34" } } as const

/** The parts of the v2 document, of one v3 document. Parameters of the same name are the same in all. */
export interface Swagger {
  readonly paths: Readonly<Record<string, SwaggerPath>>
  readonly definitions: Readonly<Record<string, SwaggerSchema>>
  readonly parameters: Readonly<Record<string, SwaggerParameter>>
}

/** A definition, or a schema within one. */
export type SwaggerSchema = V3Schema

/** Of a path, a query or, with a schema, a body. */
export interface SwaggerParameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly required?: boolean
  /** Of a body. */
  readonly schema?: SwaggerSchema
  readonly type?: string
  readonly uniqueItems?: boolean
}

/** Names one of the shared parameters. */
export interface ParameterReference {
  readonly $ref: string
}

/** What one method does at a path. */
export interface SwaggerOperation {
  readonly description?: string
  readonly consumes?: ReadonlyArray<string>
  readonly produces?: ReadonlyArray<string>
  readonly schemes: ReadonlyArray<string>
  readonly tags?: ReadonlyArray<string>
  readonly operationId?: string
  readonly parameters?: ReadonlyArray<SwaggerParameter | ParameterReference>
  readonly responses: Readonly<Record<string, { readonly description: string; readonly schema?: SwaggerSchema }>>
  readonly [extension: `x-${string}`]: unknown
}

/** A path: its operations, and the parameters that all of them have. */
export type SwaggerPath = { readonly [method in (typeof methods)[number]]?: SwaggerOperation } & {
  readonly parameters?: ReadonlyArray<SwaggerParameter | ParameterReference>
}

/** Converts one v3 document. */
export const swaggerOf = ({ paths: described, components }: OpenApiV3): Swagger => {
  const paths: Record<string, SwaggerPath> = {}
  const definitions: Record<string, SwaggerSchema> = {}
  const shared = new SharedParameters()
  for (const [path, item] of Object.entries(described)) paths[path] = pathOf(item, shared)
  for (const [name, schema] of Object.entries(components.schemas)) definitions[name] = schemaOf(schema)
  return { paths, definitions, parameters: shared.all }
}

/** Old clients look for these in the operation itself. */
const inlined = new Set(["dryRun", "fieldValidation", "name"])

/** Parameters that occur often are written once. */
class SharedParameters {
  readonly #known = new Map<string, string>()
  readonly all: Record<string, SwaggerParameter> = {}

  share(parameter: SwaggerParameter): SwaggerParameter | ParameterReference {
    if (inlined.has(parameter.name)) return parameter
    const text = JSON.stringify(parameter)
    let key = this.#known.get(text)
    if (key === undefined) {
      key = `${parameter.name}-${hash("sha256", text, "base64url").slice(0, 8)}`
      this.#known.set(text, key)
      this.all[key] = parameter
    }
    return { $ref: `#/parameters/${key}` }
  }
}

const pathOf = (item: V3Path, shared: SharedParameters): SwaggerPath => {
  const operations = methods.flatMap((method) => {
    const operation = item[method]
    return operation === undefined ? [] : [[method, operationOf(operation, shared)] as const]
  })
  const parameters = parametersOf(item, shared)
  return { ...Object.fromEntries(operations), ...(parameters.length > 0 && { parameters }) }
}

const parametersOf = (
  { parameters = [] }: { readonly parameters?: ReadonlyArray<V3Parameter> },
  shared: SharedParameters,
) => parameters.map(({ schema, ...parameter }) => shared.share({ ...schema, ...parameter }))

const operationOf = (operation: V3Operation, shared: SharedParameters): SwaggerOperation => {
  const { description, operationId, tags, requestBody, responses, parameters: _parameters, ...rest } = operation
  const body = bodyOf(requestBody)
  const parameters = [...(body === undefined ? [] : [shared.share(body)]), ...parametersOf(operation, shared)]
  const answers = Object.entries(responses)
  const produces = [...new Set(answers.flatMap(([, { content }]) => Object.keys(content ?? {})))]
  const consumes = Object.keys(requestBody?.content ?? {}).filter((type) => type !== "*/*")
  return {
    ...(description !== undefined && { description }),
    consumes: consumes.length > 0 ? consumes : ["*/*"],
    produces,
    schemes: ["https"],
    ...(tags !== undefined && { tags }),
    ...(operationId !== undefined && { operationId }),
    ...(parameters.length > 0 && { parameters }),
    responses: Object.fromEntries(answers.map(([code, answer]) => [code, answerOf(answer)])),
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => name.startsWith("x-"))),
  }
}

const firstSchema = (content: V3Content = {}): SwaggerSchema | undefined => {
  const [media] = Object.values(content)
  return media?.schema === undefined ? undefined : schemaOf(media.schema)
}

const bodyOf = (requestBody: V3Operation["requestBody"]): SwaggerParameter | undefined => {
  const schema = firstSchema(requestBody?.content)
  if (schema === undefined) return undefined
  return { name: "body", in: "body", ...(requestBody?.required === true && { required: true }), schema }
}

const answerOf = ({ description, content }: V3Operation["responses"][string]) => {
  const schema = firstSchema(content)
  return { description, ...(schema !== undefined && { schema }) }
}

const reference = (ref: unknown): string => String(ref).replace("#/components/schemas/", "#/definitions/")

/** Members without a counterpart in v2. */
const dropped = new Set(["allOf", "anyOf", "oneOf", "not", "nullable", "default"])

const schemaOf = (schema: V3Schema): SwaggerSchema => {
  const { $ref, allOf, description, format } = schema
  const [only] = allOf?.length === 1 ? allOf : []
  const target = $ref ?? only?.$ref
  if (target !== undefined) {
    const extensions = Object.entries(schema).filter(([name]) => name.startsWith("x-"))
    return {
      ...(description !== undefined && { description }),
      ...Object.fromEntries(extensions),
      $ref: reference(target),
    }
  }
  const { items, properties, additionalProperties } = schema
  const converted: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) if (!dropped.has(name)) converted[name] = value
  if (items !== undefined) converted.items = schemaOf(items)
  if (typeof additionalProperties === "object") converted.additionalProperties = schemaOf(additionalProperties)
  if (properties !== undefined)
    converted.properties = Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, schemaOf(value)]))
  if (format === "int-or-string" && schema["x-kubernetes-int-or-string"] === undefined) converted.type = "string"
  return readableByKubectl(schema, converted)
}

/**
 * Untyped values with items or properties, and lists without items, break kubectl's reader: they lose what breaks it.
 */
const readableByKubectl = (schema: V3Schema, converted: Record<string, unknown>): SwaggerSchema => {
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true
  if (schema.nullable === true || keepsUnknown) {
    delete converted.items
    delete converted.properties
  }
  const { type } = converted
  if (
    schema.nullable === true ||
    (type === "array" && converted.items === undefined) ||
    (type === "object" && keepsUnknown)
  )
    delete converted.type
  const { properties = {} } = schema
  const required = schema.required?.filter((name) => properties[name]?.nullable !== true)
  if (required !== undefined && required.length > 0) converted.required = required
  else delete converted.required
  return converted
}

// How an OpenAPI v2 document is encoded: piece by piece, so that the pieces of v3 documents that do not change are
// kept.

/** Encoded paths, definitions and parameters of one v3 document, by name. */
export type SwaggerPieces = { readonly [part in keyof Swagger]: ReadonlyMap<string, Uint8Array> }

/** JSON or protobuf. */
export interface SwaggerEncoding {
  readonly contentType: string
  encode(swagger: Swagger): SwaggerPieces
  /** The whole document. */
  join(pieces: { readonly [part in keyof Swagger]: ReadonlyArray<Uint8Array> }): Buffer
}
