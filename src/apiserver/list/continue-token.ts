/**
 * The token between two pages of a list, byte for byte what the real server makes: base64url of
 * `{"v":"meta.k8s.io/v1","rv":306,"start":"/cm-2\u0000"}`.
 */

import { goJsonError } from "../../sandbox/writes/body/go-json-error.ts"

export interface ContinueToken {
  /** All pages show the state of this revision; -1 asks for the rest as it is now (after an expired token). */
  readonly revision: bigint
  /** First key of the next page, relative to the collection or namespace listed. */
  readonly start: string
}

export const encodeContinue = ({ revision, start }: ContinueToken): string =>
  // The number is written by hand: JSON.stringify knows no bigint.
  Buffer.from(`{"v":"meta.k8s.io/v1","rv":${revision},"start":${JSON.stringify(`/${start}`)}}`).toString("base64url")

/** A text says what is wrong with the token, in the real server's words (tried against Kubernetes 1.34.4). */
export const decodeContinue = (text: string): ContinueToken | string => {
  const bad = illegalBase64(text)
  if (bad !== undefined) return `illegal base64 data at input byte ${bad}`
  const bytes = Buffer.from(text, "base64url")
  const json = bytes.toString("utf8")
  const match = /^\{"v":"meta\.k8s\.io\/v1","rv":(-?\d{1,20}),"start":("(?:[^"\\]|\\.)*")\}$/.exec(json)
  const token = match === null ? undefined : parsed(match[2] ?? "")
  return typeof token === "string" ? checked(BigInt(match?.[1] ?? "0"), token) : readLoosely(json, bytes)
}

/** The place of the first byte that Go's unpadded base64url does not take; `undefined` if it takes all. */
const illegalBase64 = (text: string): number | undefined => {
  // Go passes over line ends.
  const digits = text.replace(/[\r\n]/g, "")
  const wrong = /[^A-Za-z0-9_-]/.exec(text.replace(/[\r\n]/g, "A"))?.index
  // One digit alone makes no byte; Go names the place where its group of four begins.
  const lone = digits.length % 4 === 1 ? text.length - 1 : undefined
  return wrong ?? lone
}

/** A token of other keys, another order or other spacing is one too, if it says all that is needed. */
const readLoosely = (json: string, bytes: Buffer): ContinueToken | string => {
  // Go names bytes, not characters.
  const problem = goJsonError(bytes.toString("latin1"))
  if (problem !== "") return problem
  const value = parsed(json)
  if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
    return `json: cannot unmarshal ${typeOf(value)} into Go value of type storage.continueToken`
  }
  const { v = "", rv = 0, start = "" } = (value ?? {}) as Readonly<Record<string, unknown>>
  for (const [field, member, type] of [
    ["v", v, "string"],
    ["rv", rv, "int64"],
    ["start", start, "string"],
  ] as const) {
    const isRight = type === "int64" ? Number.isSafeInteger(member) : typeof member === type
    const found = type === "int64" && typeof member === "number" ? `number ${member}` : typeOf(member)
    if (!isRight) return `json: cannot unmarshal ${found} into Go struct field continueToken.${field} of type ${type}`
  }
  if (v !== "meta.k8s.io/v1") return `server does not recognize this encoded version ${String(v)}`
  return checked(BigInt(Number(rv)), String(start))
}

const checked = (revision: bigint, start: string): ContinueToken | string => {
  if (revision === 0n) return "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
  if (start === "") return "encoded start key empty (version meta.k8s.io/v1)"
  const key = start.startsWith("/") ? start : `/${start}`
  // A path that would lead out of the collection.
  return cleanPath(key) === key ? { revision, start: key.slice(1) } : start
}

/** Go's path.Clean, of an absolute path. */
const cleanPath = (path: string): string => {
  const segments: string[] = []
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop()
    else if (segment !== "" && segment !== ".") segments.push(segment)
  }
  return `/${segments.join("/")}`
}

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  return typeof value === "boolean" ? "bool" : typeof value
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json) as unknown
  } catch {
    // A bad escape: the token did not come from this server.
    return undefined
  }
}
