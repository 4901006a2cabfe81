/** What a server serves: kinds, the states of their objects, and what happens to them. */

import type { Failure } from "./answers/failure.ts"
import type { Reply } from "./answers/reply.ts"
import type { Eventually } from "./eventually.ts"
import type { Resource, ResourceRegistry } from "./kinds/resources.ts"
import type { ListRequest, WatchRequest } from "./list/list-options.ts"
import type { ListAnswer } from "./list/list-response.ts"
import type { OpenApiDocuments } from "./openapi/openapi-document.ts"
import type { Change } from "./watch/change.ts"
import type { WatchStream } from "./watch/watch-stream.ts"

/**
 * Sends what the stream begins with and subscribes it to what follows. Returns how to end the subscription, a promise of
 * it if the beginning takes a while. A feed that sends much waits for {@link WatchStream.drained} and stops when the
 * stream has closed; the subscription is ended whenever the stream closes, also before the promise is fulfilled.
 */
export type WatchFeed = (stream: WatchStream) => Eventually<() => unknown>

/**
 * The source of everything that a server shows. Requests are parsed and checked before they come here: the kind is in
 * {@link Backend.registry}, and selectors are readable.
 *
 * A failure is sent to the client as it is; it is the way to say 410, 504 or that a state is not known. What is thrown,
 * or a promise that is rejected, is a defect: the client gets a 500, and the server's operator is told.
 */
export interface Backend {
  /** The kinds served at this moment. Discovery shows exactly these. */
  readonly registry: ResourceRegistry
  /** OpenAPI v3. Absent: nothing below `/openapi`. */
  readonly documents?: OpenApiDocuments
  /**
   * `plural/subresource` of built-in kinds that {@link readSubresource} and writes have an answer for, though discovery
   * does not list them. Default: none.
   */
  readonly unlistedSubresources?: ReadonlySet<string>
  /** The newest state of one object; `undefined` if there is none. `namespace` is empty for cluster-scoped kinds. */
  get(resource: Resource, namespace: string, name: string): Eventually<Change | Failure | undefined>
  list(resource: Resource, request: ListRequest): Eventually<ListAnswer | Failure>
  /** A failure is sent inside the stream, after a 200, as the real server does once a watch has been accepted. */
  watch(resource: Resource, request: WatchRequest): Eventually<WatchFeed | Failure>
  /**
   * GET of what is below an object, `/status` aside; `undefined` where nothing is served. Absent: nothing ever is.
   */
  readSubresource?(
    resource: Resource,
    namespace: string,
    name: string,
    subresource: string,
  ): Eventually<Reply | Failure | undefined>
  /**
   * The version through which every watch, once it has been sent its beginning, has been told everything: what regular
   * bookmarks say. Never a promise, because it must be true in the moment in which the bookmark is sent. Absent: no
   * regular bookmarks.
   */
  revision?(): bigint
}
