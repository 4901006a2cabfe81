/** How an embedded API server is set up. */

import type { ServerOptions } from "node:https"
import type { Clock } from "../runtime/clock.ts"
import type { ExpiredAs } from "../sandbox/faults/faults.ts"
import type { OnTrouble } from "./http/trouble.ts"
import type { StreamingList } from "./list/list-options.ts"

export interface ServerTls {
  /** PEM */
  readonly key: string
  readonly cert: string
  /** PEM bundle that client certificates are checked against; also handed out in the endpoint. */
  readonly ca?: string
  /** Refuse clients without a certificate signed by `ca`. Default false. */
  readonly requestCert?: boolean
}

export interface ApiServerOptions {
  /** Default 0: the kernel chooses. */
  readonly port?: number
  /** Bearer token that every request must carry. Default: none needed. */
  readonly token?: string
  readonly tls?: ServerTls
  /** Default: the machine's clock. */
  readonly clock?: Clock
  /** How a watch from a forgotten version is answered. Default `stream`, as the real server does. */
  readonly expiredAs?: ExpiredAs
  /** Default `supported`, as in Kubernetes 1.34. */
  readonly streamingList?: StreamingList
  /**
   * Hang up on a watcher whose unsent bytes stay above this for 100 ms. Default: never, so that a slow test machine does
   * not look like a slow reader.
   */
  readonly slowReaderLimit?: number
  /** Newest requests that the log keeps. Default 100,000. */
  readonly requestLogLimit?: number
  /** Who 403 answers say was refused. Default `system:serviceaccount:default:reader`. */
  readonly user?: string
  /** Told of defects of the server's own, which clients see as a 500. Default: a warning of the process, on stderr. */
  readonly onTrouble?: OnTrouble
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
