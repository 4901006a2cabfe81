/**
 * One connection to a server: carries one exchange at a time, and may be idle between two.
 *
 * An idle connection does not keep the process alive, and any byte or event on it ends it: a server sends nothing unasked.
 */
import type { Timers } from "../../clock.ts"
import type { OpeningSocket, OpenSocket, RequestSocket, SocketEvents } from "./connect.ts"
import type { Carried, Carrier } from "./exchange.ts"
import type { StreamEnd } from "./response-handler.ts"
import type { Target } from "./target.ts"

/** How connections are opened. */
interface Opening {
  readonly open: OpenSocket
  readonly connectTimeoutMs: number
  readonly timers: Timers
}

export class Connection implements Carrier, SocketEvents {
  readonly #opening: OpeningSocket
  /** Called once when an idle connection ends by itself. */
  readonly #onLost: (connection: Connection) => void
  #socket: RequestSocket | undefined
  #carried: Carried | undefined
  #unsent: string | Uint8Array | undefined
  #isClosed = false
  #hasServed = false

  constructor(target: Target, { open, connectTimeoutMs, timers }: Opening, onLost: (connection: Connection) => void) {
    this.#onLost = onLost
    this.#opening = open(target, connectTimeoutMs, timers, this)
  }

  get hasServed(): boolean {
    return this.#hasServed
  }

  carry(carried: Carried, request: string | Uint8Array): void {
    this.#carried = carried
    if (this.#socket === undefined) {
      this.#unsent = request
      return
    }
    this.#socket.ref()
    this.#socket.write(request)
  }

  resumeReading(): void {
    this.#socket?.resume()
  }

  /** Detaches the exchange and keeps the connection for another. */
  rest(): void {
    this.#carried = undefined
    this.#hasServed = true
    this.#socket?.resume()
    this.#socket?.unref()
  }

  destroy(): void {
    this.#isClosed = true
    this.#carried = undefined
    this.#opening.destroy()
  }

  ready(socket: RequestSocket): void {
    this.#socket = socket
    if (this.#unsent !== undefined) socket.write(this.#unsent)
    this.#unsent = undefined
  }

  bytes(buffer: Buffer, length: number): boolean {
    if (this.#carried !== undefined) return this.#carried.receive(buffer, length)
    this.#lose()
    return false
  }

  inputEnded(): void {
    if (this.#carried !== undefined) this.#carried.inputEnded()
    else this.#lose()
  }

  failed(end: StreamEnd): void {
    if (this.#carried !== undefined) this.#carried.failed(end)
    else this.#lose()
  }

  #lose(): void {
    if (this.#isClosed) return
    this.destroy()
    this.#onLost(this)
  }
}
