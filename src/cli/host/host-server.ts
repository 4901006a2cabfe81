/**
 * `GET /healthz`, `GET /metrics` and perhaps `GET /readyz` of running controllers. Nothing can be changed here, and nothing of the cluster can be read: there are only
 * names of modules and numbers.
 */
import { createServer } from "node:http"
import { messageOf } from "../../message-of.ts"
import { text } from "../../recorder/http/http-answer.ts"
import { formatMetrics, type Metric, metricsContentType } from "../../recorder/metrics/metrics-text.ts"
import { type ListenAddress, type ListeningServer, listenOn } from "../listening-server.ts"

/** `unready`: what keeps it from being ready, if anything does. Default: there is no /readyz. Rejects with AddressUnavailable. */
export const serveHost = (
  address: ListenAddress,
  metrics: () => Promise<ReadonlyArray<Metric>>,
  unready?: () => string | undefined,
): Promise<ListeningServer> => {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0]
    if (request.method !== "GET" && request.method !== "HEAD") text(response, 405, "only GET is possible\n")
    else if (path === "/healthz") text(response, 200, "ok\n")
    else if (path === "/readyz" && unready !== undefined) {
      const problem = unready()
      text(response, problem === undefined ? 200 : 503, `${problem ?? "ok"}\n`)
    } else if (path === "/metrics")
      metrics().then(
        (found) => text(response, 200, formatMetrics(found), metricsContentType),
        (cause: unknown) => text(response, 500, `${messageOf(cause)}\n`),
      )
    else text(response, 404, `/healthz${unready === undefined ? "" : ", /readyz"} and /metrics are served\n`)
  })
  return listenOn(server, address, "--listen")
}
