/** How an API server is set up. */
import type { ServerOptions } from "node:https"
import type { Clock } from "../clock.ts"
import type { Failure } from "./answers/failure.ts"
import type { Form } from "./forms/form.ts"
import type { AccessControl } from "./http/access-control.ts"
import type { Exchange } from "./http/exchange.ts"
import type { ResourceRoute } from "./http/router.ts"
import type { OnTrouble } from "./http/trouble.ts"
import type { StreamHooks, WatchStream } from "./http/watch-stream.ts"
import type { JsonFormat } from "./kinds/json-spacing.ts"
import type { Resource } from "./kinds/resources.ts"
import type { ExpiredAs, StreamingList, WatchRequest } from "./list/list-options.ts"

/** How requests are answered, independent of the connection. */
export interface ApiHandlerOptions {
  /**
   * Bearer token that every request must carry, unless the program around the server decides who may do what. Default:
   * none needed.
   */
  readonly token?: string
  /** Default: the machine's clock. */
  readonly clock?: Clock
  /** How a watch from an expired version is refused. Default `stream`, as the real server does. */
  readonly expiredAs?: ExpiredAs
  /** Default `supported`, as in Kubernetes 1.34. */
  readonly streamingList?: StreamingList
  /** Filter by `shardSelector` (KEP-5866), and say so in lists. Default false: the parameter is ignored, as by Kubernetes 1.34. */
  readonly filtersByShard?: boolean
  /**
   * ms between bookmarks on watches that allow them. Default 60,000, about the real server's interval; 0 sends none.
   */
  readonly bookmarkInterval?: number
  /**
   * Hang up on a watcher whose unsent bytes stay above this for 100 ms. Default: never, so that a slow test machine
   * does not look like a slow reader.
   */
  readonly slowReaderLimit?: number
  /** Newest requests that the log keeps. Default 100,000. */
  readonly requestLogLimit?: number
  /**
   * Called for defects of the server itself, which clients see as a 500. Default: a warning of the process, on stderr.
   */
  readonly onTrouble?: OnTrouble
}

export interface ServerTls {
  /** PEM */
  readonly key: string
  readonly cert: string
  /** PEM bundle that client certificates are checked against; also handed out in the endpoint. */
  readonly ca?: string
  /** Refuse clients without a certificate signed by `ca`. Default false. */
  readonly requestCert?: boolean
}

export interface ApiServerOptions extends ApiHandlerOptions {
  /** Default 0: the kernel chooses. */
  readonly port?: number
  readonly tls?: ServerTls
}

/**
 * Takes over a request other than a GET, for a served kind and a valid path, and answers the exchange, now or later. A
 * returned failure is sent at once. `form` is the form in which the client wants objects; `undefined` means as they are
 * stored.
 */
export type WriteHandler = (
  exchange: Exchange,
  route: ResourceRoute,
  resource: Resource,
  form: Form | undefined,
) => Failure | undefined

/** What the program around a server adds to it. */
export interface ApiServerParts {
  /** The half that writes. Default: none, and every write is answered with 405. */
  readonly write?: WriteHandler
  /**
   * Decides which requests are allowed. Default: every request with the token of these options is, or every request if
   * there is no token.
   */
  readonly access?: AccessControl
  /** Why the server is read-only, added to the message of that 405. Default: no reason. */
  readonly readOnlyReason?: string
  /** Default: none. */
  readonly hooks?: RequestHooks
  /** How all JSON is formatted. Default: compact. */
  readonly format?: JsonFormat
  /**
   * The version in `/version`. Default `v1.34.4+kubereel`: the version of the API, marked as not being the real server.
   */
  readonly gitVersion?: string
}

/** For node:https. */
export const tlsOptions = ({ key, cert, ca, requestCert = false }: ServerTls): ServerOptions => ({
  key,
  cert,
  ...(ca === undefined ? {} : { ca }),
  requestCert,
  rejectUnauthorized: requestCert,
  // HTTP/1.1 only: faults act on connections, and with HTTP/2 all watches would share one.
  ALPNProtocols: ["http/1.1"],
})

// Hooks through which the sandbox's faults intervene between a request and its response. An ordinary server has none.

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
