/** `/openapi/v2`, as JSON or as protobuf. */

import { createHash } from "node:crypto"
import type { Eventually } from "../answers/eventually.ts"
import { type Failure, fail } from "../answers/failure.ts"
import { parseAccept } from "../forms/accept.ts"
import type { Exchange } from "../http/exchange.ts"
import type { OpenApiDocuments } from "./openapi-document.ts"
import { type Swagger, type SwaggerEncoding, type SwaggerPieces, swaggerHead, swaggerOf } from "./swagger.ts"
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

// Makes the one document of `/openapi/v2` of the v3 documents of all groups.
//
// Each v3 document is converted once, in a turn of the event loop of its own: all of them in one turn took 0.2 to 1 s,
// in which nothing else was served, and again after each new kind.

interface Converted {
  /** Of the v3 document. */
  readonly hash: string
  readonly pieces: SwaggerPieces
}

/** The document, and a hash that changes with it. */
interface MadeSwagger {
  readonly body: Buffer
  readonly hash: string
}

/** One for the documents of a server: it keeps what it has converted. */
export class SwaggerMaker {
  readonly #documents: OpenApiDocuments
  /** By encoding, then by the path of the v3 document. */
  readonly #converted = new Map<SwaggerEncoding, Map<string, Converted>>()

  constructor(documents: OpenApiDocuments) {
    this.#documents = documents
  }

  /** Of the document as it would be made now; the same for each encoding. */
  hash(): string {
    const hash = createHash("sha512")
    for (const path of this.#documents.paths()) hash.update(`${path} ${this.#documents.hash(path)}\n`)
    return hash.digest("hex").toUpperCase()
  }

  async make(encoding: SwaggerEncoding): Promise<MadeSwagger> {
    for (const path of this.#documents.paths()) {
      if (this.#known(encoding, path) !== undefined) continue
      await new Promise((resolve) => setImmediate(resolve))
      this.#convert(encoding, path)
    }
    // Kinds may have come or gone meanwhile. From here on everything happens in one turn.
    const paths = this.#documents.paths()
    const all = paths.map((path) => this.#known(encoding, path) ?? this.#convert(encoding, path))
    const converted = this.#converted.get(encoding)
    for (const path of converted?.keys() ?? []) if (!paths.includes(path)) converted?.delete(path)
    const part = (name: keyof Swagger): ReadonlyArray<Uint8Array> => firstOf(all.map((pieces) => pieces[name]))
    const body = encoding.join({
      paths: part("paths"),
      definitions: part("definitions"),
      parameters: part("parameters"),
    })
    return { body, hash: this.hash() }
  }

  /** The converted document; `undefined` before its first conversion, and if the document has changed after it. */
  #known(encoding: SwaggerEncoding, path: string): SwaggerPieces | undefined {
    const converted = this.#converted.get(encoding)?.get(path)
    return converted?.hash === this.#documents.hash(path) ? converted.pieces : undefined
  }

  #convert(encoding: SwaggerEncoding, path: string): SwaggerPieces {
    const pieces = encoding.encode(swaggerOf(this.#documents.parsed(path)))
    const converted = this.#converted.get(encoding) ?? new Map<string, Converted>()
    this.#converted.set(encoding, converted.set(path, { hash: this.#documents.hash(path), pieces }))
    return pieces
  }
}

/** Of each name the first: documents repeat what they refer to. */
const firstOf = (all: ReadonlyArray<ReadonlyMap<string, Uint8Array>>): ReadonlyArray<Uint8Array> => {
  const first = new Map<string, Uint8Array>()
  for (const pieces of all) for (const [name, piece] of pieces) if (!first.has(name)) first.set(name, piece)
  return [...first.values()]
}
