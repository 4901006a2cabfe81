/**
 * Opens a socket to a target: TCP, through a proxy's tunnel if there is one, TLS on top if the target wants it.
 *
 * All reads of a socket use one buffer (`onread`): without it Node allocates up to 64 KiB for each. Node ignores `onread` for TLS over an
 * existing socket, so through a tunnel bytes arrive as `data` events; that path is correct but slower. Exactly one of `ready` and `failed`
 * is called, unless the socket is destroyed first.
 */
import * as net from "node:net"
import * as tls from "node:tls"
import type { Timers } from "../../clock.ts"
import { codeOfError, describeConnectionError } from "./connection-causes.ts"
import { connectionCodes, type StreamEnd } from "./response-handler.ts"
import { parseResponseHead } from "./response-head.ts"
import { maximumHeadBytes } from "./response-parser.ts"
import { openSocksTunnel } from "./socks.ts"
import type { ApiProxy, Target } from "./target.ts"

/** What a request needs of an open connection. */
export type RequestSocket = Pick<net.Socket, "write" | "resume" | "ref" | "unref">

export interface SocketEvents {
  /** Connected, TLS included: requests may be written. */
  ready(socket: RequestSocket): void
  /** Bytes `buffer[0, length)`, valid only during the call. `false` stops reading until `socket.resume()`; TLS may still
   * bring what its last record held. */
  bytes(buffer: Buffer, length: number): boolean
  /** The server closed its side cleanly. */
  inputEnded(): void
  /** Connecting failed, or the connection broke. */
  failed(end: StreamEnd): void
}

export interface OpeningSocket {
  /** Closes at once; no event follows. */
  destroy(): void
}

/** Opens a connection to a target. {@link openSocket}, or a way to a server that is in the same process. */
export type OpenSocket = (
  target: Target,
  connectTimeoutMs: number,
  timers: Timers,
  events: SocketEvents,
) => OpeningSocket

/** Largest read; libuv offers 64 KiB too. */
const readBufferBytes = 64 * 1024
/** Below the idle limits of common load balancers and NATs, so that a dead peer is noticed and a quiet watch stays open. */
const keepAliveMs = 15_000

/** `connectTimeoutMs` covers name look-up, TCP, tunnel and TLS together. */
export const openSocket: OpenSocket = (target, connectTimeoutMs, timers, events) => {
  let socket: net.Socket | undefined
  let isClosed = false
  const destination = target.proxy ?? target
  const via = target.proxy === undefined ? "" : ` through proxy ${target.proxy.description}`

  const close = (): void => {
    isClosed = true
    timer.cancel()
    socket?.destroy()
  }
  const fail = (end: StreamEnd): void => {
    if (isClosed) return
    close()
    events.failed(end)
  }
  const failWith = (error: Error): void => fail(describeError(error, `${target.tunnelAuthority}${via}`))
  const timer = timers.after(connectTimeoutMs, () =>
    fail({
      tag: "timeout",
      afterMs: connectTimeoutMs,
      message: `no connection to ${target.tunnelAuthority}${via} within ${connectTimeoutMs} ms`,
    }),
  )

  const receive = (buffer: Buffer, length: number): boolean => !isClosed && events.bytes(buffer, length)
  const onread: net.OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(readBufferBytes),
    callback: (length, buffer) => receive(buffer as Buffer, length),
  }

  /** Listens to the socket that will carry requests; it is ready when its last layer is connected, or at once. */
  const follow = (next: net.Socket, readyEvent?: "connect" | "secureConnect"): void => {
    socket = next
    next.setNoDelay(true)
    next.setKeepAlive(true, keepAliveMs)
    next.on("error", failWith)
    next.on("end", () => {
      if (!isClosed) events.inputEnded()
    })
    next.on("close", () => fail(describeError(new Error("the connection was closed"), target.tunnelAuthority)))
    const isReady = (): void => {
      timer.cancel()
      if (!isClosed) events.ready(next)
    }
    if (readyEvent === undefined) isReady()
    else next.once(readyEvent, isReady)
  }

  const followTunnelled = (next: net.Socket, readyEvent?: "secureConnect"): void => {
    next.on("data", (chunk: Buffer) => {
      if (!receive(chunk, chunk.length)) next.pause()
    })
    follow(next, readyEvent)
  }

  const address = { host: destination.host, port: destination.port }
  const { proxy } = target
  if (target.tls === undefined && proxy?.kind !== "socks5") {
    follow(net.connect({ ...address, onread }), "connect")
  } else if (target.tls !== undefined && proxy === undefined) {
    // Documented for `tls.connect` since Node 12, but missing in its types.
    const options: tls.ConnectionOptions & { onread: net.OnReadOpts } = { ...target.tls, ...address, onread }
    follow(tls.connect(options), "secureConnect")
  } else {
    const secure = target.tls
    const opened = (result: net.Socket | StreamEnd | Error): void => {
      if (isClosed) return
      if (result instanceof Error) failWith(result)
      else if (!(result instanceof net.Socket)) fail(result)
      else if (secure !== undefined)
        followTunnelled(tls.connect({ ...secure, host: target.host, socket: result }), "secureConnect")
      else followTunnelled(result)
    }
    socket =
      proxy?.kind === "socks5"
        ? openSocksTunnel(proxy, target, opened)
        : openTunnel(proxy as ApiProxy, target.tunnelAuthority, opened)
  }
  return { destroy: close }
}

