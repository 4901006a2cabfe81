/**
 * The part of an API server that `reel export --in-cluster` meets, over real connections: Services, and the service proxy in front of a
 * real upstream. It behaves as Kubernetes 1.34 was observed to: it removes `Authorization` and adds X-Forwarded-For, passes heads, bodies,
 * interim responses and trailers on as they arrive, breaks its own connection when the upstream's breaks, and uses the same error messages.
 */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import type { ServerOptions } from "node:https"
import type { TLSSocket } from "node:tls"
import { startWebServer, type WebServer } from "../kube/http/web-server.ts"

export interface ServicePorts {
  readonly name?: string
  readonly port: number
}

export interface ServiceProxyOptions {
  /** Where the Service `kubereel/kubereel` leads; `undefined`: no pod is ready. */
  readonly upstream: string | undefined
  readonly ports?: ReadonlyArray<ServicePorts>
  /** Default: none, plain HTTP. */
  readonly tls?: ServerOptions | undefined
  /** Answers in place of everything else; `false`: it did not. */
  readonly instead?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** As something between that knows HTTP/1.0 only in this respect. Default: they are passed on. */
  readonly dropsTrailers?: boolean
}

export interface SeenRequest {
  readonly line: string
  readonly headers: IncomingMessage["headers"]
  /** Common name of the client's certificate. */
  readonly certificate: string | undefined
}

export interface ServiceProxy extends WebServer {
  readonly seen: ReadonlyArray<SeenRequest>
}

export const status = (response: ServerResponse, code: number, reason: string, message: string): void => {
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code }
  response.writeHead(code, { "Content-Type": "application/json", "Audit-Id": "a" })
  response.end(JSON.stringify(body, null, 2))
}

export const startServiceProxy = async (options: ServiceProxyOptions): Promise<ServiceProxy> => {
  const { upstream, ports = [{ name: "http", port: 7777 }], tls, instead, dropsTrailers = false } = options
  const seen: SeenRequest[] = []
  const server = await startWebServer((request, response) => {
    const subject = (request.socket as Partial<TLSSocket>).getPeerCertificate?.().subject?.CN
    const certificate = typeof subject === "string" ? subject : undefined
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, certificate })
    if (instead?.(request, response) === true) return
    // A client behind a proxy without TLS sends the whole URL.
    const { pathname } = new URL(request.url ?? "", "http://api.invalid")
    const [, namespace, name, rest] = /^\/api\/v1\/namespaces\/([^/]+)\/services\/([^/]+)(?:\/proxy(.*))?$/.exec(
      pathname,
    ) ?? ["", "", "", undefined]
    const [service, port] = (name ?? "").split(":")
    if (namespace !== "kubereel" || service !== "kubereel")
      return status(response, 404, "NotFound", `services "${service}" not found`)
    if (rest === undefined) {
      response.setHeader("Content-Type", "application/json")
      response.end(JSON.stringify({ kind: "Service", apiVersion: "v1", spec: { ports } }))
      return
    }
    const found = ports.find((each) => (each.name ?? "") === port || String(each.port) === port)
    if (found === undefined && /^\d+$/.test(port ?? ""))
      return status(response, 503, "ServiceUnavailable", `no service port ${port} found for service "${service}"`)
    if (upstream === undefined || found === undefined)
      return status(response, 503, "ServiceUnavailable", `no endpoints available for service "${name}"`)
    forward(request, response, upstream + rest, dropsTrailers)
  }, tls)
  return Object.assign(server, { seen })
}

/** Headers that are one connection's own (RFC 9110 §7.6.1). */
const hopByHop = ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"]

const endToEnd = (headers: IncomingMessage["headers"]): IncomingMessage["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name)))

const forward = (request: IncomingMessage, response: ServerResponse, url: string, dropsTrailers: boolean): void => {
  const { authorization: _own, ...headers } = endToEnd(request.headers)
  const sent = httpRequest(url, {
    method: request.method,
    headers: { ...headers, "x-forwarded-for": request.socket.remoteAddress ?? "" },
    agent: false,
  })
  sent.on("information", () => response.writeProcessing())
  sent.on("response", (answer) => {
    const { trailer, ...others } = endToEnd(answer.headers)
    const isAnnounced = trailer !== undefined && !dropsTrailers
    response.writeHead(answer.statusCode ?? 0, { ...others, ...(isAnnounced && { trailer }) })
    answer.on("data", (piece: Buffer) => response.write(piece))
    answer.on("end", () => {
      if (isAnnounced) response.addTrailers(answer.trailers as Record<string, string>)
      response.end()
    })
    answer.on("error", () => response.destroy())
  })
  sent.on("error", (cause) => {
    if (response.headersSent) response.destroy()
    else status(response, 503, "ServiceUnavailable", `error trying to reach service: ${cause.message}`)
  })
  request.pipe(sent)
}
