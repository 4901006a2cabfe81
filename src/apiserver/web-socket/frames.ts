/**
 * The frames of a WebSocket (RFC 6455) as far as a watch needs them: whole text frames out; control frames in. What a client sends besides
 * is skipped without being kept, however long it is.
 */

/** Opcodes. */
export const textFrame = 0x1
export const closeFrame = 0x8
const pingFrame = 0x9
export const pongFrame = 0xa

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
