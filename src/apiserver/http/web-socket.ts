/**
 * A request to continue as a WebSocket, and the watch that it becomes: one text frame for each event, with the line
 * break that ends a line of the response without a WebSocket (compared with Kubernetes 1.34.4). A client without an
 * `Origin` is refused, as by the real server.
 */
import { createHash } from "node:crypto"
import { EventEmitter } from "node:events"
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type Failure, fail } from "../answers/failure.ts"
import type { WatchOutput } from "./watch-stream.ts"

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

// The frames of a WebSocket (RFC 6455) as far as a watch needs them: whole text frames out; control frames in. What a
// client sends besides is skipped without being kept, however long it is.

/** Opcodes. */
export const textFrame = 0x1
export const closeFrame = 0x8
const pingFrame = 0x9
const pongFrame = 0xa

const isFinal = 0x80
const isMasked = 0x80
/** Payloads of control frames are not longer. */
const longestControl = 125
const longest16 = 0xffff

/** What comes before the payload of an unfragmented frame from the server. */
export const frameHead = (opcode: number, length: number): Buffer => {
  if (length <= longestControl) return Buffer.from([isFinal | opcode, length])
  if (length <= longest16) return Buffer.from([isFinal | opcode, 126, length >> 8, length & 0xff])
  const head = Buffer.alloc(10)
  head[0] = isFinal | opcode
  head[1] = 127
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

/** Calls for what a client sends. */
interface FrameEvents {
  ping(payload: Buffer): void
  /** The client closes, or what it sends is not a frame of a client. */
  close(): void
}

/** Reads a client's frames out of its bytes. After `close` it reads nothing more. */
export class FrameReader {
  readonly #events: FrameEvents
  /** The beginning of a frame that is not complete yet. */
  #pending: Buffer = Buffer.alloc(0)
  /** Bytes of a data frame's payload that are still to come. */
  #skipped = 0n
  #isClosed = false

  constructor(events: FrameEvents) {
    this.#events = events
  }

  read(bytes: Buffer): void {
    if (this.#isClosed) return
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    while (!this.#isClosed) {
      if (this.#skipped > 0n) {
        const taken = this.#skipped < BigInt(rest.length) ? Number(this.#skipped) : rest.length
        this.#skipped -= BigInt(taken)
        rest = rest.subarray(taken)
      }
      const next = this.#skipped > 0n ? undefined : this.#frame(rest)
      if (next === undefined) break
      rest = next
    }
    this.#pending = Buffer.from(rest)
  }

  /** Takes one frame, or the head of a data frame; returns what follows, `undefined` if the bytes end before. */
  #frame(bytes: Buffer): Buffer | undefined {
    const [first, second] = bytes
    if (first === undefined || second === undefined) return undefined
    const opcode = first & 0xf
    const short = second & 0x7f
    const isControl = opcode >= closeFrame
    // Clients mask what they send; control frames are short and whole.
    if ((second & isMasked) === 0 || (isControl && (short > longestControl || (first & isFinal) === 0)))
      return this.#close()
    const headLength = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + 4
    if (bytes.length < headLength) return undefined
    if (!isControl) {
      this.#skipped =
        short === 126 ? BigInt(bytes.readUInt16BE(2)) : short === 127 ? bytes.readBigUInt64BE(2) : BigInt(short)
      return bytes.subarray(headLength)
    }
    if (bytes.length < headLength + short) return undefined
    if (opcode === closeFrame) return this.#close()
    if (opcode === pingFrame) this.#events.ping(unmasked(bytes.subarray(headLength - 4, headLength + short)))
    return bytes.subarray(headLength + short)
  }

  #close(): undefined {
    this.#isClosed = true
    this.#events.close()
  }
}

/** The payload behind the four bytes of a mask. */
const unmasked = (masked: Buffer): Buffer =>
  Buffer.from(masked.subarray(4).map((byte, index) => byte ^ (masked[index % 4] ?? 0)))