/** Asks a proxy for a tunnel; `done` gets the bare socket once it is open. */
const openTunnel = (
  proxy: ApiProxy,
  authority: string,
  done: (result: net.Socket | StreamEnd | Error) => void,
): net.Socket => {
  const socket = net.connect({ host: proxy.host, port: proxy.port })
  let head = ""
  const settle = (result: net.Socket | StreamEnd | Error): void => {
    socket.removeListener("data", onData)
    socket.removeListener("end", onEnd)
    // The error listener stays: an error after `destroy` must not become an uncaught exception.
    done(result)
  }
  const refused = (message: string): StreamEnd => ({
    tag: "connection",
    code: connectionCodes.proxyRefused,
    message: `proxy ${proxy.description} did not open a tunnel to ${authority}: ${message}`,
  })
  const onEnd = (): void => settle(refused("it closed the connection without a response"))
  const onData = (chunk: Buffer): void => {
    head += chunk.toString("latin1")
    const end = head.indexOf("\r\n\r\n")
    if (end >= 0) {
      const refusal = refusalOf(head, end + 4)
      settle(refusal === undefined ? socket : refused(refusal))
    } else if (head.length > maximumHeadBytes) {
      settle(refused(`its response is longer than ${maximumHeadBytes} bytes`))
    }
  }
  const credentials = proxy.authorization === undefined ? "" : `Proxy-Authorization: ${proxy.authorization}\r\n`
  socket.once("connect", () =>
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`),
  )
  socket.on("error", done)
  socket.on("data", onData)
  socket.on("end", onEnd)
  return socket
}

/** Why a proxy's response to CONNECT is a refusal; `undefined` if the tunnel is open. `length`: of the head within the text. */
const refusalOf = (text: string, length: number): string | undefined => {
  const answer = parseResponseHead(text.slice(0, length))
  if (answer.tag === "malformed") return answer.message
  if (answer.status < 200 || answer.status > 299) return `it returned ${answer.status} ${answer.reason}`.trimEnd()
  // A TLS server never speaks first, so nothing can follow the head.
  return text.length > length ? "it sent data before the tunnel was used" : undefined
}

/** Converts Node's error: its own code for programs, and a message for people that names the target. */
const describeError = (error: SocketError, target: string): StreamEnd => {
  // Happy eyeballs: one error per address tried, wrapped in an error without a message.
  const errors = error instanceof AggregateError ? (error.errors as ReadonlyArray<SocketError>) : [error]
  // A name may have several addresses, and the wrong ones.
  const addresses = errors.flatMap(({ address = "" }) => (address === "" || target.includes(address) ? [] : address))
  const where = addresses.length === 0 ? target : `${target} (${addresses.join(", ")})`
  return {
    tag: "connection",
    code: codeOfError(error) ?? errors[0]?.code ?? "ERR_CONNECTION",
    message: `${where}: ${[...new Set(errors.map(describeConnectionError))].join("; ")}`,
  }
}

interface SocketError extends Error {
  readonly code?: string
  /** The address that was tried. */
  readonly address?: string
}
