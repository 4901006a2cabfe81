/** One request and its one response: what was asked, and the ways to answer it. */

import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { stringify } from "yaml"
import type { Clock } from "../../clock.ts"
import type { Eventually } from "../answers/eventually.ts"
import { type Failure, internalError, statusText } from "../answers/failure.ts"
import type { Reply } from "../answers/reply.ts"
import { parseAccept, takes } from "../forms/accept.ts"
import type { JsonFormat } from "../kinds/json-spacing.ts"
import type { RequestUser } from "./access-control.ts"
import { discoveryScope } from "./request-log.ts"
import { parseRoute, type Route } from "./router.ts"
import { guarded, type OnTrouble, troubleOf, warnProcess } from "./trouble.ts"
import { atTurnEnd } from "./turn.ts"
import type { WatchOutput } from "./watch-stream.ts"
import type { WebSocketRequest } from "./web-socket.ts"

// `Warning` headers as Kubernetes 1.34.4 writes them (RFC 7234: code 299, no agent, a quoted text): UTF-8 unescaped, no
// text twice, none with control characters, and all shortened if together they would be too long for clients, which
// accept some 16 kB of headers.

/** Characters of all texts together beyond which each is shortened. The real server's number. */
const wholeLimit = 4096
/** Characters of a text that is shortened. */
const shortenedLength = 256

/** The values of the headers, in the order of the texts. Never throws. */
export const warningHeaders = (texts: ReadonlyArray<string>): string[] => {
  const kept = [...new Set(texts)].filter((text) => text !== "" && !/\p{Cc}/u.test(text))
  const whole = kept.map((text) => [...text.toWellFormed()])
  const total = whole.reduce((sum, { length }) => sum + length, 0)
  if (total <= wholeLimit) return whole.map(quoted)
  const headers: string[] = []
  let written = 0
  for (const characters of whole) {
    if (written >= wholeLimit) break
    const shown = characters.slice(0, shortenedLength)
    written += shown.length
    headers.push(quoted(shown))
  }
  return headers
}

const quoted = (characters: ReadonlyArray<string>): string =>
  `299 - "${characters.join("").replaceAll(/["\\]/g, "\\$&")}"`

/**
 * The value as Node takes it: one character for each byte of its UTF-8. Control characters, which would end the header
 * or make Node throw, become question marks.
 */
export const headerBytes = (value: string): string =>
  plain.test(value) ? value : Buffer.from(value.replaceAll(/\p{Cc}/gu, "?"), "utf8").toString("latin1")

const plain = /^[ -~]*$/

// Responses in YAML for clients that prefer it to JSON: like the output of Go's sigs.k8s.io/yaml for the same document,
// keys sorted.

const yamlType = "application/yaml"

/** Whether the first media type that the server has is YAML. `accept` is the header as sent. */
const prefersYaml = (accept: string | undefined): boolean => {
  // A cheap check first: every request pays for it, and hardly any asks for YAML.
  if (accept?.includes("yaml") !== true) return false
  const first = parseAccept(accept).find((clause) => takes(clause, "json") || takes(clause, "yaml"))
  return first !== undefined && !takes(first, "json")
}

/** Does not fold long lines as Go does; both mean the same. */
const yamlOf = (json: string): string =>
  stringify(JSON.parse(json), { sortMapEntries: true, indentSeq: false, aliasDuplicateObjects: false, version: "1.1" })

