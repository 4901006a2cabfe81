/** The source of a server's kinds, objects and changes. */

import type { Eventually } from "./answers/eventually.ts"
import type { Failure } from "./answers/failure.ts"
import type { Reply } from "./answers/reply.ts"
import type { WatchStream } from "./http/watch-stream.ts"
import type { Change } from "./kinds/change.ts"
import type { Resource, ResourceRegistry } from "./kinds/resources.ts"
import type { ListRequest, WatchRequest } from "./list/list-options.ts"
import type { ListAnswer } from "./list/list-response.ts"
import type { OpenApiDocuments } from "./openapi/openapi-document.ts"

/**
 * Sends the initial events of a stream and subscribes it to what follows. Returns a function that ends the subscription,
 * or a promise of it if the initial events take a while. A feed that sends much waits for {@link WatchStream.drained}
 * and stops when the stream has closed; the subscription is ended whenever the stream closes, even before the promise is
 * fulfilled.
 */
export type WatchFeed = (stream: WatchStream) => Eventually<() => unknown>

/**
 * The source of everything that a server serves. Requests are parsed and checked before they get here: the kind is in
 * {@link Backend.registry}, and selectors are readable.
 *
 * A failure is sent to the client as it is: a 410, a 504, or an unknown state. An exception or a rejected promise is a
 * defect: the client gets a 500, and it is reported to the server's operator.
 */
export interface Backend {
  /** The kinds served at this moment. Discovery shows exactly these. */
  readonly registry: ResourceRegistry
  /** OpenAPI v3. Absent: nothing below `/openapi`. */
  readonly documents?: OpenApiDocuments
  /**
   * `plural/subresource` of built-in kinds that {@link readSubresource} and writes serve although discovery does not
   * list them. Default: none.
   */
  readonly unlistedSubresources?: ReadonlySet<string>
  /** The newest state of one object; `undefined` if there is none. `namespace` is empty for cluster-scoped kinds. */
  get(resource: Resource, namespace: string, name: string): Eventually<Change | Failure | undefined>
  list(resource: Resource, request: ListRequest): Eventually<ListAnswer | Failure>
  /** A failure is sent inside the stream, after a 200, as the real server does once a watch has been accepted. */
  watch(resource: Resource, request: WatchRequest): Eventually<WatchFeed | Failure>
  /**
   * GET of a subresource other than `/status`; `undefined` if it is not served. Absent: none is served.
   */
  readSubresource?(
    resource: Resource,
    namespace: string,
    name: string,
    subresource: string,
  ): Eventually<Reply | Failure | undefined>
  /**
   * The version up to which every watch has been sent everything, once it has its initial events: the version of
   * regular bookmarks. Never a promise, because it must be true at the moment the bookmark is sent. Absent: no regular
   * bookmarks.
   */
  revision?(): bigint
  /** Texts of `Warning` headers for a response about a kind, asked for when it begins. Absent: none. */
  warnings?(resource: Resource): ReadonlyArray<string>
  /** How many objects of each kind there are now, for metrics. Absent: unknown. */
  objectCounts?(): Iterable<readonly [resource: Resource, count: number]>
}
