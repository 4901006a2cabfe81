/** How an API server is set up. */

import type { ServerOptions } from "node:https"
import type { Clock } from "../clock.ts"
import type { Failure } from "./answers/failure.ts"
import type { JsonFormat } from "./answers/json-spacing.ts"
import type { Form } from "./forms/form.ts"
import type { Exchange } from "./http/exchange.ts"
import type { ResourceRoute } from "./http/router.ts"
import type { OnTrouble } from "./http/trouble.ts"
import type { Resource } from "./kinds/resources.ts"
import type { ExpiredAs, StreamingList } from "./list/list-options.ts"
import type { RequestHooks } from "./request-hooks.ts"

/** How requests are answered, over whatever connection they come. */
export interface ApiHandlerOptions {
  /** Bearer token that every request must carry. Default: none needed. */
  readonly token?: string
  /** Default: the machine's clock. */
  readonly clock?: Clock
  /** How a watch from a forgotten version is answered. Default `stream`, as the real server does. */
  readonly expiredAs?: ExpiredAs
  /** Default `supported`, as in Kubernetes 1.34. */
  readonly streamingList?: StreamingList
  /** ms between bookmarks to those who allow them. Default 60,000, as the real server about does; 0 sends none. */
  readonly bookmarkInterval?: number
  /**
   * Hang up on a watcher whose unsent bytes stay above this for 100 ms. Default: never, so that a slow test machine does
   * not look like a slow reader.
   */
  readonly slowReaderLimit?: number
  /** Newest requests that the log keeps. Default 100,000. */
  readonly requestLogLimit?: number
  /** Told of defects of the server's own, which clients see as a 500. Default: a warning of the process, on stderr. */
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
 * Takes over a request other than a GET, for a kind that is served and a path that makes sense for it, and answers the
 * exchange, now or later. A failure returned is sent at once. `form` is how the client wants to see objects; `undefined`
 * means as they are stored.
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
  /** Why nothing can be written, added to the message of that 405. Default: no reason. */
  readonly readOnlyReason?: string
  /** Default: none. */
  readonly hooks?: RequestHooks
  /** How all JSON is formatted. Default: compact. */
  readonly format?: JsonFormat
  /** What `/version` calls this server. Default `v1.34.4+kubereel`: the version whose API it has, and that it is not that server. */
  readonly gitVersion?: string
}

/** For node:https. */
export const tlsOptions = ({ key, cert, ca, requestCert = false }: ServerTls): ServerOptions => ({
  key,
  cert,
  ...(ca === undefined ? {} : { ca }),
  requestCert,
  rejectUnauthorized: requestCert,
  // One protocol, as the faults act on connections: with HTTP/2 all watches would share one.
  ALPNProtocols: ["http/1.1"],
})
