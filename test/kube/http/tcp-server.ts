import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"

/** One connection as the server saw it. */
export interface Peer {
  readonly socket: Socket
  /** Everything it sent so far, as latin1. */
  received: string
}

/** The first byte of a client that speaks TLS. */
const tlsHandshake = 0x16

/** A server that sends whatever its script says, including responses that no HTTP server would send. */
export class TcpServer {
  readonly #server: Server
  readonly peers: Peer[] = []

  private constructor(server: Server) {
    this.#server = server
  }

  /**
   * `onRequest` is called at the end of each request head, with its number on the connection (1, 2, …); `onConnect` as soon as a connection
   * is open; `onHandshake` when a client begins with TLS. Default: it hangs up, so that a client that asks why need not wait.
   */
  static async start(
    onRequest: (socket: Socket, request: number, peer: Peer) => void,
    host = "127.0.0.1",
    onConnect: (socket: Socket) => void = () => undefined,
    onHandshake: (socket: Socket) => void = (socket) => socket.destroy(),
  ): Promise<TcpServer> {
    const tcp = createServer((socket) => {
      const peer: Peer = { socket, received: "" }
      server.peers.push(peer)
      let requests = 0
      // A client that aborts resets the connection; that is what these tests are about.
      socket.on("error", () => undefined)
      socket.on("data", (data) => {
        if (peer.received === "" && data[0] === tlsHandshake) onHandshake(socket)
        peer.received += data.toString("latin1")
        while (peer.received.split("\r\n\r\n").length - 1 > requests) onRequest(socket, ++requests, peer)
      })
      onConnect(socket)
    })
    const server = new TcpServer(tcp)
    tcp.listen(0, host)
    await once(tcp, "listening")
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.peers) socket.destroy()
    this.#server.close()
    await once(this.#server, "close")
  }
}

/** A response with a content-length. */
export const answer = (body: string, extra = ""): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${extra}\r\n${body}`
