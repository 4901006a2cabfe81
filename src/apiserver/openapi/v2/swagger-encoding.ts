/** How an OpenAPI v2 document is encoded: piece by piece, so that the pieces of v3 documents that do not change are kept. */

import type { Swagger } from "./swagger.ts"

/** Encoded paths, definitions and parameters of one v3 document, by name. */
export type SwaggerPieces = { readonly [part in keyof Swagger]: ReadonlyMap<string, Uint8Array> }

/** JSON or protobuf. */
export interface SwaggerEncoding {
  readonly contentType: string
  encode(swagger: Swagger): SwaggerPieces
  /** The whole document. */
  join(pieces: { readonly [part in keyof Swagger]: ReadonlyArray<Uint8Array> }): Buffer
}
