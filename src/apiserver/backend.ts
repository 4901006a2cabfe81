/** What stands behind the HTTP plumbing: the object store of the sandbox, or a recording being played. */

import type { WriteOutcome, WriteRequest } from "../sandbox/writes/write-request.ts"
import type { Failure } from "./answers/failure.ts"
import type { Resource, ResourceRegistry } from "./kinds/resources.ts"
import type { ListRequest, WatchRequest } from "./list/list-options.ts"
import type { ListAnswer } from "./list/list-response.ts"
import type { OpenApiDocuments } from "./openapi/openapi-document.ts"
import type { Change } from "./watch/change.ts"
import type { WatchStream } from "./watch/watch-stream.ts"

/** Sends what the stream begins with and subscribes it to what follows; the function returned ends the subscription. */
export type WatchFeed = (stream: WatchStream) => () => unknown

export interface Backend {
  /** The kinds served at this moment. */
  readonly registry: ResourceRegistry
  /** The newest state of one object. */
  get(resource: Resource, namespace: string, name: string): Change | undefined
  list(resource: Resource, request: ListRequest): ListAnswer | Failure
  /** A failure is sent inside the stream, after a 200, as the real server does once a watch has been accepted. */
  watch(resource: Resource, request: WatchRequest): WatchFeed | Failure
  /** Absent: nothing below /openapi. */
  readonly documents?: OpenApiDocuments
  /** Absent where nothing can be changed: every write is answered with 405. */
  write?(request: WriteRequest): WriteOutcome
  /** What lies below an object, `/status` aside; `undefined` where nothing is served. Absent: nothing ever is. */
  readSubresource?(resource: Resource, namespace: string, name: string, subresource: string): WriteOutcome | undefined
}
