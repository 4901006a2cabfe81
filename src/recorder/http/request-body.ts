/** Reads the body of a request, up to the largest size of an export request, which is more than any other needs. */
import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"

/** Largest body in bytes, as in SimKube. */
const exportRequestBytes = 1024 * 1024

/**
 * Bytes of an oversized body that are read and discarded before it is rejected. A client that is still writing when the connection is
 * closed sees a broken pipe instead of the response; beyond this size we accept that.
 */
const mostDiscardedBytes = 16 * exportRequestBytes

/** `gone`: the client has disconnected, so there is no one to respond to. */
type RequestBody =
  | { readonly tag: "whole"; readonly text: string }
  | { readonly tag: "too-large"; readonly status: 413; readonly message: string }
  | { readonly tag: "not-text"; readonly status: 400; readonly message: string }
  | { readonly tag: "gone" }

const tooLarge: RequestBody = {
  tag: "too-large",
  status: 413,
  message: `the body may have at most ${exportRequestBytes} bytes`,
}

/** Decoded anyway, a name would contain other characters than were sent, and match nothing. */
const notText: RequestBody = { tag: "not-text", status: 400, message: "the body is not UTF-8" }

/** Never rejects. Bytes beyond the limit are read and discarded, so that the client gets to read the response. */
export const readBody = (request: IncomingMessage): Promise<RequestBody> =>
  new Promise((resolve) => {
    const pieces: Array<Buffer> = []
    let length = 0
    if (Number(request.headers["content-length"] ?? 0) > mostDiscardedBytes) resolve(tooLarge)
    request.on("data", (piece: Buffer) => {
      length += piece.length
      if (length <= exportRequestBytes) pieces.push(piece)
      else {
        pieces.length = 0
        if (length > mostDiscardedBytes) resolve(tooLarge)
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
