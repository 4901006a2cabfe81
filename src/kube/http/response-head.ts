/**
 * Parses the head of an HTTP/1 response (RFC 9112 §4, §5): status line and fields, and the framing of the body they announce.
 *
 * Pure; never throws. Lenient where the RFC allows it (bare LF as line end, folded fields, repeated equal lengths), strict where a guess
 * would shift the body's limits.
 */

/** How the length of a body is known. */
type Framing =
  | { readonly tag: "none" }
  | { readonly tag: "sized"; readonly length: number }
  | { readonly tag: "chunked" }
  | { readonly tag: "until-close" }

export interface ResponseHead {
  readonly tag: "head"
  readonly status: number
  /** The reason phrase, possibly empty. */
  readonly reason: string
  /** Names in lower case; repeated fields joined with `, `. */
  readonly headers: ReadonlyMap<string, string>
  readonly framing: Framing
  /** Whether the server will read another request on this connection. */
  readonly persistent: boolean
}

interface MalformedHead {
  readonly tag: "malformed"
  readonly message: string
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/
const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

const malformed = (message: string): MalformedHead => ({ tag: "malformed", message })

/** Bytes of a response, for a message: at most 40 characters, control characters replaced. */
export const printable = (text: string): string => text.slice(0, 40).replace(/[^\x20-\x7e]/g, "·")

/** Parses a whole head, from the status line through the empty line, decoded as latin1. */
export const parseResponseHead = (text: string): ResponseHead | MalformedHead => {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
  const first = lines[0] ?? ""
  const match = statusLine.exec(first)
  if (match === null) return malformed(`not an HTTP/1 status line: "${printable(first)}"`)
  const headers = new Map<string, string>()
  let name = ""
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? ""
    if (line === "") break
    if (/[\0\r]/.test(line)) return malformed(`control character in header "${printable(line)}"`)
    if (line[0] === " " || line[0] === "\t") {
      if (name === "") return malformed("the first header line is a continuation")
      headers.set(name, `${headers.get(name)} ${line.trim()}`.trim())
      continue
    }
    const colon = line.indexOf(":")
    if (colon < 0 || !fieldName.test(line.slice(0, colon))) return malformed(`not a header: "${printable(line)}"`)
    name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  const status = Number(match[2])
  const framing = framingOf(status, headers)
  if (framing.tag === "malformed") return framing
  const persistent = framing.tag !== "until-close" && isPersistent(match[1] === "1", headers)
  return { tag: "head", status, reason: match[3] ?? "", headers, framing, persistent }
}

/** RFC 9112 §6.3. A transfer coding overrides a length. */
const framingOf = (status: number, headers: ReadonlyMap<string, string>): Framing | MalformedHead => {
  if (status < 200 || status === 204 || status === 304) return { tag: "none" }
  const coding = headers.get("transfer-encoding")?.toLowerCase()
  if (coding === "chunked") return { tag: "chunked" }
  // We send no TE header, so no other coding was offered; guessing where such a body ends would be worse than failing.
  if (coding !== undefined) return malformed(`transfer coding "${printable(coding)}" was not requested`)
  const lengths = headers.get("content-length")
  if (lengths === undefined) return { tag: "until-close" }
  const [length = "", ...repeated] = lengths.split(",").map((value) => value.trim())
  if (
    !/^\d{1,16}$/.test(length) ||
    !Number.isSafeInteger(Number(length)) ||
    repeated.some((value) => value !== length)
  ) {
    return malformed(`content-length "${printable(lengths)}" is not one number`)
  }
  return { tag: "sized", length: Number(length) }
}

const isPersistent = (isHttp11: boolean, headers: ReadonlyMap<string, string>): boolean => {
  // RFC 9112 §6.1, §6.3: both framings at once, or a coding in HTTP/1.0, may be a smuggling attempt.
  if (headers.has("transfer-encoding") && (!isHttp11 || headers.has("content-length"))) return false
  const options = (headers.get("connection") ?? "")
    .toLowerCase()
    .split(",")
    .map((option) => option.trim())
  if (options.includes("close")) return false
  return isHttp11 || options.includes("keep-alive")
}
