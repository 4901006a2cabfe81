/**
 * Writes the bytes of a request.
 *
 * Guaranteed: nothing in path or headers can end a line or add a header (request splitting), and the headers that this client sets itself
 * (`Host`, `Connection`, lengths, …) occur once.
 */
import type { ApiEndpoint } from "../endpoint.ts"
import type { InvalidTarget, Target } from "./target.ts"
import type { HttpRequest } from "./transport.ts"

const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Control characters except tab. Others may stand in a value: user names of impersonation travel as UTF-8, as Go sends them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not pass
const controls = /[\x00-\x08\x0a-\x1f\x7f]/
/** The characters of Kubernetes paths and encoded queries; no fragment, no space, only ASCII. */
const pathAndQuery = /^\/[\x21\x22\x24-\x7e]*$/

/** Headers that only this client may set, or that its requests do not use. */
const own = new Set([
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
])

/** The request as text to be sent as UTF-8, or as bytes if its body is; or the problem that prevents it. Problems contain no secrets. */
export const requestText = (
  target: Target,
  endpointHeaders: ApiEndpoint["headers"],
  userAgent: string,
  { method, path, headers, body, contentType = "application/json" }: HttpRequest,
): string | Buffer | InvalidTarget => {
  if (!pathAndQuery.test(path))
    return { problem: "the path does not begin with / or contains characters that must be encoded" }
  const isForwarded = target.proxy?.kind === "http" && target.tls === undefined
  const lines = [
    `${method} ${isForwarded ? `http://${target.authority}` : ""}${target.pathPrefix}${path} HTTP/1.1`,
    `Host: ${target.authority}`,
    `User-Agent: ${userAgent}`,
  ]
  if (controls.test(userAgent)) return { problem: "the user agent contains control characters" }
  if (isForwarded && target.proxy?.authorization !== undefined) {
    lines.push(`Proxy-Authorization: ${target.proxy.authorization}`)
  }
  const taken = new Set(own)
  for (const [name, value] of endpointHeaders) {
    const problem = problemOf(name, value, own)
    if (problem !== undefined) return { problem }
    taken.add(name.toLowerCase())
    lines.push(`${name}: ${value}`)
  }
  let isCodingNamed = false
  for (const [name, value] of Object.entries(headers)) {
    const problem = problemOf(name, value, taken)
    if (problem !== undefined) return { problem }
    isCodingNamed ||= name.toLowerCase() === "accept-encoding"
    lines.push(`${name}: ${value}`)
  }
  // The JSON scanner reads raw body bytes: a proxy that compresses unasked would break it.
  if (!isCodingNamed) lines.push("Accept-Encoding: identity")
  if (controls.test(contentType)) return { problem: "the content type holds control characters" }
  if (body !== undefined) lines.push(`Content-Type: ${contentType}`, `Content-Length: ${Buffer.byteLength(body)}`)
  // RFC 9110 §8.6: a POST or PUT without a body should say so.
  else if (method !== "GET" && method !== "DELETE") lines.push("Content-Length: 0")
  const head = `${lines.join("\r\n")}\r\n\r\n`
  return typeof body === "object" ? Buffer.concat([Buffer.from(head), body]) : `${head}${body ?? ""}`
}

const problemOf = (name: string, value: string, taken: ReadonlySet<string>): string | undefined => {
  if (!fieldName.test(name)) return `"${name.replace(/[^\x21-\x7e]/g, "·")}" is not a header name`
  if (controls.test(value)) return `the value of header ${name} contains control characters`
  return taken.has(name.toLowerCase()) ? `header ${name} is set by the client itself` : undefined
}
