/** Hooks through which the sandbox's faults intervene between a request and its response. An ordinary server has none. */

import type { Failure } from "./answers/failure.ts"
import type { Exchange } from "./http/exchange.ts"
import type { StreamHooks, WatchStream } from "./http/watch-stream.ts"
import type { Resource } from "./kinds/resources.ts"
import type { ExpiredAs, WatchRequest } from "./list/list-options.ts"

export interface RequestHooks extends StreamHooks {
  /** A request has arrived and is in the log. It waits until `proceed` is called, now, later or never. */
  receive(exchange: Exchange, proceed: () => void): void
  /** The response to send instead of the server's own. `resource` is absent if the path names no served kind. */
  answer(exchange: Exchange, resource: Resource | undefined): Failure | undefined
  /** A read of one object is about to be answered. The same rules as for {@link receive}. */
  read(proceed: () => void): void
  /** A 410 for a watch that could be served, and how to send it. */
  expire(resource: Resource, request: WatchRequest): { readonly failure: Failure; readonly as: ExpiredAs } | undefined
  /** A watch has been accepted; nothing but the head of its answer has been sent. */
  open(stream: WatchStream): void
}

/** Changes nothing. */
export const noHooks: RequestHooks = {
  receive: (_exchange, proceed) => proceed(),
  answer: () => undefined,
  read: (proceed) => proceed(),
  expire: () => undefined,
  open: () => undefined,
  truncate: () => undefined,
  slowReader: () => undefined,
}
