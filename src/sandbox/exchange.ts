/** One request and its one answer: what was asked, and the ways to answer it. */

import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type Failure, statusText } from "./failure.ts"
import type { JsonFormat } from "./json-spacing.ts"
import { flag } from "./list-options.ts"
import { parseRoute, type Route } from "./router.ts"
import { discoveryScope } from "./scope.ts"

const writeVerbs: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" }

export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** Raw, without the question mark. */
  readonly queryText: string
  readonly query: URLSearchParams
  readonly route: Route
  readonly verb: string
  /** The plural asked for, or {@link discoveryScope}. */
  readonly scope: string
  /** Set by the server; told the status when the answer begins. */
  onStatus: (status: number) => void = () => undefined
  readonly #format: JsonFormat

  constructor(request: IncomingMessage, response: ServerResponse, format: JsonFormat) {
    const url = request.url ?? "/"
    const mark = url.indexOf("?")
    this.request = request
    this.response = response
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.queryText = mark < 0 ? "" : url.slice(mark + 1)
    this.query = new URLSearchParams(this.queryText)
    this.route = parseRoute(this.path)
    this.verb = verbOf(request.method ?? "GET", this.route, this.query)
    this.scope = this.route.type === "resource" ? this.route.plural : discoveryScope
    this.#format = format
    // The body of a write is not read, but must be drained before the connection can serve another request.
    request.resume()
  }

  /** Whether the client is still there to be answered. */
  get open(): boolean {
    return !this.response.destroyed && !this.response.writableEnded
  }

  json(value: object): void {
    this.text(JSON.stringify(value))
  }

  /** Answers 200 with JSON that is encoded already. */
  text(json: string): void {
    this.#end(200, "application/json", this.#format(json), {})
  }

  plain(text: string): void {
    this.#end(200, "text/plain; charset=utf-8", text, { "X-Content-Type-Options": "nosniff" })
  }

  fail(failure: Failure): void {
    const headers: Record<string, string> = {}
    if (failure.retryAfterSeconds !== undefined) headers["Retry-After"] = String(failure.retryAfterSeconds)
    if (failure.plainText === true) {
      headers["X-Content-Type-Options"] = "nosniff"
      this.#end(failure.code, "text/plain; charset=utf-8", failure.message, headers)
    } else {
      this.#end(failure.code, "application/json", this.#format(statusText(failure)), headers)
    }
  }

  /** Sends the head of a chunked 200; the caller writes and ends the body. */
  begin(): ServerResponse {
    this.#head(200, "application/json", {})
    this.response.flushHeaders()
    return this.response
  }

  #end(status: number, contentType: string, body: string, headers: Readonly<Record<string, string>>): void {
    if (!this.open) return
    const bytes = Buffer.from(body, "utf8")
    this.#head(status, contentType, { ...headers, "Content-Length": String(bytes.length) })
    this.response.end(bytes)
  }

  #head(status: number, contentType: string, headers: Readonly<Record<string, string>>): void {
    this.onStatus(status)
    this.response.writeHead(status, {
      "Audit-Id": randomUUID(),
      "Cache-Control": "no-cache, private",
      "Content-Type": contentType,
      ...headers,
    })
  }
}

const verbOf = (method: string, route: Route, query: URLSearchParams): string => {
  if (route.type !== "resource") return "discovery"
  if (method !== "GET") return writeVerbs[method] ?? method.toLowerCase()
  if (route.name !== undefined) return "get"
  return flag(query, "watch") === true ? "watch" : "list"
}
