/**
 * What a module may ask of the API server: any path of it, with no rights but the module's own.
 *
 * Guaranteed for a request that passes: it has one of the five methods of the API; its path stays below the server's own path, which
 * matters behind a proxy that serves several clusters; nothing in it ends a line or adds a header; it names no other identity; it ends.
 * What the API server would refuse by itself (unknown resources, bad JSON) is left to it. Pure; never throws, whatever the module sends.
 */
import type { HttpRequest } from "../../kube/index.ts"
import type { GuestRequest, GuestResponse } from "../guest/abi-values.ts"

/** Bytes of the URI, and of all headers together, that a request may have; an API server accepts 1 MiB of headers, Node's servers 16 KiB. */
const maximumHeadBytes = 64 * 1024

/** Headers that concern one connection, or that only the host may set. They are left out without a word: HTTP libraries add them unasked. */
const dropped = new Set([
  "authorization",
  "connection",
  "content-length",
  "cookie",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // The server derives the default field manager from it, which is the module's name.
  "user-agent",
])

/**
 * Headers that ask to act as another user: impersonation, and what a trusted front proxy sends. Refused and not
 * dropped, because the module would act as itself and not know.
 */
const ofOthers = /^(?:impersonate-|x-remote-)/

const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const controls = /[\x00-\x08\x0a-\x1f\x7f]/
/** The characters of an encoded path and query: visible ASCII without `#`. */
const encodedUri = /^[\x21\x22\x24-\x7e]*$/

const methods: ReadonlyMap<string, HttpRequest["method"]> = new Map(
  (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map((method) => [method, method]),
)

/** The request to send, or the answer that refuses it. `maximumBytes`: of the body. */
export const checkRequest = (
  request: GuestRequest,
  maximumBytes: number,
): { readonly request: HttpRequest } | { readonly refusal: GuestResponse } => {
  const method = methods.get(request.method)
  if (method === undefined) {
    const message = `the method ${shown(request.method)} is not one of ${[...methods.keys()].join(", ")}`
    return { refusal: statusAnswer(405, message) }
  }
  const fault = faultOfUri(request.uri) ?? (method === "GET" ? endlessBy(request.uri) : undefined)
  if (fault !== undefined) return { refusal: statusAnswer(400, `the URI ${shown(request.uri)} ${fault}`) }
  if (request.body.length > maximumBytes) {
    const message = `the body has ${request.body.length} bytes; this module may send ${maximumBytes}`
    return { refusal: statusAnswer(413, message) }
  }
  const headers = readHeaders(request.headers)
  if ("refusal" in headers) return headers
  const { contentType, others } = headers
  if (!others.has("accept")) others.set("accept", "application/json")
  const body = request.body.length === 0 ? undefined : request.body
  return { request: { method, path: request.uri, headers: Object.fromEntries(others), body, contentType } }
}

const faultOfUri = (uri: string): string | undefined => {
  if (uri.length > maximumHeadBytes) return `has more than ${maximumHeadBytes} characters`
  if (!uri.startsWith("/")) return "is not a path on the API server: it must begin with /"
  if (!encodedUri.test(uri)) return "contains characters that must be encoded"
  const [path = ""] = uri.split("?", 1)
  const segments = path.split("/").slice(1)
  for (const [index, segment] of segments.entries()) {
    const decoded = decodedSegment(segment)
    if (decoded === undefined) return "contains an invalid escape"
    // Go's router redirects to the path without them, which no client here follows.
    if (decoded === "" && index < segments.length - 1) return "contains an empty segment"
    if (decoded === "." || decoded === "..") return "contains a segment . or .."
    if (/[/\\]/.test(decoded) || controls.test(decoded))
      return "contains an encoded slash, backslash or control character"
  }
  return undefined
}

const decodedSegment = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    // Only URIError is thrown: the escape is not one, or not UTF-8.
    return undefined
  }
}

/** Why the response would not end by itself. */
const endlessBy = (uri: string): string | undefined => {
  const [path = "", query = ""] = [uri.split("?", 1)[0], uri.slice(uri.indexOf("?") + 1 || uri.length)]
  const segments = path.split("/").map(decodedSegment)
  // The old form, which servers still have: /api/v1/watch/pods and /apis/GROUP/VERSION/watch/RESOURCE.
  const isOldWatch = segments[segments[1] === "api" ? 3 : 4] === "watch" && /^apis?$/.test(segments[1] ?? "")
  const parameters = new URLSearchParams(query)
  if (isOldWatch || isSet(parameters, "watch"))
    return "is a watch, which has no end: register it with the import for watches"
  if (isSet(parameters, "follow")) return "follows a log, which has no end: ask without follow"
  return undefined
}

