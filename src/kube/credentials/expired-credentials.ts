/**
 * Whether credentials that a server refuses have simply expired, as far as they say so themselves. An API server's 401 never tells the reason, and
 * an expired certificate is the commonest one.
 */
import { X509Certificate } from "node:crypto"
import { formatLocalTime } from "../../local-time.ts"
import type { ApiEndpoint } from "../endpoint.ts"

/** One clause for people, without secrets: `the client certificate expired on 2026-11-20 03:12:00 CET`; `undefined` if nothing has. */
export const describeExpired = (endpoint: ApiEndpoint, nowMs: number): string | undefined => {
  for (const { what, untilMs } of [certificateOf(endpoint), tokenOf(endpoint)])
    if (untilMs !== undefined && untilMs <= nowMs) return `${what} expired on ${formatLocalTime(untilMs, nowMs)}`
  return undefined
}

interface Credential {
  readonly what: string
  /** ms since the Unix epoch; `undefined` if there is none of this form, or it does not say. */
  readonly untilMs: number | undefined
}

const certificateOf = ({ clientCertificate }: ApiEndpoint): Credential => {
  const what = "the client certificate"
  if (clientCertificate === undefined) return { what, untilMs: undefined }
  try {
    return { what, untilMs: new X509Certificate(clientCertificate).validToDate.getTime() }
  } catch {
    // A certificate that cannot be read is reported when a connection is made with it.
    return { what, untilMs: undefined }
  }
}

/** Only a JSON Web Token says how long it is valid (RFC 7519, 4.1.4). */
const tokenOf = ({ headers }: ApiEndpoint): Credential => {
  const what = "the token"
  const authorization = headers.find(([name]) => name.toLowerCase() === "authorization")?.[1] ?? ""
  const payload = /^Bearer [\w-]+\.([\w-]+)\.[\w-]*$/i.exec(authorization)?.[1]
  if (payload === undefined) return { what, untilMs: undefined }
  try {
    const { exp } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as { readonly exp?: unknown }
    return { what, untilMs: typeof exp === "number" ? exp * 1000 : undefined }
  } catch {
    // Three parts with dots between them, but no JSON Web Token.
    return { what, untilMs: undefined }
  }
}
