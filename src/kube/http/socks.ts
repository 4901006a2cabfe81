/**
 * Tunnels through SOCKS5 proxies (RFC 1928, user name and password RFC 1929).
 *
 * The proxy always gets the name and looks it up, for `socks5` as for `socks5h`: so does Go, hence kubectl, and a server behind a proxy often has
 * a name that only the proxy's network knows. Own code instead of a package: the client's half of the protocol is three messages, and
 * these run in every worker.
 */
import * as net from "node:net"
import { connectionCodes, type StreamEnd } from "./response-handler.ts"
import type { ApiProxy, Target } from "./target.ts"

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
  const addressBytes = { [Address.ipv4]: 4, [Address.ipv6]: 16, [Address.name]: 1 + (reply[4] as number) }[
    reply[3] as 1
  ]
  return 4 + (addressBytes ?? 4) + 2
}
