/**
 * The events of a trace until its header is known: which kinds it has and when it ends is known only when the logs have been read. They are in a
 * spool, each as the length of its facts, its facts as JSON, the length of its object, its object.
 */
import type { GapEvent, ObjectEvent, Spool, TraceEvent } from "../trace/index.ts"
import type { KeptState } from "./lives/known-objects.ts"

const LENGTH_BYTES = 4
const noBytes = new Uint8Array(0)

/** Append events, then read them, as often as is wanted. Everything throws SpoolError. */
export class EventSpool {
  readonly #spool: Spool
  #sequence = 0
  #gaps = 0

  /** The spool is owned by the caller. */
  constructor(spool: Spool) {
    this.#spool = spool
  }

  /** Changes of objects so far. */
  get changes(): number {
    return this.#sequence - this.#gaps
  }

  get gaps(): number {
    return this.#gaps
  }

  /** Appends an event, numbers it, and says where its object is. */
  addObject(event: Omit<ObjectEvent, "type" | "sequence">): KeptState {
    const { object, ...facts } = event
    return this.#append({ type: "object", sequence: ++this.#sequence, ...facts }, object)
  }

  /** Appends a gap and numbers it. */
  addGap(gap: Omit<GapEvent, "type" | "sequence">): void {
    this.#gaps++
    this.#append({ type: "gap", sequence: ++this.#sequence, ...gap }, noBytes)
  }

  /** A copy of an object that was appended. */
  objectAt({ start, length }: KeptState): Buffer {
    return this.#spool.copyOf(start, length)
  }

  /** All events in order; an object is valid until the next one is taken. */
  *events(): Generator<TraceEvent> {
    const bytes = new SpooledPieces(this.#spool)
    for (let left = this.#sequence; left > 0; left--) {
      const facts = JSON.parse(bytes.take(bytes.length()).toString("utf8"))
      const object = bytes.take(bytes.length())
      yield facts.type === "gap" ? facts : { ...facts, object }
    }
  }

  #append(facts: object, object: Uint8Array): KeptState {
    const head = Buffer.from(JSON.stringify(facts))
    const record = Buffer.allocUnsafe(2 * LENGTH_BYTES + head.length + object.length)
    record.writeUInt32LE(head.length, 0)
    head.copy(record, LENGTH_BYTES)
    record.writeUInt32LE(object.length, LENGTH_BYTES + head.length)
    record.set(object, 2 * LENGTH_BYTES + head.length)
    const start = this.#spool.length + 2 * LENGTH_BYTES + head.length
    this.#spool.append(record)
    return { start, length: object.length }
  }
}

/** Takes what is in a spool in pieces of other lengths than it has. */
class SpooledPieces {
  readonly #pieces: Iterator<Uint8Array>
  #rest: Uint8Array = noBytes

  constructor(spool: Spool) {
    this.#pieces = spool.read()[Symbol.iterator]()
  }

  length(): number {
    return this.take(LENGTH_BYTES).readUInt32LE(0)
  }

  /** A copy of the next bytes. */
  take(length: number): Buffer {
    const taken = Buffer.allocUnsafe(length)
    for (let filled = 0; filled < length; ) {
      if (this.#rest.length === 0) {
        const next = this.#pieces.next()
        if (next.done === true) throw new Error("the spool is shorter than what was appended")
        this.#rest = next.value
      }
      const part = this.#rest.subarray(0, length - filled)
      taken.set(part, filled)
      filled += part.length
      this.#rest = this.#rest.subarray(part.length)
    }
    return taken
  }
}
