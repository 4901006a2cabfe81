/** One write as it arrives, and its answer, whether it came over HTTP or from inside the process. */

import type { Failure } from "../../apiserver/answers/failure.ts"
import type { Reply } from "../../apiserver/answers/reply.ts"
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
  /** Media type in lower case without parameters; empty if the client gave none. */
  readonly contentType: string
  /** Names the field manager of a client that names none itself. */
  readonly userAgent: string
  readonly body: Buffer
}

/** What has been done. */
export interface Written extends Reply {
  /** The state that the body shows, if it is one: who wants another form of it has it made of this. */
  readonly change?: Change
}

export type WriteOutcome = Written | Failure
