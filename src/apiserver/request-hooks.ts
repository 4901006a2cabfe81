/** Where the sandbox's faults get between a request and its answer. A server that is meant to work has no hooks. */

import type { Failure } from "./answers/failure.ts"
import type { Exchange } from "./http/exchange.ts"
import type { Resource } from "./kinds/resources.ts"
import type { ExpiredAs, WatchRequest } from "./list/list-options.ts"
import type { StreamHooks, WatchStream } from "./watch/watch-stream.ts"

export interface RequestHooks extends StreamHooks {
  /** A request has come and is in the log. Nothing happens to it until `proceed` is called, now, later or never. */
  receive(exchange: Exchange, proceed: () => void): void
  /** The answer to give instead of the server's own. `resource` is absent where nothing is served. */
  answer(exchange: Exchange, resource: Resource | undefined): Failure | undefined
  /** A read of one object is to be answered. The same rules as for {@link receive}. */
  read(proceed: () => void): void
  /** The 410 for a watch that could be served, and how to send it. */
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
