/** One write and its response, whether it came over HTTP or from inside the process. */

import type { Failure } from "../../apiserver/answers/failure.ts"
import type { Reply } from "../../apiserver/answers/reply.ts"
import type { RequestUser } from "../../apiserver/http/access-control.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import type { Change } from "../../apiserver/watch/change.ts"

export type WriteVerb = "create" | "update" | "patch" | "delete" | "deletecollection"

export interface WriteRequest {
  readonly verb: WriteVerb
  readonly resource: Resource
  /** The empty string for cluster-scoped kinds. */
  readonly namespace: string
  /** The empty string for a collection. */
  readonly name: string
  /** The empty string for the object itself. */
  readonly subresource: string
  readonly query: URLSearchParams
  /** Media type in lower case without parameters; empty if the client sent none. */
  readonly contentType: string
  /** The field manager of a client that names none itself. */
  readonly userAgent: string
  readonly body: Buffer
  /** Who sends it; absent without authorization, and for requests from inside the process, which may do everything. */
  readonly user?: RequestUser
}

/** The response to a successful write. */
export interface Written extends Reply {
  /** The state that the body shows, if it shows one: other forms of the response are made from it. */
  readonly change?: Change
}

export type WriteOutcome = Written | Failure
