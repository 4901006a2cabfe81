import { once } from "node:events"
import { createServer, request } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"

/** A small forward proxy: tunnels CONNECT, forwards absolute-form requests. */
export interface ForwardProxy extends AsyncDisposable {
  readonly port: number
  /** `CONNECT host:port` or `GET url`, with the credentials sent. */
  readonly seen: ReadonlyArray<{ readonly line: string; readonly authorization: string | undefined }>
}

/** `password`: required as `user:password`; without it the proxy accepts every client. */
export const startForwardProxy = async (password?: string): Promise<ForwardProxy> => {
  const seen: Array<{ line: string; authorization: string | undefined }> = []
  const sockets = new Set<Socket>()
  const isAllowed = (authorization: string | undefined): boolean =>
    password === undefined || authorization === `Basic ${Buffer.from(password).toString("base64")}`
  const server = createServer((incoming, outgoing) => {
    const authorization = incoming.headers["proxy-authorization"]
    seen.push({ line: `${incoming.method} ${incoming.url}`, authorization })
    if (!isAllowed(authorization)) {
      outgoing.writeHead(407).end("who are you?")
      return
    }
    const { "proxy-authorization": _removed, ...headers } = incoming.headers
    request(incoming.url ?? "", { headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(outgoing)
    }).end()
  })
  server.on("connect", (incoming, client: Socket) => {
    const authorization = incoming.headers["proxy-authorization"]
    seen.push({ line: `CONNECT ${incoming.url}`, authorization })
    client.on("error", () => undefined)
    if (!isAllowed(authorization)) {
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n")
      return
    }
    const { hostname, port } = new URL(`http://${incoming.url}`)
    const upstream = connect(Number(port), hostname.replace(/^\[|\]$/g, ""))
    sockets.add(upstream)
    upstream.on("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"))
    upstream.on("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
      client.pipe(upstream).pipe(client)
    })
    client.on("close", () => upstream.destroy())
  })
  server.on("connection", (socket) => sockets.add(socket))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, "close")
    },
  }
}
