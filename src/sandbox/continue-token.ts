/**
 * The token between two pages of a list, byte for byte what the real server makes: base64url of
 * `{"v":"meta.k8s.io/v1","rv":306,"start":"/cm-2\u0000"}`.
 */

export interface ContinueToken {
  /** All pages show the state of this revision; -1 asks for the rest as it is now (after an expired token). */
  readonly revision: bigint
  /** First key of the next page, relative to the collection or namespace listed. */
  readonly start: string
}

export const encodeContinue = ({ revision, start }: ContinueToken): string =>
  // The number is written by hand: JSON.stringify knows no bigint.
  Buffer.from(`{"v":"meta.k8s.io/v1","rv":${revision},"start":${JSON.stringify(`/${start}`)}}`).toString("base64url")

/** `undefined` for anything that is not such a token. */
export const decodeContinue = (text: string): ContinueToken | undefined => {
  const json = Buffer.from(text, "base64url").toString("utf8")
  const match = /^\{"v":"meta\.k8s\.io\/v1","rv":(-?\d{1,20}),"start":("(?:[^"\\]|\\.)*")\}$/.exec(json)
  if (match === null) return undefined
  const start = parseString(match[2] ?? "")
  return start === undefined ? undefined : { revision: BigInt(match[1] ?? "0"), start: start.replace(/^\//, "") }
}

const parseString = (json: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === "string" ? value : undefined
  } catch {
    // A bad escape: the token did not come from this server.
    return undefined
  }
}
