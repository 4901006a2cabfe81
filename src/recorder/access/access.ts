/**
 * Access control: decides who may do what. Every request except health probes passes through it, before its body is read.
 *
 * Tokens are never stored, logged or put into a message: only their SHA-256 is kept.
 */

import type { IncomingHttpHeaders } from "node:http"
import type { ReviewedUser } from "../../kube/index.ts"

/**
 * The requested action: export a trace (or forecast one), ask about the past, read the coverage, read the metrics, or see and change which windows are kept.
 * Metrics are separate because Prometheus has its own permission for them. A client that may export may ask everything;
 * others may, where rights of readers are known, ask about what they may read.
 */
export type Action = "export" | "query" | "coverage" | "metrics" | PinAction

/** What is done with pins. */
export type PinAction = "list-pins" | "create-pin" | "delete-pin"

/** Whether the client is allowed, and who it is. */
export type Decision =
  /** `who` is for the audit line: a user name, or a description. `reader`: only what its rights cover may be shown. Absent: everything. */
  { readonly tag: "allowed"; readonly who: string; readonly reader?: Reader } | Refusal

/** 401: not authenticated. 403: authenticated, but without permission. 421: the Host is not one of ours. 503: cannot be decided now. */
export interface Refusal {
  readonly tag: "refused"
  readonly status: 401 | 403 | 421 | 503
  /** What to do about it, for the client. */
  readonly message: string
}

export interface Access {
  /** Decides; never rejects. */
  decide(headers: IncomingHttpHeaders, action: Action): Promise<Decision>
  /** The refusal of a request whose `Host` is not one of ours, whatever it asks for. Absent: every `Host` is accepted. */
  otherHost?(headers: IncomingHttpHeaders): Refusal | undefined
  /** Closes the connections it opened. */
  close(): void
}

/** `--auth none`: anyone who can reach the address is allowed. */
export const anonymousAccess: Access = {
  decide: async () => ({ tag: "allowed", who: "anonymous" }),
  close: () => undefined,
}

/** The header that is read first: the API server's service proxy removes `Authorization`, which it consumes itself. */
const tokenHeader = "kubereel-authorization"

/** The credentials that a request presents. */
type Presented =
  | { readonly tag: "token"; readonly token: string }
  | { readonly tag: "refused"; readonly refusal: Refusal }

/** RFC 6750 §2.1: the characters of a bearer token. */
export const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/

/** Finds the token of a request. */
export const presentedToken = (headers: IncomingHttpHeaders): Presented => {
  const own = headers[tokenHeader]
  const header = own === undefined ? headers.authorization : String(own)
  if (header === undefined) return refused("a token is required: send it as Authorization: Bearer TOKEN")
  const token = /^bearer +(\S+) *$/i.exec(header)?.[1]
  if (token === undefined || !tokenForm.test(token))
    return refused(
      `the header ${own === undefined ? "Authorization" : "Kubereel-Authorization"} must have the form Bearer TOKEN`,
    )
  return { tag: "token", token }
}

const refused = (message: string): Presented => ({ tag: "refused", refusal: { tag: "refused", status: 401, message } })

// The port by which the recorder asks what a reader may read now. The API server decides; nothing of RBAC is known here.
//
// Everything that shows recorded objects to whom may not export uses it, so that a reader sees through the recorder no object that the API server would not show: what
// may be read in a namespace now may be read of its past.

/** What is to be read. */
export interface ReadAction {
  readonly verb: "get" | "list"
  /** Empty: the core group. */
  readonly group: string
  /** `deployments`. */
  readonly resource: string
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string
  /** The only object, for `get`. Absent: all. */
  readonly name?: string
  /** It is asked of many namespaces in turn, most of which are not the reader's: a denial may be a minute old. */
  readonly isSearch?: true
}

/**
 * Whether the identity may do that now. Rejects with ReviewFailed if the API server cannot say; what is not decided must not be shown. Decisions may be some
 * seconds old.
 */
export type MayRead = (identity: ReviewedUser, action: ReadAction) => Promise<boolean>

/** A client whose rights decide what it is shown. */
export interface Reader {
  readonly identity: ReviewedUser
  readonly mayRead: MayRead
}
