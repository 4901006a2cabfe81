/**
 * A request to continue as a WebSocket, and the watch that it becomes: one text frame for each event, with the line break that ends a line
 * of the response without a WebSocket (compared with Kubernetes 1.34.4). A client without an `Origin` is refused, as by the real server.
 */

import { createHash } from "node:crypto"
import { EventEmitter } from "node:events"
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type Failure, fail } from "../answers/failure.ts"
import type { WatchOutput } from "../watch/watch-output.ts"
import { closeFrame, FrameReader, frameHead, pongFrame, textFrame } from "./frames.ts"

/** Whether a request asks for a WebSocket, not for another protocol such as `h2c`, which is ignored. */
export const asksForWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" && headers.upgrade?.toLowerCase() === "websocket"

/** One request with its connection, which belongs to it alone. */
export class WebSocketRequest {
  /** For a response that is not a WebSocket: a failure, or an answer that is no watch. The connection ends with it. */
  readonly response: ServerResponse
  readonly #request: IncomingMessage
  readonly #socket: Socket
  readonly #head: Buffer

  /** `head`: what the client has sent after the request. */
  constructor(request: IncomingMessage, socket: Socket, head: Buffer) {
    this.#request = request
    this.#socket = socket
    this.#head = head
    this.response = new ServerResponse(request)
    this.response.shouldKeepAlive = false
    this.response.assignSocket(socket)
    this.response.once("finish", () => socket.end(() => socket.destroy()))
    // Node has let go of the socket. A client that is gone is not a defect.
    socket.on("error", () => socket.destroy())
    socket.once("close", () => this.response.destroy())
  }

  /** Why the request cannot become a WebSocket; the texts of the real server are empty. */
  refusal(): Failure | undefined {
    const { origin, ...headers } = this.#request.headers
    if (headers["sec-websocket-version"] !== "13" || headers["sec-websocket-key"] === undefined) return refused(400)
    if (headers["sec-websocket-protocol"]?.includes(",") === true) return refused(400)
    return origin === undefined || !URL.canParse(origin) ? refused(403) : undefined
  }

  /** Switches protocols. Call it once, without a {@link refusal}. */
  accept(): WatchOutput {
    const { "sec-websocket-key": key = "", "sec-websocket-protocol": protocol } = this.#request.headers
    this.response.detachSocket(this.#socket)
    this.#socket.write(
      [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        `Sec-WebSocket-Accept: ${createHash("sha1").update(`${key}${acceptance}`).digest("base64")}`,
        ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
        "\r\n",
      ].join("\r\n"),
    )
    return new WebSocketOutput(this.#socket, this.#head) as unknown as WatchOutput
  }
}

const refused = (code: number): Failure => fail(code, "", { plainText: true })

/** Of RFC 6455: shows that the server knows the protocol. */
const acceptance = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

/** The code of a close frame for an end without a failure. */
const normalClosure = Buffer.from([0x03, 0xe8])

/** The members of {@link WatchOutput}. Emits `close` when the connection is gone. */
class WebSocketOutput extends EventEmitter {
  readonly socket: Socket
  readonly chunkedEncoding = false

  constructor(socket: Socket, head: Buffer) {
    super()
    this.socket = socket
    const reader = new FrameReader({
      ping: (payload) => this.#send(pongFrame, payload),
      close: () => this.end(),
    })
    socket.on("data", (bytes: Buffer) => reader.read(bytes))
    socket.on("end", () => socket.destroy())
    socket.once("close", () => this.emit("close"))
    if (head.length > 0) reader.read(head)
    socket.resume()
  }

  /** One event. `sent` is called when the bytes are with the kernel. */
  write(line: Buffer, sent?: () => void): boolean {
    return this.#send(textFrame, line, sent)
  }

  end(): void {
    if (!this.socket.writable) return
    this.#send(closeFrame, normalClosure)
    this.socket.end(() => this.socket.destroy())
  }

  destroy(): void {
    this.socket.destroy()
  }

  #send(opcode: number, payload: Buffer, sent?: () => void): boolean {
    if (!this.socket.writable) return false
    this.socket.write(frameHead(opcode, payload.length))
    return this.socket.write(payload, sent)
  }
}
