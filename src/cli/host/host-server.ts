/**
 * `GET /healthz` and `GET /metrics` of a running host. Nothing can be changed here, and nothing of the cluster can be read: there are only
 * names of modules and numbers.
 */
import { createServer } from "node:http"
import { messageOf } from "../../message-of.ts"
import { text } from "../../recorder/http/http-answer.ts"
import { formatMetrics, type Metric, metricsContentType } from "../../recorder/metrics/metrics-text.ts"
import { type ListenAddress, type ListeningServer, listenOn } from "../listening-server.ts"

/** Rejects with AddressUnavailable. */
export const serveHost = (
  address: ListenAddress,
  metrics: () => Promise<ReadonlyArray<Metric>>,
): Promise<ListeningServer> => {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0]
    if (request.method !== "GET" && request.method !== "HEAD") text(response, 405, "only GET is possible\n")
    else if (path === "/healthz") text(response, 200, "ok\n")
    else if (path === "/metrics")
      metrics().then(
        (found) => text(response, 200, formatMetrics(found), metricsContentType),
        (cause: unknown) => text(response, 500, `${messageOf(cause)}\n`),
      )
    else text(response, 404, "/healthz and /metrics are served\n")
  })
  return listenOn(server, address, "--listen")
}
