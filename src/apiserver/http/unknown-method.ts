/**
 * What never becomes a request: bytes that Node's parser refuses. A method that it does not know is answered as any other
 * wrong method, with a 405 that says so in JSON; the rest as Node answers it by itself.
 */

import { randomUUID } from "node:crypto"
import type { Server } from "node:http"
import { methodNotAllowed, statusText } from "../answers/failure.ts"
import type { JsonFormat } from "../answers/json-spacing.ts"

const statusLines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
}

/** The connection ends with the answer: where the next request would begin, nobody knows. */
export const answerUnknownMethods = (server: Server, format: JsonFormat): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const code = error.code ?? ""
    // A connection that broke down has nobody at its other end.
    if (!socket.writable || code === "ECONNRESET") socket.destroy()
    else if (code === "HPE_INVALID_METHOD") socket.end(refusal(format(statusText(methodNotAllowed))))
    else socket.end(`HTTP/1.1 ${statusLines[code] ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`)
  })
}

const refusal = (body: string): string =>
  [
    "HTTP/1.1 405 Method Not Allowed",
    `Audit-Id: ${randomUUID()}`,
    "Cache-Control: no-cache, private",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n")
