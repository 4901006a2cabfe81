/** A TCP proxy in front of a store that fails as networks do: it cuts connections at a byte, delivers a request and drops its answer, refuses, or answers itself. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

/** What happens to one connection. */
export type Fault =
  | { readonly cut: "request" | "answer"; readonly after: number }
  | { readonly drop: "answer" }
  | { readonly refuse: true }
  /** A whole HTTP response. */
  | { readonly answer: string }

export class FaultyProxy implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #sockets: Set<Socket>
  readonly #faults: Fault[]

  private constructor(server: Server, sockets: Set<Socket>, faults: Fault[]) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#sockets = sockets
    this.#faults = faults
  }

  static async start(port: number): Promise<FaultyProxy> {
    const sockets = new Set<Socket>()
    const faults: Fault[] = []
    const server = createServer((client) => {
      const fault = faults.shift()
      const track = (socket: Socket, other?: Socket): void => {
        sockets.add(socket)
        // The other side gets the same end; a reset is one.
        socket.on("error", () => other?.destroy())
        socket.on("close", () => {
          sockets.delete(socket)
          other?.destroy()
        })
      }
      if (fault !== undefined && "refuse" in fault) return client.destroy()
      if (fault !== undefined && "answer" in fault) {
        track(client)
        client.once("data", () => client.end(fault.answer))
        return client.resume()
      }
      const upstream = connect(port, "127.0.0.1")
      track(client, upstream)
      track(upstream, client)
      const forward = (from: Socket, to: Socket, limit: number): void => {
        let left = limit
        from.on("data", (bytes: Buffer) => {
          // A server that is asked whether it wants a body has not answered the request yet.
          const isInterim = from === upstream && bytes.subarray(9, 12).toString() === "100"
          if (isInterim) return void to.write(bytes)
          if (bytes.length > left) {
            to.end(bytes.subarray(0, left))
            return void from.destroy()
          }
          left -= bytes.length
          if (!to.write(bytes)) {
            from.pause()
            to.once("drain", () => from.resume())
          }
        })
      }
      const cut = fault !== undefined && "cut" in fault ? fault : undefined
      const dropped = fault !== undefined && "drop" in fault
      forward(client, upstream, cut?.cut === "request" ? cut.after : Number.POSITIVE_INFINITY)
      forward(upstream, client, dropped ? 0 : cut?.cut === "answer" ? cut.after : Number.POSITIVE_INFINITY)
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new FaultyProxy(server, sockets, faults)
  }

  /** The next connections have these faults, one each; those that are open are closed. */
  next(...faults: ReadonlyArray<Fault>): void {
    this.#faults.splice(0, this.#faults.length, ...faults)
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Faults that no connection has had yet. */
  get left(): number {
    return this.#faults.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.next()
    this.#server.close()
    await once(this.#server, "close")
  }
}
