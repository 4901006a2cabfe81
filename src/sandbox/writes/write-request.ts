/** One write as it arrives, and its answer, whether it came over HTTP or from inside the process. */

import type { Failure } from "../../apiserver/answers/failure.ts"
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
export interface Written {
  readonly type: "written"
  /** 200, or 201 for something new. */
  readonly status: number
  /** The answer's body. */
  readonly json: string | Buffer
  /** The state that the body shows, if it is one: who wants another form of it has it made of this. */
  readonly change?: Change
  /** Texts for `Warning` headers. */
  readonly warnings: ReadonlyArray<string>
}

export type WriteOutcome = Written | Failure
