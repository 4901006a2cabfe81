/** Reads the body of a request, no more of it than an export request can have. */
import { isUtf8 } from "node:buffer"
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
  | { readonly tag: "not-text"; readonly status: 400; readonly message: string }
  | { readonly tag: "gone" }

const tooLarge: RequestBody = {
  tag: "too-large",
  status: 413,
  message: `an export request may have at most ${exportRequestBytes} bytes`,
}

/** Read all the same, a name would have other characters than were sent, and match nothing. */
const notText: RequestBody = { tag: "not-text", status: 400, message: "the body is not UTF-8" }

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
      const body = Buffer.concat(pieces)
      if (length > exportRequestBytes) resolve(tooLarge)
      else resolve(isUtf8(body) ? { tag: "whole", text: body.toString("utf8") } : notText)
    })
    request.on("error", () => resolve({ tag: "gone" }))
    request.on("close", () => resolve({ tag: "gone" }))
  })
