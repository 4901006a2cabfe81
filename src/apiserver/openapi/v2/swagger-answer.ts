/** `/openapi/v2`, as JSON or as protobuf. Made when it is first asked for, and again when kinds have come or gone. */

import { createHash } from "node:crypto"
import { type Failure, fail } from "../../answers/failure.ts"
import { parseAccept } from "../../forms/accept.ts"
import type { Exchange } from "../../http/exchange.ts"
import type { OpenApiDocuments } from "../openapi-document.ts"
import { swaggerOf } from "./swagger.ts"
import { swaggerBytes } from "./swagger-protobuf.ts"

const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
const protobufTypes = new Set([protobufType, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"])

interface Made {
  /** Of the state of the kinds that it was made from. */
  readonly version: number
  readonly json: Buffer
  readonly protobuf: Buffer
  readonly hash: string
}

const made = new WeakMap<OpenApiDocuments, Made>()

export const answerSwagger = (exchange: Exchange, documents: OpenApiDocuments): Failure | undefined => {
  const clauses = parseAccept(exchange.request.headers.accept ?? "")
  const types = clauses.length === 0 ? ["application/json"] : clauses.map(({ type, subtype }) => `${type}/${subtype}`)
  const isJson = (type: string): boolean => ["application/json", "application/*", "*/*"].includes(type)
  const wanted = types.find((type) => isJson(type) || protobufTypes.has(type))
  if (wanted === undefined) return fail(406, "", { plainText: true })
  const known = made.get(documents)
  const document = known?.version === documents.version ? known : make(documents)
  made.set(documents, document)
  if (isJson(wanted)) exchange.document(document.json, document.hash, false)
  else exchange.document(document.protobuf, document.hash, false, protobufType)
  return undefined
}

const make = (documents: OpenApiDocuments): Made => {
  const swagger = swaggerOf(documents.parsed())
  const json = Buffer.from(JSON.stringify(swagger))
  const hash = createHash("sha512").update(json).digest("hex").toUpperCase()
  return { version: documents.version, json, protobuf: Buffer.from(swaggerBytes(swagger)), hash }
}
