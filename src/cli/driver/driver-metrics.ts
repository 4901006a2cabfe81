/** The metrics of a driver's replay for Prometheus, as `reel replay --control` has them. Nothing can be changed there. */
import { createServer } from "node:http"
import { text } from "../../recorder/http/http-answer.ts"
import { formatMetrics, metricsContentType } from "../../recorder/metrics/metrics-text.ts"
import type { Repetitions } from "../../simulation/replay/repetitions.ts"
import { isByOwnName, type ListenAddress, type ListeningServer, listenOn } from "../listening-server.ts"
import { metricsOf } from "../replay/control/control-state.ts"

/** Rejects with AddressUnavailable. */
export const serveMetrics = (address: ListenAddress, run: Repetitions): Promise<ListeningServer> => {
  const server = createServer((request, response) => {
    if (!isByOwnName(request, response, address)) return
    const path = request.url?.split("?", 1)[0]
    if (path !== "/metrics") return text(response, 404, "not found; available is /metrics\n")
    if (request.method !== "GET" && request.method !== "HEAD")
      return text(response, 405, "only GET and HEAD are allowed\n")
    text(response, 200, formatMetrics(metricsOf(run)), metricsContentType)
  })
  return listenOn(server, address, "--metrics-port")
}
