/**
 * Connects `node:https` to an API server as a kubeconfig describes it. The client of `src/kube/http` has no trailers,
 * which an export needs.
 */
import type { OutgoingHttpHeaders, RequestOptions } from "node:http"
import type { Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { ApiEndpoint } from "../endpoint.ts"
import { openSocksTunnel, openTunnel } from "../http/connect.ts"
import { type ApiProxy, parseTarget, type Target } from "../http/target.ts"
import type { StreamEnd } from "../http/transport.ts"

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
      if (tls === undefined && proxy.kind === "http") return forwarded(url, proxy)
      const socket = await tunnel(proxy, target, signal, timeoutMs)
      return { createConnection: () => (tls ? connectTls({ ...tls, socket, host: target.host }) : socket) }
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

const tunnel = (proxy: ApiProxy, target: Target, signal: AbortSignal, timeoutMs: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const name = `the proxy ${proxy.description}`
    const fail = (why: string): void => {
      socket.destroy()
      reject(signal.aborted ? signal.reason : new ProxyInTheWay(why))
    }
    const done = (result: Socket | StreamEnd | Error): void => {
      socket.setTimeout(0)
      if (result instanceof Error) fail(`${name} did not open a tunnel to ${target.tunnelAuthority}: ${result.message}`)
      else if ("tag" in result) fail("message" in result ? `the ${result.message}` : `${name} did not open a tunnel`)
      else resolve(result)
    }
    const socket =
      proxy.kind === "socks5" ? openSocksTunnel(proxy, target, done) : openTunnel(proxy, target.tunnelAuthority, done)
    socket.setTimeout(timeoutMs, () => fail(`${name} did not respond for ${timeoutMs / 1000} s`))
    signal.addEventListener("abort", () => socket.destroy(signal.reason), { once: true })
  })
