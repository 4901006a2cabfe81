/** Where the lines of a watch go: the chunked response to a request, or a WebSocket. */

import type { ServerResponse } from "node:http"

/** A {@link ServerResponse} is one. */
export interface WatchOutput
  extends Pick<ServerResponse, "socket" | "chunkedEncoding" | "write" | "end" | "destroy" | "once" | "on"> {}
