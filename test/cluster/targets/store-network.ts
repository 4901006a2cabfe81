/**
 * The network between a recorder and its store, as a TCP proxy that a test commands: what becomes of each connection, and of each HTTP request on it. It reads no
 * more of HTTP than where a request begins: clients send one as a piece of its own.
 */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

/** What befalls a connection. `after`: bytes of one side until it is cut, and requests until an answer is lost. `pace`: bytes a second, of each side. */
export type Mishap =
  | { readonly cut: "request" | "answer"; readonly after: number }
  | { readonly lose: "answer"; readonly after: number }
  | { readonly pace: number }
  | "refused"

/** What becomes of a request: `held` stops in the proxy, and `unanswered` reaches the store, until {@link StoreNetwork.release}; `full` is refused for want of space. */
export type Course = "passed" | "held" | "unanswered" | "full"

const full = ["HTTP/1.1 507 Insufficient Storage", ...["Connection: close", "Content-Length: 0", "", ""]].join("\r\n")

const bytesOfPiece = 4096

export class StoreNetwork implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #released: Array<() => void> = []
  /** Asked for each new connection. */
  mishap: () => Mishap | undefined = () => undefined
  /** Asked for each request; `line`: its method and path. */
  course: (line: string) => Course = () => "passed"
  /** Requests that began. */
  requests = 0

  private constructor(server: Server, upstream: number) {
    this.port = (server.address() as AddressInfo).port
    this.#server = server
    server.on("connection", (client) => this.#connected(client, upstream))
  }

  /** In front of a server on this machine. */
  static async start(upstream: number): Promise<StoreNetwork> {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new StoreNetwork(server, upstream)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Requests and answers that are held go on. */
  release(): void {
    for (const each of this.#released.splice(0)) each()
  }

  /** Requests and answers that are held. */
  get held(): number {
    return this.#released.length
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, "close")
  }

  #connected(client: Socket, port: number): void {
    const mishap = this.mishap()
    if (mishap === "refused") return void client.destroy()
    const upstream = connect(port, "127.0.0.1")
    this.#track(client, upstream)
    this.#track(upstream, client)
    const limits = { request: Number.POSITIVE_INFINITY, answer: Number.POSITIVE_INFINITY }
    if (mishap !== undefined && "cut" in mishap) limits[mishap.cut] = mishap.after
    const answered = mishap !== undefined && "lose" in mishap ? mishap.after : Number.POSITIVE_INFINITY
    const pace = mishap !== undefined && "pace" in mishap ? mishap.pace : undefined
    let requests = 0
    let isUnanswered = false
    let isRefused = false
    const forward = async (from: Socket, to: Socket, side: "request" | "answer"): Promise<void> => {
      let left = limits[side]
      for await (const piece of from as AsyncIterable<Buffer>) {
        if (side === "request" && /^(GET|PUT|POST|HEAD|DELETE) /.test(piece.subarray(0, 7).toString("latin1"))) {
          this.requests++
          requests++
          const course = this.course(piece.subarray(0, Math.max(0, piece.indexOf("\r\n"))).toString("latin1"))
          if (course === "full") client.end(full)
          isRefused = course === "full"
          if (course === "held") await this.#untilReleased()
          isUnanswered = course === "unanswered"
        }
        // The body of what was refused.
        if (side === "request" && isRefused) continue
        // A server that is asked whether it wants a body has not answered the request yet.
        const isInterim = side === "answer" && piece.subarray(9, 12).toString("latin1") === "100"
        if (side === "answer" && !isInterim) {
          if (requests > answered) return void client.destroy()
          if (isUnanswered) await this.#untilReleased()
        }
        const sent = isInterim ? piece : piece.subarray(0, left)
        if (pace !== undefined) await paced(sent, to, pace)
        else if (!to.destroyed && !to.write(sent)) await Promise.race([once(to, "drain"), once(to, "close")])
        if (!isInterim) left -= piece.length
        if (left < 0) return void client.destroy()
      }
      to.end()
    }
    // What ends a connection ends its other side too, as each side is told by its own events.
    for (const [from, to, side] of [
      [client, upstream, "request"],
      [upstream, client, "answer"],
    ] as const)
      forward(from, to, side).catch(() => to.destroy())
  }

  #untilReleased(): Promise<void> {
    return new Promise((resolve) => this.#released.push(resolve))
  }

  #track(socket: Socket, other: Socket): void {
    this.#sockets.add(socket)
    socket.on("error", () => other.destroy())
    socket.on("close", () => {
      this.#sockets.delete(socket)
      other.destroy()
    })
  }
}

const paced = async (bytes: Buffer, to: Socket, perSecond: number): Promise<void> => {
  for (let at = 0; at < bytes.length && !to.destroyed; at += bytesOfPiece) {
    to.write(bytes.subarray(at, at + bytesOfPiece))
    await new Promise((resolve) => setTimeout(resolve, (1000 * Math.min(bytesOfPiece, bytes.length - at)) / perSecond))
  }
}
