/**
 * An OpenAPI v2 document in protobuf, as `openapi_v2.Document` of gnostic: the form in which kubectl asks for it.
 * Numbers are those of its messages; extensions are YAML in strings, and JSON is YAML.
 */
import protobuf from "protobufjs/minimal.js"
import { methods } from "./openapi-document.ts"
import {
  type ParameterReference,
  type SwaggerEncoding,
  type SwaggerOperation,
  type SwaggerParameter,
  type SwaggerPath,
  type SwaggerSchema,
  swaggerHead,
} from "./swagger.ts"

type Writer = protobuf.Writer

/** `write` fills in the message. */
const message = (writer: Writer, field: number, write: (inside: Writer) => void): void => {
  writer.uint32((field << 3) | 2).fork()
  write(writer)
  writer.ldelim()
}

const text = (writer: Writer, field: number, value: unknown): void => {
  if (value !== undefined) writer.uint32((field << 3) | 2).string(String(value))
}

const texts = (writer: Writer, field: number, values: ReadonlyArray<unknown> = []): void => {
  for (const value of values) text(writer, field, value)
}

const flag = (writer: Writer, field: number, value: unknown): void => {
  if (value === true) writer.uint32(field << 3).bool(true)
}

const integer = (writer: Writer, field: number, value: unknown): void => {
  if (typeof value === "number") writer.uint32(field << 3).int64(value)
}

const decimal = (writer: Writer, field: number, value: unknown): void => {
  if (typeof value === "number") writer.uint32((field << 3) | 1).double(value)
}

/** `Any`, by its YAML. */
const yaml = (writer: Writer, field: number, value: unknown): void => {
  if (value !== undefined) message(writer, field, (inside) => text(inside, 2, `${JSON.stringify(value)}\n`))
}

const extensions = (writer: Writer, field: number, object: object): void => {
  for (const [name, value] of Object.entries(object)) {
    if (!name.startsWith("x-")) continue
    message(writer, field, (inside) => {
      text(inside, 1, name)
      yaml(inside, 2, value)
    })
  }
}

const entry = <Value>(
  writer: Writer,
  field: number,
  [name, value]: readonly [string, Value],
  write: (inside: Writer, value: Value) => void,
): void =>
  message(writer, field, (inside) => {
    text(inside, 1, name)
    message(inside, 2, (content) => write(content, value))
  })

const named = <Value>(
  writer: Writer,
  field: number,
  values: Readonly<Record<string, Value>>,
  write: (inside: Writer, value: Value) => void,
): void => {
  for (const member of Object.entries(values)) entry(writer, field, member, write)
}

/** As kubectl and helm ask for it. */
export const protobufEncoding: SwaggerEncoding = {
  contentType: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  encode: ({ paths, definitions, parameters }) => ({
    paths: entries(2, paths, writePath),
    definitions: entries(1, definitions, writeSchema),
    parameters: entries(1, parameters, writeParameter),
  }),
  join: ({ paths, definitions, parameters }) => {
    const head = protobuf.Writer.create()
    text(head, 1, swaggerHead.swagger)
    message(head, 2, (inside) => {
      text(inside, 1, swaggerHead.info.title)
      text(inside, 2, swaggerHead.info.version)
    })
    return Buffer.concat([head.finish(), ...part(8, paths), ...part(9, definitions), ...part(10, parameters)])
  },
}

const entries = <Value>(
  field: number,
  values: Readonly<Record<string, Value>>,
  write: (inside: Writer, value: Value) => void,
): ReadonlyMap<string, Uint8Array> =>
  new Map(
    Object.entries(values).map((member) => {
      const writer = protobuf.Writer.create()
      entry(writer, field, member, write)
      return [member[0], writer.finish()]
    }),
  )

/** A message that consists of these entries. */
const part = (field: number, pieces: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const head = protobuf.Writer.create()
  return [
    head
      .uint32((field << 3) | 2)
      .uint32(length)
      .finish(),
    ...pieces,
  ]
}

const operationFields = { get: 2, put: 3, post: 4, delete: 5, options: 6, head: 7, patch: 8 } as const