/** An API server takes every value but `false` and `0` as true, also the empty one. */
const isSet = (parameters: URLSearchParams, name: string): boolean =>
  parameters.getAll(name).some((value) => !/^(?:false|0)$/i.test(value))

const readHeaders = (
  headers: GuestRequest["headers"],
):
  | { readonly contentType: string | undefined; readonly others: Map<string, string> }
  | { readonly refusal: GuestResponse } => {
  const refuse = (message: string): { readonly refusal: GuestResponse } => ({ refusal: statusAnswer(400, message) })
  const others = new Map<string, string>()
  let bytes = 0
  for (const [given, values] of headers) {
    if (!fieldName.test(given)) return refuse(`${shown(given)} is not the name of a header`)
    const name = given.toLowerCase()
    if (ofOthers.test(name)) {
      const message = `the header ${shown(given)} is not allowed: a module acts as its own ServiceAccount`
      return { refusal: statusAnswer(403, message) }
    }
    if (dropped.has(name)) continue
    for (const value of values) {
      bytes += name.length + value.length
      if (bytes > maximumHeadBytes) return refuse(`the headers have more than ${maximumHeadBytes} bytes`)
      const text = textOf(value)
      if (text === undefined) return refuse(`the value of the header ${shown(given)} is not text on one line`)
      const before = others.get(name)
      others.set(name, before === undefined ? text : `${before}, ${text}`)
    }
  }
  // Those that the module's own Connection header declares to be of the connection.
  for (const [given, values] of headers) {
    if (given.toLowerCase() !== "connection") continue
    for (const value of values)
      for (const name of (textOf(value) ?? "").split(",")) others.delete(name.trim().toLowerCase())
  }
  const contentType = others.get("content-type")
  others.delete("content-type")
  return { contentType, others }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const textOf = (value: Uint8Array): string | undefined => {
  let text: string
  try {
    text = utf8.decode(value)
  } catch {
    // Only TypeError is thrown: the bytes are not UTF-8.
    return undefined
  }
  return controls.test(text) ? undefined : text.trim()
}

/** At most 100 characters of what a module sent, without control characters, for a message. */
const shown = (text: string): string => {
  const start = text.length > 100 ? `${text.slice(0, 100)}…` : text
  return JSON.stringify(start).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "·")
}

/** Headers of a response that concern the connection and not the module. */
const ofConnection = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** A response of the API server as the module gets it. */
export const guestResponse = (
  status: number,
  headers: ReadonlyMap<string, string>,
  body: Uint8Array,
): GuestResponse => {
  const passed = [...headers].filter(([name]) => !ofConnection.has(name))
  // Bytes above ASCII came from the network one character each.
  return { status, headers: new Map(passed.map(([name, value]) => [name, [Buffer.from(value, "latin1")]])), body }
}

/** Kubernetes' reason for each code that the executor uses. */
const reasons = {
  /** The request is malformed or cannot be carried out this way. */
  400: "BadRequest",
  /** It asks to act as another user. */
  403: "Forbidden",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  /** The module has too many requests under way. */
  429: "TooManyRequests",
  /** No response of the API server: no connection, no credentials, unreadable. */
  503: "ServiceUnavailable",
  /** No complete response in time. */
  504: "Timeout",
} as const

type AnswerCode = keyof typeof reasons

/**
 * An answer that the executor gives itself: a `Status` as an API server sends it, so that a module needs no second way to read failures.
 * `retryAfterSeconds`: also sent as the header `Retry-After`.
 */
export const statusAnswer = (code: AnswerCode, message: string, retryAfterSeconds?: number): GuestResponse => {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: reasons[code],
    ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
    code,
  }
  const headers = new Map([["content-type", [Buffer.from("application/json")]]])
  if (retryAfterSeconds !== undefined) headers.set("retry-after", [Buffer.from(String(retryAfterSeconds))])
  return { status: code, headers, body: Buffer.from(JSON.stringify(status)) }
}