type Headers = Readonly<Record<string, string | string[]>>

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
  /** The client prefers YAML. Streams are JSON all the same. */
  readonly isYaml: boolean
  /** The plural asked for, or {@link discoveryScope}. */
  readonly scope: string
  /** Who sends the request; set by the {@link AccessControl}, absent without one. */
  user: RequestUser | undefined
  /** Set by the server; gets the status when the response begins. */
  onStatus: (status: number) => void = () => undefined
  /** Set by the server; called for defects of the server that a request reveals. */
  onTrouble: OnTrouble = warnProcess
  /**
   * Set by the server: the `Warning`s that are sent before all others, with every response; asked for when it begins.
   */
  ownWarnings: () => ReadonlyArray<string> = () => []
  readonly #format: JsonFormat
  /** What responses are dated by; `undefined`: by the machine's clock, as Node does. */
  readonly #clock: Pick<Clock, "wallMicros"> | undefined
  /** A response has been given; it is sent at the end of the turn. */
  #isAnswered = false
  readonly #webSocket: WebSocketRequest | undefined
  /** What the events of a watch go to, once it has begun. */
  #stream: WatchOutput | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    format: JsonFormat,
    clock: Pick<Clock, "wallMicros"> | undefined,
    webSocket?: WebSocketRequest,
  ) {
    this.#webSocket = webSocket
    const url = request.url ?? "/"
    const mark = url.indexOf("?")
    this.request = request
    this.response = response
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.queryText = mark < 0 ? "" : url.slice(mark + 1)
    this.query = readableParameters(this.queryText)
    this.route = parseRoute(this.path)
    if (this.route.type === "resource" && this.route.isWatch === true && this.route.name !== undefined) {
      const named = `metadata.name=${this.route.name.replace(/[\\,=]/g, "\\$&")}`
      this.query.set("fieldSelector", [this.query.get("fieldSelector") ?? "", named].join(","))
    }
    this.verb = verbOf(request.method ?? "GET", this.route, this.query)
    this.scope = this.route.type === "resource" ? this.route.plural : discoveryScope
    this.#format = format
    this.#clock = clock
    this.isYaml = prefersYaml(request.headers.accept)
    // Without a listener, a write to an ended response would end the process. Dead connections are not defects.
    response.on("error", (error) => {
      if (!response.destroyed) this.onTrouble(troubleOf(`${request.method} ${this.path}`, error))
    })
    // A body that is not read must be drained before the connection can serve another request. Node does so itself
    // after the response, but a read that waits for long should not block what the client has sent.
    if (!Object.hasOwn(writeVerbs, request.method ?? "")) request.resume()
  }

  /** Whether the client is still connected. */
  get open(): boolean {
    return !this.#isAnswered && !this.response.destroyed && !this.response.writableEnded
  }

  /** Runs a step of answering. Never throws: what the step throws is reported, and the client gets a 500. */
  attempt(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.#break(error)
    }
  }

  /**
   * Runs the step with a value: within this call, or later if it is a promise. A rejected promise counts as a step that
   * threw. To be called within {@link attempt}.
   */
  whenReady<Value>(value: Eventually<Value>, step: (value: Value) => void): void {
    if (!(value instanceof Promise)) return step(value)
    value.then(
      (ready) => this.attempt(() => step(ready)),
      (error: unknown) => this.#break(error),
    )
  }

  json(value: object): void {
    this.text(JSON.stringify(value))
  }

  /** Sends 200 with JSON that is encoded already. */
  text(json: string): void {
    this.#endDocument(200, json, {})
  }

  /** Sends JSON that proxies and clients may cache: 304 without a body if the client has it already. */
  cacheable(json: string, contentType: string, etag: string): void {
    const headers = { "Cache-Control": "public", ETag: etag, Vary: "Accept" }
    const { "if-none-match": known } = this.request.headers
    if (known === etag) this.#end(304, contentType, "", headers)
    else this.#end(200, contentType, this.#format(json), headers)
  }

  /** Redirects the client permanently to another path of this server. */
  redirect(location: string): void {
    this.#end(301, "text/html; charset=utf-8", "", { Location: location })
  }

  /**
   * Sends JSON, or what the type says, that changes only together with its hash. `immutable`: the request named that
   * hash.
   */
  document(body: Buffer, hash: string, immutable: boolean, contentType = "application/json"): void {
    const headers = {
      ETag: `"${hash}"`,
      Vary: "Accept",
      "Cache-Control": immutable ? "public, immutable" : "no-cache, private",
    }
    if (this.request.headers["if-none-match"] === `"${hash}"`) this.#end(304, contentType, "", headers)
    else this.#send(200, contentType, body, headers)
  }

  /** Answers a write, or a read of a subresource. */
  written({ status, json, warnings }: Reply): void {
    const headers = warnings.length === 0 ? {} : { Warning: warningHeaders(warnings) }
    if (typeof json === "string" || this.isYaml) this.#endDocument(status, json.toString(), headers)
    else this.#send(status, "application/json", json, headers)
  }

  plain(text: string, contentType = "text/plain; charset=utf-8"): void {
    this.#end(200, contentType, text, { "X-Content-Type-Options": "nosniff" })
  }

  fail(failure: Failure): void {
    const headers: Record<string, string | string[]> = {}
    if (failure.warnings !== undefined) headers.Warning = warningHeaders(failure.warnings)
    if (failure.retryAfterSeconds !== undefined) headers["Retry-After"] = String(failure.retryAfterSeconds)
    if (failure.plainText === true) {
      headers["X-Content-Type-Options"] = "nosniff"
      this.#end(failure.code, "text/plain; charset=utf-8", failure.message, headers)
    } else {
      this.#endDocument(failure.code, statusText(failure), headers)
    }
  }

  /** Sends the head of a chunked 200; the caller writes and ends the body. */
  begin(): ServerResponse {
    this.#head(200, "application/json", {})
    this.response.flushHeaders()
    return this.response
  }

  /** Why a watch cannot begin as what the client asks for; to be asked before {@link beginStream}. */
  get refusedStream(): Failure | undefined {
    return this.#webSocket?.refusal()
  }

  /** Begins a watch: a WebSocket if the client asks for one, else a chunked 200. */
  beginStream(): WatchOutput {
    if (this.#webSocket === undefined) this.#stream = this.begin()
    else {
      this.#stream = this.#webSocket.accept()
      this.#isAnswered = true
      this.onStatus(101)
    }
    return this.#stream
  }

  #endDocument(status: number, json: string, headers: Headers): void {
    if (this.isYaml) this.#end(status, yamlType, yamlOf(json), headers)
    else this.#end(status, "application/json", this.#format(json), headers)
  }

  #end(status: number, contentType: string, body: string, headers: Headers): void {
    this.#send(status, contentType, Buffer.from(body, "utf8"), headers)
  }

  #send(status: number, contentType: string, bytes: Buffer, headers: Headers): void {
    if (!this.open) return
    this.#head(status, contentType, { ...headers, "Content-Length": String(bytes.length) })
    this.#isAnswered = true
    atTurnEnd(() => {
      if (!this.response.destroyed) this.response.end(bytes)
    })
  }

  /** Reports the error, and sends a 500 if no response has been given. */
  #break(error: unknown): void {
    const where = `${this.request.method} ${this.path}`
    this.onTrouble(troubleOf(where, error))
    if (this.#stream !== undefined) this.#stream.destroy()
    else if (this.response.headersSent) this.response.destroy()
    else guarded(where, this.onTrouble, () => this.fail(internalError(String(error))))
  }

  #head(status: number, contentType: string, headers: Headers): void {
    const sent: Record<string, string | string[]> = {
      "Audit-Id": randomUUID(),
      "Cache-Control": "no-cache, private",
      "Content-Type": contentType,
    }
    if (this.#clock !== undefined) sent.Date = new Date(this.#clock.wallMicros() / 1000).toUTCString()
    for (const name of Object.keys(headers)) {
      const value = headers[name] ?? ""
      sent[name] = typeof value === "string" ? headerBytes(value) : value.map(headerBytes)
    }
    const own = this.ownWarnings()
    if (own.length > 0) sent.Warning = [warningHeaders(own).map(headerBytes), sent.Warning ?? []].flat(2)
    this.response.writeHead(status, sent)
    this.onStatus(status)
  }
}

/** As Go reads them: a parameter with a broken escape, or with a semicolon, counts as absent. */
const readableParameters = (text: string): URLSearchParams =>
  new URLSearchParams(
    unreadable.test(text)
      ? text
          .split("&")
          .filter((part) => !unreadable.test(part))
          .join("&")
      : text,
  )

const unreadable = /%(?![0-9a-fA-F]{2})|;/

const verbOf = (method: string, route: Route, query: URLSearchParams): string => {
  if (route.type !== "resource") return "discovery"
  if (method === "DELETE" && route.name === undefined) return "deletecollection"
  if (method !== "GET") return writeVerbs[method] ?? method.toLowerCase()
  if (route.isWatch === true) return "watch"
  if (route.name !== undefined) return "get"
  return flag(query, "watch") === true ? "watch" : "list"
}

/** Go's reading of a boolean parameter: present means true unless its value is false or 0. */
export const flag = (query: URLSearchParams, name: string): boolean | undefined => {
  const value = query.get(name)?.toLowerCase()
  return value === undefined ? undefined : value !== "false" && value !== "0"
}
