/** Short answers of the HTTP interface: text for people, JSON for programs. */
import type { ServerResponse } from "node:http"
import type { ExportRefusal } from "../export/request.ts"

const plain = "text/plain; charset=utf-8"

export const text = (response: ServerResponse, status: number, body: string, type = plain): void => {
  // What an export had said of itself before it failed is no part of a refusal.
  response.removeHeader("Trailer")
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) })
  response.end(body)
}

export const json = (response: ServerResponse, status: number, value: unknown): void =>
  text(response, status, `${JSON.stringify(value)}\n`, "application/json")

/** One line, which is the reason. A client that is gone gets none. */
export const refuse = (response: ServerResponse, { status, message, retryAfterSeconds }: ExportRefusal): void => {
  if (response.destroyed || response.headersSent) return
  if (retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(retryAfterSeconds))
  text(response, status, `${message}\n`)
}
