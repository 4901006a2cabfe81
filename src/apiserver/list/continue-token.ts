/**
 * The token between two pages of a list, byte for byte that of the real server: base64url of
 * `{"v":"meta.k8s.io/v1","rv":306,"start":"/cm-2\u0000"}`.
 */

export interface ContinueToken {
  /** All pages show the state at this revision; -1 requests the rest in its current state (after an expired token). */
  readonly revision: bigint
  /** First key of the next page, relative to the collection or namespace listed. */
  readonly start: string
}

export const encodeContinue = ({ revision, start }: ContinueToken): string =>
  // The number is written by hand: JSON.stringify does not support bigint.
  Buffer.from(`{"v":"meta.k8s.io/v1","rv":${revision},"start":${JSON.stringify(`/${start}`)}}`).toString("base64url")

/** A returned text describes what is wrong with the token. Accepts what Kubernetes 1.34.4 accepts (compared with it). */
export const decodeContinue = (text: string): ContinueToken | string => {
  // The server ignores line ends; a single remaining digit makes no byte.
  const digits = text.replace(/[\r\n]/g, "")
  if (!/^[A-Za-z0-9_-]*$/.test(digits) || digits.length % 4 === 1) return "not base64url"
  const token = parsed(Buffer.from(digits, "base64url").toString("utf8"))
  if (typeof token !== "object" || token === null) return "no JSON object inside"
  const { v, rv, start } = token as Readonly<Record<string, unknown>>
  if (v !== "meta.k8s.io/v1") return "unknown version"
  if (typeof rv !== "bigint" || rv === 0n) return "no resourceVersion inside"
  if (typeof start !== "string" || start === "") return "no start key inside"
  const key = start.startsWith("/") ? start : `/${start}`
  const leadsOut = key.split("/").some((segment, index) => index > 0 && (segment === "" || /^\.\.?$/.test(segment)))
  return leadsOut && key !== "/" ? "the start key leads out of the collection" : { revision: rv, start: key.slice(1) }
}

/** With `rv` as a bigint: versions exceed what a JSON number holds. */
const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json, (key, value: unknown, { source = "" }: { readonly source?: string } = {}) =>
      key === "rv" && /^-?\d{1,20}$/.test(source) ? BigInt(source) : value,
    ) as unknown
  } catch {
    // The token did not come from this server.
    return undefined
  }
}
