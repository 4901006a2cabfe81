/**
 * What never becomes a request: bytes that Node's parser rejects, and CONNECT. An unknown method and CONNECT get the 405 in JSON of any
 * other wrong method; the rest gets Node's own response.
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

/** The connection is closed after the response, since the start of the next request is unknown. */
export const answerUnknownMethods = (server: Server, format: JsonFormat): void => {
  // Without a listener Node closes the connection, and a client waits for a response that never comes.
  server.on("connect", (_request, socket) => {
    // Node has let go of the socket. A client that is gone is not a defect.
    socket.on("error", () => socket.destroy())
    socket.end(refusal(format(statusText(methodNotAllowed))))
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const code = error.code ?? ""
    // A broken connection has no client to respond to.
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