const writePath = (writer: Writer, path: SwaggerPath): void => {
  for (const method of methods) {
    const operation = path[method]
    if (operation !== undefined) message(writer, operationFields[method], (inside) => writeOperation(inside, operation))
  }
  for (const parameter of path.parameters ?? []) message(writer, 9, (inside) => writeItem(inside, parameter))
}

const writeOperation = (writer: Writer, operation: SwaggerOperation): void => {
  texts(writer, 1, operation.tags)
  text(writer, 3, operation.description)
  text(writer, 5, operation.operationId)
  texts(writer, 6, operation.produces)
  texts(writer, 7, operation.consumes)
  for (const parameter of operation.parameters ?? []) message(writer, 8, (inside) => writeItem(inside, parameter))
  message(writer, 9, (responses) =>
    named(responses, 1, operation.responses, (value, { description, schema }) =>
      message(value, 1, (response) => {
        text(response, 1, description)
        if (schema !== undefined)
          message(response, 2, (item) => message(item, 1, (inside) => writeSchema(inside, schema)))
      }),
    ),
  )
  texts(writer, 10, operation.schemes)
  extensions(writer, 13, operation)
}

const writeItem = (writer: Writer, parameter: SwaggerParameter | ParameterReference): void => {
  if ("$ref" in parameter) message(writer, 2, (inside) => text(inside, 1, parameter.$ref))
  else message(writer, 1, (inside) => writeParameter(inside, parameter))
}

const writeParameter = (writer: Writer, parameter: SwaggerParameter): void => {
  const { name, in: place, description, required, schema, type, uniqueItems } = parameter
  if (schema !== undefined) {
    message(writer, 1, (body) => {
      text(body, 1, description)
      text(body, 2, name)
      text(body, 3, place)
      flag(body, 4, required)
      message(body, 5, (inside) => writeSchema(inside, schema))
    })
    return
  }
  // A query's type and flag come one later than a path's: it may also be empty.
  const [field, shift] = place === "path" ? ([4, 0] as const) : ([3, 1] as const)
  message(writer, 2, (inside) =>
    message(inside, field, (own) => {
      flag(own, 1, required)
      text(own, 2, place)
      text(own, 3, description)
      text(own, 4, name)
      text(own, 5 + shift, type)
      flag(own, 19 + shift, uniqueItems)
    }),
  )
}

const writeSchema = (writer: Writer, schema: SwaggerSchema): void => {
  text(writer, 1, schema.$ref)
  text(writer, 2, schema.format)
  text(writer, 3, schema.title)
  text(writer, 4, schema.description)
  yaml(writer, 5, schema.default)
  decimal(writer, 6, schema.multipleOf)
  decimal(writer, 7, schema.maximum)
  flag(writer, 8, schema.exclusiveMaximum)
  decimal(writer, 9, schema.minimum)
  flag(writer, 10, schema.exclusiveMinimum)
  integer(writer, 11, schema.maxLength)
  integer(writer, 12, schema.minLength)
  text(writer, 13, schema.pattern)
  integer(writer, 14, schema.maxItems)
  integer(writer, 15, schema.minItems)
  flag(writer, 16, schema.uniqueItems)
  integer(writer, 17, schema.maxProperties)
  integer(writer, 18, schema.minProperties)
  texts(writer, 19, schema.required)
  for (const value of schema.enum ?? []) yaml(writer, 20, value)
  writeAdditional(writer, schema.additionalProperties)
  if (schema.type !== undefined) message(writer, 22, (inside) => text(inside, 1, schema.type))
  const { items, properties } = schema
  if (items !== undefined) message(writer, 23, (list) => message(list, 1, (inside) => writeSchema(inside, items)))
  if (properties !== undefined) message(writer, 25, (inside) => named(inside, 1, properties, writeSchema))
  extensions(writer, 31, schema)
}

const writeAdditional = (writer: Writer, additional: SwaggerSchema["additionalProperties"]): void => {
  if (typeof additional === "boolean") message(writer, 21, (inside) => inside.uint32(2 << 3).bool(additional))
  else if (additional !== undefined)
    message(writer, 21, (item) => message(item, 1, (inside) => writeSchema(inside, additional)))
}
