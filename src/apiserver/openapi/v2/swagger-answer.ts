/** `/openapi/v2`, as JSON or as protobuf. */

import type { Eventually } from "../../answers/eventually.ts"
import { type Failure, fail } from "../../answers/failure.ts"
import { parseAccept } from "../../forms/accept.ts"
import type { Exchange } from "../../http/exchange.ts"
import type { OpenApiDocuments } from "../openapi-document.ts"
import { swaggerHead } from "./swagger.ts"
import type { SwaggerEncoding } from "./swagger-encoding.ts"
import { type MadeSwagger, SwaggerMaker } from "./swagger-maker.ts"
import { protobufEncoding } from "./swagger-protobuf.ts"

// An OpenAPI v2 document in JSON.

/** For clients that name no type, too. */
export const jsonEncoding: SwaggerEncoding = {
  contentType: "application/json",
  encode: ({ paths, definitions, parameters }) => ({
    paths: members(paths),
    definitions: members(definitions),
    parameters: members(parameters),
  }),
  join: ({ paths, definitions, parameters }) =>
    Buffer.concat([
      Buffer.from(`${JSON.stringify(swaggerHead).slice(0, -1)},"paths":{`),
      ...separated(paths),
      Buffer.from('},"definitions":{'),
      ...separated(definitions),
      Buffer.from('},"parameters":{'),
      ...separated(parameters),
      Buffer.from("}}"),
    ]),
}

const members = (values: Readonly<Record<string, unknown>>): ReadonlyMap<string, Uint8Array> =>
  new Map(
    Object.entries(values).map(([name, value]) => [
      name,
      Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`),
    ]),
  )

const comma = Buffer.from(",")

const separated = (pieces: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> =>
  pieces.flatMap((piece, index) => (index === 0 ? [piece] : [comma, piece]))

/** By what clients accept. The second name of protobuf is the one that kubectl and helm use. */
const encodings: Readonly<Record<string, SwaggerEncoding>> = {
  "application/json": jsonEncoding,
  "application/*": jsonEncoding,
  "*/*": jsonEncoding,
  [protobufEncoding.contentType]: protobufEncoding,
  "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": protobufEncoding,
}

const makers = new WeakMap<OpenApiDocuments, SwaggerMaker>()

/** Answers the exchange once the document is made, or returns the failure to send. */
export const answerSwagger = (exchange: Exchange, documents: OpenApiDocuments): Failure | undefined => {
  const clauses = parseAccept(exchange.request.headers.accept ?? "")
  const types = clauses.length === 0 ? ["*/*"] : clauses.map(({ type, subtype }) => `${type}/${subtype}`)
  const wanted = types.find((type) => Object.hasOwn(encodings, type))
  const encoding = wanted === undefined ? undefined : encodings[wanted]
  if (encoding === undefined) return fail(406, "", { plainText: true })
  const maker = makers.get(documents) ?? new SwaggerMaker(documents)
  makers.set(documents, maker)
  const hash = maker.hash()
  const isKnown = exchange.request.headers["if-none-match"] === `"${hash}"`
  const made: Eventually<MadeSwagger> = isKnown ? { body: Buffer.alloc(0), hash } : maker.make(encoding)
  exchange.whenReady(made, (ready) => exchange.document(ready.body, ready.hash, false, encoding.contentType))
  return undefined
}
