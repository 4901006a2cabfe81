/** Reads the body of a request, no more of it than an export request can have. */
import type { IncomingMessage } from "node:http"

/** Largest body in bytes, SimKube's limit. */
export const exportRequestBytes = 1024 * 1024

/**
 * Bytes of a body that are read, though forgotten, before it is refused. A client that is still writing when the connection is
 * closed sees a broken pipe instead of the refusal; beyond this, one that will not listen has to bear that.
 */
const patienceBytes = 16 * exportRequestBytes

/** `gone`: the client has given up, there is nobody to answer. */
export type RequestBody =
  | { readonly tag: "whole"; readonly text: string }
  | { readonly tag: "too-large"; readonly status: 413; readonly message: string }
  | { readonly tag: "gone" }

const tooLarge: RequestBody = {
  tag: "too-large",
  status: 413,
  message: `an export request has at most ${exportRequestBytes} bytes`,
}

/** Never rejects. What is beyond the limit is taken from the socket and forgotten, so that the client comes to read the answer. */
export const readBody = (request: IncomingMessage): Promise<RequestBody> =>
  new Promise((resolve) => {
    const pieces: Array<Buffer> = []
    let length = 0
    if (Number(request.headers["content-length"] ?? 0) > patienceBytes) resolve(tooLarge)
    request.on("data", (piece: Buffer) => {
      length += piece.length
      if (length <= exportRequestBytes) pieces.push(piece)
      else {
        pieces.length = 0
        if (length > patienceBytes) resolve(tooLarge)
      }
    })
    request.on("end", () => {
      if (length > exportRequestBytes) resolve(tooLarge)
      else resolve({ tag: "whole", text: Buffer.concat(pieces).toString("utf8") })
    })
    request.on("error", () => resolve({ tag: "gone" }))
    request.on("close", () => resolve({ tag: "gone" }))
  })
