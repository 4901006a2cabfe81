/** The name of one request: in its answer, in the log, and in what a person is told. */
import { randomUUID } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

export const requestIdHeader = "Kubereel-Request-Id"

/** That of the client, if it is one that may stand in a log line; else a new one. */
export const requestIdOf = (headers: IncomingHttpHeaders): string => {
  const given = headers[requestIdHeader.toLowerCase()]
  return typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}
