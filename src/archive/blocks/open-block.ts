/**
 * The open block: raw objects and table of contents in two growing buffers, reused for ever.
 *
 * Per frame it copies columns and objects once; per event it does nothing. It tracks which part of it is already on disk ({@link
 * OpenBlock.markDurable}), so that a commit stores only the rest, and sealing stores everything as one block. A failed commit leaves it
 * unchanged.
 *
 * Memory: one block plus one frame; a larger frame makes the buffer grow until the block is sealed.
 */

import protobuf from "protobufjs/minimal.js"
import type { SplitFrame } from "../../wire/index.ts"
import {
  type BlockSummary,
  type KindRange,
  type PackedBlock,
  packBlock,
  readTable,
  TABLE_BYTES,
  writeTableEntry,
} from "./block.ts"
import type { TimeFloors } from "./block-frame.ts"

interface FramePlace extends TimeFloors {
  readonly kind: number
  readonly firstSequence: number
  readonly events: number
  /** Of objects and columns. */
  readonly bytes: number
  readonly firstTime: number
  readonly lastTime: number
  readonly lastReceived: number
}

/** The frame that fills a block is added on top: it has at most 256 KiB unless one object is larger. */
const FRAME_BYTES = 256 * 1024

/** Share of a block: smaller parts are compressed twice at most, and sealed blocks remain large enough to compress well. */
const NEARLY_FULL = 0.75

/**
 * A plain memory copy. `set` on a typed array copies word by word as soon as one side is shared memory, as a sender's slab is: 2.8 µs for
 * an event of 2.9 kB in a CPU profile, in which the plain copy is too fast to appear.
 */
const copyBytes = Buffer.prototype.copy

/** Gathers frames until the block is full. */
export class OpenBlock {
  readonly #blockBytes: number
  #payload: Buffer
  #payloadEnd = 0
  #table = protobuf.Writer.create()
  #durablePayload = 0
  #durableTable = 0
  readonly #whole = new Summary()
  readonly #rest = new Summary()

  /** `blockBytes`: bytes of objects after which it is full. */
  constructor(blockBytes: number) {
    this.#blockBytes = blockBytes
    this.#payload = Buffer.allocUnsafeSlow(blockBytes + FRAME_BYTES)
  }

  get isEmpty(): boolean {
    return this.#whole.events === 0
  }

  get hasPending(): boolean {
    return this.#rest.events > 0
  }

  /** Whether part of it is on disk in rows that sealing must replace. */
  get hasDurable(): boolean {
    return this.#durableTable > 0
  }

  /** Columns and objects, as senders count them, so that the frame that triggers a commit also seals its block. */
  get isFull(): boolean {
    return this.#payloadEnd + this.#table.pos >= this.#blockBytes || this.#table.pos >= TABLE_BYTES
  }

  /**
   * Whether a commit seals it: a part of this size would be compressed now and again with the little that follows, which doubles the cost
   * of an event at high rates.
   */
  get isNearlyFull(): boolean {
    return this.#payloadEnd + this.#table.pos >= this.#blockBytes * NEARLY_FULL
  }

  /** Adds a frame with at least one event; its bytes are copied. */
  add(frame: SplitFrame, position: Omit<FramePlace, "bytes">): void {
    const place = { ...position, bytes: frame.payload.length + frame.columns.length }
    this.#appendPayload(frame.payload)
    writeTableEntry(this.#table, place.firstSequence, frame.payload.length, place, frame.columns)
    this.#whole.add(place)
    this.#rest.add(place)
  }

  /** Restores a part that an earlier process stored in a row. @throws MalformedFrameError */
  restore(table: Uint8Array, payload: Uint8Array, kindOf: (gvk: string) => number): void {
    for (const frame of readTable(table)) {
      this.#whole.add({
        kind: kindOf(frame.events.gvk),
        firstSequence: frame.firstSequence,
        events: frame.events.count,
        bytes: frame.events.payloadLength + frame.events.columns.length,
        firstTime: frame.time(0),
        lastTime: frame.time(frame.events.count - 1),
        lastReceived: frame.received(frame.events.count - 1),
        ...{ timeFloor: 0, receivedFloor: 0 },
      })
    }
    this.#appendPayload(payload)
    this.#table.raw(table)
    this.markDurable()
  }

  packWhole(): PackedBlock {
    return packBlock(this.#whole.copy(), this.#table.finish(true), this.#payload.subarray(0, this.#payloadEnd))
  }

  /** The content that no commit has stored yet, as a block of its own. */
  packPending(): PackedBlock {
    return packBlock(
      this.#rest.copy(),
      this.#table.finish(true).subarray(this.#durableTable),
      this.#payload.subarray(this.#durablePayload, this.#payloadEnd),
    )
  }

  /** Everything gathered so far is on disk now. */
  markDurable(): void {
    this.#durablePayload = this.#payloadEnd
    this.#durableTable = this.#table.pos
    this.#rest.clear()
  }

  /** Starts the next block. Buffers that grew for one large frame are released. */
  clear(): void {
    const initialBytes = this.#blockBytes + FRAME_BYTES
    if (this.#payload.length > initialBytes) this.#payload = Buffer.allocUnsafeSlow(initialBytes)
    if (this.#table.pos > 2 * TABLE_BYTES) this.#table = protobuf.Writer.create()
    this.#table.reset()
    this.#payloadEnd = 0
    this.#durablePayload = 0
    this.#durableTable = 0
    this.#whole.clear()
    this.#rest.clear()
  }

  #appendPayload(payload: Uint8Array): void {
    const end = this.#payloadEnd + payload.length
    if (end > this.#payload.length) {
      const larger = Buffer.allocUnsafeSlow(end)
      larger.set(this.#payload.subarray(0, this.#payloadEnd))
      this.#payload = larger
    }
    copyBytes.call(payload, this.#payload, this.#payloadEnd, 0, payload.length)
    this.#payloadEnd = end
  }
}

class Summary implements BlockSummary {
  firstSequence = 0
  lastSequence = 0
  minTime = Number.POSITIVE_INFINITY
  maxTime = 0
  events = 0
  readonly kinds = new Map<number, KindRange>()

  add(place: FramePlace): void {
    const minTime = Math.max(place.firstTime, place.timeFloor)
    const maxTime = Math.max(place.lastTime, place.timeFloor)
    const maxReceived = Math.max(place.lastReceived, place.receivedFloor)
    if (this.events === 0) this.firstSequence = place.firstSequence
    this.lastSequence = place.firstSequence + place.events - 1
    this.minTime = Math.min(this.minTime, minTime)
    this.maxTime = Math.max(this.maxTime, maxTime)
    this.events += place.events
    const range = this.kinds.get(place.kind)
    if (range === undefined) {
      this.kinds.set(place.kind, { minTime, maxTime, maxReceived, events: place.events, bytes: place.bytes })
    } else {
      range.maxTime = Math.max(range.maxTime, maxTime)
      range.maxReceived = Math.max(range.maxReceived, maxReceived)
      range.events += place.events
      range.bytes += place.bytes
    }
  }

  copy(): BlockSummary {
    const { firstSequence, lastSequence, minTime, maxTime, events } = this
    const kinds = new Map([...this.kinds].map(([kind, range]) => [kind, { ...range }]))
    return { firstSequence, lastSequence, minTime, maxTime, events, kinds }
  }

  clear(): void {
    this.events = 0
    this.minTime = Number.POSITIVE_INFINITY
    this.maxTime = 0
    this.kinds.clear()
  }
}
