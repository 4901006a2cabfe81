/** An OpenAPI v2 document in JSON. */

import { swaggerHead } from "./swagger.ts"
import type { SwaggerEncoding } from "./swagger-encoding.ts"

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
