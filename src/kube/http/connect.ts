/**
 * Opens a socket to a target: TCP, through a proxy's tunnel if there is one, TLS on top. All reads use one buffer
 * (`onread`), but for TLS through a tunnel, where Node ignores it. One of `ready` and `failed` is called, unless the
 * socket is destroyed first.
 */
import * as net from "node:net"
import * as tls from "node:tls"
import type { Timers } from "../../clock.ts"
import { codeOfError, describeConnectionError } from "./connection-causes.ts"
import { maximumHeadBytes, parseResponseHead } from "./response-parser.ts"
import type { ApiProxy, Target } from "./target.ts"
import { connectionCodes, type StreamEnd } from "./transport.ts"

// Tunnels through SOCKS5 proxies (RFC 1928, user name and password RFC 1929).

const version = 5
const noAuthentication = 0
const userAndPassword = 2
const connectCommand = 1
const Address = { ipv4: 1, name: 3, ipv6: 4 } as const

/** RFC 1928 §6. */
const replies: ReadonlyArray<string> = [
  "succeeded",
  "general failure",
  "its rules do not allow the connection",
  "the network is unreachable",
  "the host is unreachable",
  "the connection was refused",
  "the time to live expired",
  "it does not support the command",
  "it does not support the type of address",
]

/** What is expected from the proxy. */
type Phase = "method" | "authentication" | "connection"

/** `done` gets the bare socket once the tunnel is open, or why it is not; it may be called again after an error, which the caller ignores. */
export const openSocksTunnel = (
  proxy: ApiProxy,
  target: Pick<Target, "host" | "port" | "tunnelAuthority">,
  done: (result: net.Socket | StreamEnd | Error) => void,
): net.Socket => {
  const socket = net.connect({ host: proxy.host, port: proxy.port })
  const { credentials } = proxy
  let phase: Phase = "method"
  let received = Buffer.alloc(0)
  const settle = (result: net.Socket | StreamEnd): void => {
    socket.removeListener("data", onData)
    socket.removeListener("end", onEnd)
    // The error listener stays: an error after `destroy` must not become an uncaught exception.
    done(result)
  }
  const refused = (reason: string): void =>
    settle({
      tag: "connection",
      code: connectionCodes.proxyRefused,
      message: `proxy ${proxy.description} did not open a tunnel to ${target.tunnelAuthority}: ${reason}`,
    })
  const connect = (): void => {
    phase = "connection"
    socket.write(connectRequest(target))
  }
  /** Takes one message; returns its length, 0 if it is not whole yet or the tunnel is settled. */
  const step = (): number => {
    const [first, second = 0] = received
    if (received.length < 2) return 0
    if (phase === "authentication") {
      if (second !== 0) refused("it did not accept the user name and password")
      else connect()
      return second === 0 ? 2 : 0
    }
    if (first !== version) {
      refused("it does not speak SOCKS5")
      return 0
    }
    if (phase === "method") {
      if (second === userAndPassword && credentials !== undefined) {
        phase = "authentication"
        const { user, password } = credentials
        socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]))
      } else if (second === noAuthentication) connect()
      else {
        refused(credentials === undefined ? "it wants a user name and password" : "it accepts no way of authentication")
        return 0
      }
      return 2
    }
    if (second !== 0) {
      refused(replies[second] ?? `it returned ${second}`)
      return 0
    }
    const length = replyLength(received)
    if (length === undefined || received.length < length) return 0
    // A server of TLS or HTTP never speaks first, so nothing can follow.
    if (received.length > length) refused("it sent data before the tunnel was used")
    else settle(socket)
    return 0
  }
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk])
    for (let length = step(); length > 0; length = step()) received = received.subarray(length)
  }
  const onEnd = (): void => refused("it closed the connection")
  socket.once("connect", () =>
    socket.write(
      Buffer.from(
        credentials === undefined ? [version, 1, noAuthentication] : [version, 2, noAuthentication, userAndPassword],
      ),
    ),
  )
  socket.on("error", done)
  socket.on("data", onData)
  socket.on("end", onEnd)
  return socket
}

const connectRequest = ({ host, port }: Pick<Target, "host" | "port">): Buffer => {
  const family = net.isIP(host)
  const address =
    family === 4
      ? Buffer.from([Address.ipv4, ...host.split(".").map(Number)])
      : family === 6
        ? Buffer.from([Address.ipv6, ...ipv6Bytes(host)])
        : Buffer.concat([Buffer.from([Address.name, Buffer.byteLength(host)]), Buffer.from(host)])
  return Buffer.concat([Buffer.from([version, connectCommand, 0]), address, Buffer.from([port >> 8, port & 255])])
}

/** The sixteen bytes of an address as a URL writes it: lower case, never with an IPv4 part. */
const ipv6Bytes = (address: string): ReadonlyArray<number> => {
  const [head = "", tail] = address.split("::")
  const groups = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(":"))
  const [before, after] = [groups(head), groups(tail ?? "")]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0")
  return [...before, ...zeros, ...after].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

/** Bytes of the reply to a connection; `undefined` if that is not known yet. */
const replyLength = (reply: Buffer): number | undefined => {
  if (reply.length < 5) return undefined
  const addressBytes = { [Address.ipv4]: 4, [Address.ipv6]: 16, [Address.name]: 1 + (reply[4] ?? 0) }[reply[3] as 1]
  return 4 + (addressBytes ?? 4) + 2
}

// Whether a server speaks TLS, found out by a handshake: a port that closes a plain connection without a word may do so for many reasons, and
// advice to write https:// would mislead in all but one.

/** ms for name look-up, TCP and TLS: the port was reached a moment ago. */
const probeMs = 3000

/** No certificate is checked and nothing is sent after the handshake. Never rejects; false if there is no answer in time. */
export const speaksTls = ({ host, port }: Pick<Target, "host" | "port">, timers: Timers): Promise<boolean> =>
  new Promise((resolve) => {
    const settle = (isTls: boolean): void => {
      timer.cancel()
      socket.destroy()
      resolve(isTls)
    }
    const timer = timers.after(probeMs, () => settle(false))
    const socket = tls.connect({ host, port, rejectUnauthorized: false })
    socket.once("secureConnect", () => settle(true))
    // The listener stays: an error after the end must not become an uncaught exception. An alert is a refusal in TLS.
    socket.on("error", (error: NodeJS.ErrnoException) => settle(/ALERT/.test(error.code ?? "")))
    socket.once("close", () => settle(false))
  })

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
export const openTunnel = (
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
