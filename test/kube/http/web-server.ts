import { once } from "node:events"
import { createServer as createHttpServer, type RequestListener } from "node:http"
import { createServer as createHttpsServer, type ServerOptions } from "node:https"
import type { AddressInfo, Server, Socket } from "node:net"

/** A running node:http or node:https server. */
export interface WebServer extends AsyncDisposable {
  readonly port: number
  /** Connections made to it so far. */
  readonly connections: ReadonlyArray<Socket>
}

/** Starts node:http, or node:https when TLS options are given, on a free port. */
export const startWebServer = async (
  listener: RequestListener,
  tls?: ServerOptions,
  host = "127.0.0.1",
): Promise<WebServer> => {
  const server: Server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener)
  const connections: Socket[] = []
  server.on("connection", (socket) => connections.push(socket))
  // Some tests are about rejected handshakes.
  server.on("tlsClientError", () => undefined)
  server.listen(0, host)
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy()
      server.close()
      await once(server, "close")
    },
  }
}
