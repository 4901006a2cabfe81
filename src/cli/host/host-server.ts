/**
 * `GET /healthz`, `/readyz` and `/metrics` of a running host. Nothing can be changed here, and nothing of the cluster can be read: there are
 * only names of modules and numbers.
 *
 * `/healthz` succeeds while the process answers: a restart would help against nothing else. `/readyz` succeeds while every condition is met.
 */
import { createServer } from "node:http"
import { messageOf } from "../../message-of.ts"
import { text } from "../../recorder/http/body/http-answer.ts"
import { formatMetrics, type Metric, metricsContentType } from "../../recorder/metrics/metrics-text.ts"
import { isByOwnName, type ListenAddress, type ListeningServer, listenOn } from "../listening-server.ts"

/** One condition of being ready. */
export interface Condition {
  readonly name: string
  readonly isMet: boolean
  /** What there is, or what is missing. */
  readonly detail: string
}

export interface ServedHost {
  readonly conditions: () => ReadonlyArray<Condition>
  readonly metrics: () => Promise<ReadonlyArray<Metric>>
}

/** Rejects with AddressUnavailable. */
export const serveHost = (address: ListenAddress, { conditions, metrics }: ServedHost): Promise<ListeningServer> => {
  const server = createServer((request, response) => {
    const [path, query = ""] = (request.url ?? "").split("?")
    if (request.method !== "GET" && request.method !== "HEAD") text(response, 405, "only GET is possible\n")
    else if (path === "/healthz") text(response, 200, "ok\n")
    else if (path === "/readyz") {
      const all = conditions()
      const isReady = all.every(({ isMet }) => isMet)
      const isVerbose = !isReady || new URLSearchParams(query).has("verbose")
      text(response, isReady ? 200 : 503, isVerbose ? all.map(lineOf).join("") : "ok\n")
    } else if (path === "/metrics" && isByOwnName(request, response, address))
      metrics().then(
        (found) => text(response, 200, formatMetrics(found), metricsContentType),
        (cause: unknown) => text(response, 500, `${messageOf(cause)}\n`),
      )
    else if (path !== "/metrics") text(response, 404, "/healthz, /readyz and /metrics are served\n")
  })
  return listenOn(server, address, "--listen")
}

const lineOf = ({ name, isMet, detail }: Condition): string => `${isMet ? "[+]" : "[-]"}${name}: ${detail}\n`
