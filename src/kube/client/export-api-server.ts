/**
 * Connects `node:https` to an API server as a kubeconfig describes it. The client of `src/kube/http` has no trailers,
 * which an export needs.
 */
import { type OutgoingHttpHeaders, type RequestOptions, request } from "node:http"
import type { Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { ApiEndpoint } from "../endpoint.ts"
import { openSocksTunnel } from "../http/connect.ts"
import { type ApiProxy, parseTarget, type Target } from "../http/target.ts"

/** The URL, certificate or key cannot be used. */
export class UnusableEndpoint extends Error {
  readonly code = "ERR_INVALID_ENDPOINT"
}

/** The proxy did not connect to the API server; the message names it, without its password. */
class ProxyInTheWay extends Error {
  readonly code = "ERR_PROXY_REFUSED"
}

export interface ApiServerRoute {
  /** The URL of a path that begins with `/`. */
  readonly url: (path: string) => URL
  /** The identity that the kubeconfig gives. */
  readonly headers: OutgoingHttpHeaders
  /** Options that route a request for {@link url} to the server. Rejects with Node's error, or {@link ProxyInTheWay}. */
  readonly connect: (url: URL, signal: AbortSignal, timeoutMs: number) => Promise<RequestOptions>
}

/** @throws UnusableEndpoint */
export const routeTo = (endpoint: ApiEndpoint): ApiServerRoute => {
  const target = parseTarget(endpoint)
  if ("problem" in target) throw new UnusableEndpoint(target.problem)
  return {
    url: (path) => new URL(endpoint.server.replace(/\/+$/, "") + path),
    headers: grouped(endpoint.headers),
    connect: async (url, signal, timeoutMs) => {
      const { tls, proxy } = target
      if (proxy === undefined) return { ...tls, agent: false }
      if (proxy.kind === "socks5") {
        const socket = await socksTunnel(proxy, target, signal, timeoutMs)
        return { createConnection: () => (tls ? connectTls({ ...tls, socket, host: target.host }) : socket) }
      }
      if (tls === undefined) return forwarded(url, proxy)
      const socket = await openTunnel(proxy, target, signal, timeoutMs)
      return { createConnection: () => connectTls({ ...tls, socket, host: target.host }) }
    },
  }
}

/** Headers that occur several times, such as Impersonate-Group, keep all their values. */
const grouped = (headers: ApiEndpoint["headers"]): OutgoingHttpHeaders => {
  const byName = new Map<string, string[]>()
  for (const [name, value] of headers) {
    const values = byName.get(name.toLowerCase()) ?? []
    byName.set(name.toLowerCase(), [...values, value])
  }
  return Object.fromEntries([...byName].map(([name, values]) => [name, values.length === 1 ? values[0] : values]))
}

const authorizationOf = ({ authorization }: ApiProxy): OutgoingHttpHeaders =>
  authorization === undefined ? {} : { "proxy-authorization": authorization }

/** Without TLS, the request to a proxy has the whole URL (RFC 9112 §3.2.2). */
const forwarded = (url: URL, proxy: ApiProxy): RequestOptions => ({
  agent: false,
  hostname: proxy.host,
  port: proxy.port,
  path: url.href,
  headers: { host: url.host, ...authorizationOf(proxy) },
})

const socksTunnel = (proxy: ApiProxy, target: Target, signal: AbortSignal, timeoutMs: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const failed = (why: string): ProxyInTheWay => new ProxyInTheWay(why)
    const socket = openSocksTunnel(proxy, target, (result) => {
      socket.setTimeout(0)
      if (!(result instanceof Error) && "tag" in result) {
        socket.destroy()
        reject(failed("message" in result ? result.message : `the proxy ${proxy.description} did not open a tunnel`))
      } else if (result instanceof Error) reject(failed(`the proxy ${proxy.description}: ${result.message}`))
      else resolve(result)
    })
    socket.setTimeout(timeoutMs, () => {
      socket.destroy()
      reject(failed(`the proxy ${proxy.description} did not respond for ${timeoutMs / 1000} s`))
    })
    signal.addEventListener("abort", () => socket.destroy(signal.reason as Error), { once: true })
  })

const openTunnel = (proxy: ApiProxy, target: Target, signal: AbortSignal, timeoutMs: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const failed = (why: string): ProxyInTheWay =>
      new ProxyInTheWay(`the proxy ${proxy.description} did not open a tunnel to ${target.tunnelAuthority}: ${why}`)
    const asked = request({
      agent: false,
      host: proxy.host,
      port: proxy.port,
      method: "CONNECT",
      path: target.tunnelAuthority,
      headers: { host: target.tunnelAuthority, ...authorizationOf(proxy) },
      signal,
    })
    asked.setTimeout(timeoutMs, () => asked.destroy(failed(`it did not respond for ${timeoutMs / 1000} s`)))
    asked.on("connect", ({ statusCode = 0, statusMessage = "" }, socket: Socket) => {
      socket.setTimeout(0)
      if (statusCode >= 200 && statusCode < 300) return resolve(socket)
      socket.destroy()
      reject(failed(`it returned ${statusCode} ${statusMessage}`.trimEnd()))
    })
    // A server that treats CONNECT like a GET is not a proxy.
    asked.on("response", (response) => {
      response.destroy()
      reject(failed(`it returned ${response.statusCode}`))
    })
    asked.on("error", (cause: NodeJS.ErrnoException) =>
      reject(cause instanceof ProxyInTheWay || signal.aborted ? cause : failed(cause.message)),
    )
    asked.end()
  })
