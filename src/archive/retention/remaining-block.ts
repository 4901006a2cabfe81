/**
 * What is left of blocks from which retention removes events: frames of kinds that are kept, as they are, and single events that the state at
 * the beginning still needs. Those keep their sequence numbers, times, versions and fingerprints.
 *
 * Memory: the unpacked blocks, until the new one is packed.
 */
import protobuf from "protobufjs/minimal.js"
import { FrameEvent } from "../../wire/frame-event.ts"
import { ObservationsBuilder, splitObservations } from "../../wire/observations.ts"
import { type BlockFrame, type PackedBlock, packBlock, writeTableEntry } from "../blocks/block.ts"

/** Room for the columns of an event and for what a frame has besides. */
const EVENT_BYTES = 64
const FRAME_BYTES = 4096
const UTF8_BYTES_PER_UNIT = 3

/** Gathers frames in the order of their sequence numbers. */
export class RemainingBlock {
  readonly #table = protobuf.Writer.create()
  readonly #payload: Array<Uint8Array> = []
  readonly #event = new FrameEvent()
  #payloadBytes = 0
  #events = 0
  #minTime = Number.POSITIVE_INFINITY
  #maxTime = 0

  get isEmpty(): boolean {
    return this.#events === 0
  }

  /** Before compression. */
  get byteLength(): number {
    return this.#payloadBytes + this.#table.pos
  }

  /** Adds a frame as it is. `payload`: of its block. */
  add(frame: BlockFrame, payload: Uint8Array): void {
    const { events, payloadStart } = frame
    const objects = payload.subarray(payloadStart, payloadStart + events.payloadLength)
    writeTableEntry(this.#table, frame.firstSequence, objects.length, frame.floors, events.columns)
    this.#addPayload(objects)
    if (events.count > 0) this.#count(events.count, frame.time(0), frame.time(events.count - 1))
  }

  /** Adds those events of a frame that are wanted; returns their number. */
  addSome(frame: BlockFrame, payload: Uint8Array, isWanted: (sequence: number) => boolean): number {
    let added = 0
    for (let first = 0; first < frame.events.count; first++) {
      if (!isWanted(frame.firstSequence + first)) continue
      let end = first + 1
      while (end < frame.events.count && isWanted(frame.firstSequence + end)) end++
      for (let from = first; from < end; ) from = this.#addRun(frame, payload, from, end)
      added += end - first
      first = end
    }
    return added
  }

  /** Responsible for all events from `firstSequence` to `lastSequence`: those that it lacks have been removed. */
  pack(firstSequence: number, lastSequence: number): PackedBlock {
    const times = { minTime: this.#minTime, maxTime: this.#maxTime }
    const summary = { firstSequence, lastSequence, ...times, events: this.#events, kinds: new Map() }
    return packBlock(summary, this.#table.finish(true), Buffer.concat(this.#payload))
  }

  /** Adds events of which the numbers are consecutive, as one frame if it can be; returns the index of the first that is not in it. */
  #addRun(frame: BlockFrame, payload: Uint8Array, first: number, end: number): number {
    const { events } = frame
    let room = FRAME_BYTES + events.gvk.length * UTF8_BYTES_PER_UNIT
    for (let index = first; index < end; index++) {
      const text = events.hasOpaqueVersions ? events.resourceVersionText(index).length : 0
      room += events.length(index) + EVENT_BYTES + text * UTF8_BYTES_PER_UNIT
    }
    const target = Buffer.allocUnsafe(room)
    const builder = new ObservationsBuilder(events.gvk, { initialCapacity: end - first })
    builder.begin(target, events.epoch)
    let index = first
    while (index < end && builder.append(this.#eventOf(frame, payload, index))) index++
    const split = splitObservations(target.subarray(0, builder.finish()))
    writeTableEntry(this.#table, frame.firstSequence + first, split.payload.length, frame.floors, split.columns)
    this.#addPayload(split.payload)
    this.#count(index - first, frame.time(first), frame.time(index - 1))
    return index
  }

  #eventOf(frame: BlockFrame, payload: Uint8Array, index: number): FrameEvent {
    const { events } = frame
    const event = this.#event
    event.action = events.action(index)
    event.objectNumber = events.objectNumber(index)
    event.timeMicros = events.time(index)
    event.receivedMicros = events.received(index)
    event.version = events.hasOpaqueVersions ? events.resourceVersionText(index) : events.resourceVersion(index)
    event.fingerprintLow = events.fingerprintLow(index)
    event.fingerprintHigh = events.fingerprintHigh(index)
    event.bytes = payload
    event.start = frame.payloadStart + events.offset(index)
    event.end = event.start + events.length(index)
    return event
  }

  #addPayload(objects: Uint8Array): void {
    if (objects.length === 0) return
    this.#payload.push(objects)
    this.#payloadBytes += objects.length
  }

  #count(events: number, first: number, last: number): void {
    this.#events += events
    this.#minTime = Math.min(this.#minTime, first)
    this.#maxTime = Math.max(this.#maxTime, last)
  }
}
