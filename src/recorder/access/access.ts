/**
 * Who may ask the recorder for what. Everything but the health probes passes here; a decision is made before a body is read.
 *
 * Tokens are never kept, logged or put into a message: what is remembered of one is its SHA-256.
 */
import type { IncomingHttpHeaders } from "node:http"

/**
 * What somebody wants: a trace (also what one would hold), what is recorded, or the metrics. Metrics are apart because a Prometheus
 * has rights of its own for them.
 */
export type Action = "export" | "coverage" | "metrics"

/** May they, and who is it. */
export type Decision =
  /** `who`: for the audit line; a user name, or in words what is known. */
  { readonly tag: "allowed"; readonly who: string } | Refusal

/** 401: nobody we know. 403: known, and without the right. 421: asked by a name that is not ours. 503: it cannot be decided now. */
export interface Refusal {
  readonly tag: "refused"
  readonly status: 401 | 403 | 421 | 503
  /** What to do about it, for the client. */
  readonly message: string
}

export interface Access {
  /** Decides; never rejects. */
  decide(headers: IncomingHttpHeaders, action: Action): Promise<Decision>
  /** Ends what it keeps open. */
  close(): void
}

/** `--auth none`: whoever reaches the address. */
export const anybody: Access = {
  decide: async () => ({ tag: "allowed", who: "anybody" }),
  close: () => undefined,
}

/** The header that is read first: the API server's service proxy takes `Authorization` away, because it is meant for itself. */
export const tokenHeader = "kubereel-authorization"

/** What a request shows of itself. */
export type Presented =
  | { readonly tag: "token"; readonly token: string }
  | { readonly tag: "refused"; readonly refusal: Refusal }

/** RFC 6750 §2.1: the characters of a bearer token. */
export const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/

/** Finds the token of a request. */
export const presentedToken = (headers: IncomingHttpHeaders): Presented => {
  const own = headers[tokenHeader]
  const header = own === undefined ? headers.authorization : String(own)
  if (header === undefined) return refused("this recorder asks for a token: send it as Authorization: Bearer TOKEN")
  const token = /^bearer +(\S+) *$/i.exec(header)?.[1]
  if (token === undefined || !tokenForm.test(token))
    return refused(`the header ${own === undefined ? "Authorization" : "Kubereel-Authorization"} is not Bearer TOKEN`)
  return { tag: "token", token }
}

const refused = (message: string): Presented => ({ tag: "refused", refusal: { tag: "refused", status: 401, message } })
