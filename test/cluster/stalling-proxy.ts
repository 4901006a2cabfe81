/**
 * A TCP proxy in front of a server, which can stop forwarding what clients send: an upload then is certainly under way, however fast the
 * machine is.
 */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

interface Limits {
  /** Bytes that a connection forwards to the server. */
  limit: number
  readonly connections: Set<{ sent: number }>
}

export class StallingProxy implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #sockets: Set<Socket>
  readonly #state: Limits

  private constructor(server: Server, sockets: Set<Socket>, state: Limits) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#sockets = sockets
    this.#state = state
  }

  static async start(port: number): Promise<StallingProxy> {
    const sockets = new Set<Socket>()
    const state: Limits = { limit: Number.POSITIVE_INFINITY, connections: new Set() }
    const server = createServer((client) => {
      const upstream = connect(port, "127.0.0.1")
      const connection = { sent: 0 }
      state.connections.add(connection)
      client.on("close", () => state.connections.delete(connection))
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(socket)
        // The other side gets the same end; a reset is one.
        socket.on("error", () => other.destroy())
        socket.on("close", () => {
          sockets.delete(socket)
          other.destroy()
        })
      }
      client.on("data", (bytes: Buffer) => {
        connection.sent += bytes.length
        if (connection.sent > state.limit) client.pause()
        else if (!upstream.write(bytes)) {
          client.pause()
          upstream.once("drain", () => client.resume())
        }
      })
      upstream.pipe(client)
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new StallingProxy(server, sockets, state)
  }

  /** From now on no connection forwards more than so many bytes to the server. */
  stallAfter(bytes: number): void {
    for (const connection of this.#state.connections) connection.sent = 0
    this.#state.limit = bytes
  }

  /** New connections are not limited; stalled ones stay so. */
  release(): void {
    this.#state.limit = Number.POSITIVE_INFINITY
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, "close")
  }
}
