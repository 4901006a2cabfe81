/** A relay to an API server, which can be switched to another one: in short, the Service `kubernetes`. */
import { connect, createServer, type Server, type Socket } from "node:net"

export class Relay implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #target: number | undefined
  #isHeld = false

  private constructor(server: Server, target: number) {
    this.#server = server
    this.#target = target
    server.on("connection", (near) => this.#connect(near))
  }

  /** @param target a port of loopback. */
  static listen(target: number): Promise<Relay> {
    return new Promise((resolve, reject) => {
      const server = createServer()
      server.on("error", reject)
      server.listen(0, "127.0.0.1", () => resolve(new Relay(server, target)))
    })
  }

  get port(): number {
    const address = this.#server.address()
    if (typeof address !== "object" || address === null) throw new Error("the relay is closed")
    return address.port
  }

  /** Sets the target of new connections; `undefined`: none, as while no API server is ready. */
  leadTo(target: number | undefined): void {
    this.#target = target
  }

  /** From now on nothing passes, and no connection breaks: a black hole. */
  hold(): void {
    this.#isHeld = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** What was held arrives now. */
  release(): void {
    this.#isHeld = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** Breaks every open connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #connect(near: Socket): void {
    if (this.#target === undefined) return void near.destroy()
    const far = connect({ host: "127.0.0.1", port: this.#target })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket)
      socket.on("close", () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      // A connection that breaks closes as well.
      socket.on("error", () => other.destroy())
    }
    near.pipe(far).pipe(near)
    if (this.#isHeld) for (const socket of [near, far]) socket.pause()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
