/**
 * The packets of a Perfetto trace (`proto/perfetto.proto`), coded by hand over protobufjs's Writer. A trace is nothing but its packets, one
 * after another, so each function returns the bytes of one, ready to be appended.
 *
 * Times are µs since the Unix epoch, integers from 0 on; Perfetto's are ns, which need more than 53 bits.
 */
import { hash } from "node:crypto"
import protobuf from "protobufjs/minimal.js"

/** What the UI shows of a slice or an instant when it is selected. Members without a value are left out; numbers are integers. */
type Annotations = Readonly<Record<string, string | number | undefined>>

/** A lane of the UI. */
interface TrackDescription {
  /** Unique in the trace, not 0. */
  readonly uuid: bigint
  /** Absent: at the top. */
  readonly parent: bigint | undefined
  readonly name: string
  /** How the lanes below it are ordered: by name, or by the time of their first event. */
  readonly children: "by name" | "by time"
}

/** Tags of fields: number × 8 + wire type (0: varint, 2: length and bytes). */
const trace = { packet: 10 } as const
const packet = {
  clockSnapshot: 50,
  timestamp: 64,
  sequenceId: 80,
  trackEvent: 90,
  sequenceFlags: 104,
  trackDescriptor: 482,
  isFirst: 696,
} as const
const snapshot = { clocks: 10 } as const
const clock = { id: 8, timestamp: 16 } as const
const descriptor = { uuid: 8, name: 18, parentUuid: 40, childOrdering: 88 } as const
const trackEvent = { debugAnnotations: 34, type: 72, trackUuid: 88, name: 186 } as const
const annotation = { intValue: 32, stringValue: 50, name: 82 } as const

const eventTypes = { begin: 1, end: 2, instant: 3 } as const
const childOrderings = { "by name": 1, "by time": 2 } as const
/** Perfetto's numbers of the real time and of the clock that packets have unless they say otherwise. */
const clocks = { realTime: 1, packets: 6 } as const
/** There is one writer. */
const SEQUENCE = 1
/** What follows refers to nothing that was written before. */
const STATE_CLEARED = 1

/** The first packet: from here on the clock of the packets is the real time. */
export const firstPacket = (time: number): Uint8Array =>
  onePacket((writer) => {
    writer.uint32(packet.timestamp).uint64(nanoseconds(time))
    writer.uint32(packet.sequenceFlags).uint32(STATE_CLEARED)
    writer.uint32(packet.isFirst).bool(true)
    writer.uint32(packet.clockSnapshot).fork()
    for (const id of [clocks.packets, clocks.realTime]) {
      writer.uint32(snapshot.clocks).fork()
      writer.uint32(clock.id).uint32(id)
      writer.uint32(clock.timestamp).uint64(nanoseconds(time))
      writer.ldelim()
    }
    writer.ldelim()
  })

/** Describes a lane. It may be repeated unchanged. */
export const trackPacket = ({ uuid, parent, name, children }: TrackDescription): Uint8Array =>
  onePacket((writer) => {
    writer.uint32(packet.trackDescriptor).fork()
    writer.uint32(descriptor.uuid).uint64(long(uuid))
    writer.uint32(descriptor.name).string(name)
    if (parent !== undefined) writer.uint32(descriptor.parentUuid).uint64(long(parent))
    writer.uint32(descriptor.childOrdering).uint32(childOrderings[children])
    writer.ldelim()
  })

/** The begin or end of a slice, or an instant. An end closes the innermost open slice of its lane and needs no name. */
export const eventPacket = (
  type: keyof typeof eventTypes,
  uuid: bigint,
  time: number,
  name: string | undefined,
  annotations: Annotations,
): Uint8Array =>
  onePacket((writer) => {
    writer.uint32(packet.timestamp).uint64(nanoseconds(time))
    writer.uint32(packet.trackEvent).fork()
    writer.uint32(trackEvent.type).uint32(eventTypes[type])
    writer.uint32(trackEvent.trackUuid).uint64(long(uuid))
    if (name !== undefined) writer.uint32(trackEvent.name).string(name)
    for (const [key, value] of Object.entries(annotations)) {
      if (value === undefined) continue
      writer.uint32(trackEvent.debugAnnotations).fork()
      writer.uint32(annotation.name).string(key)
      if (typeof value === "string") writer.uint32(annotation.stringValue).string(value)
      else writer.uint32(annotation.intValue).int64(value)
      writer.ldelim()
    }
    writer.ldelim()
  })

const onePacket = (write: (writer: protobuf.Writer) => void): Uint8Array => {
  const writer = protobuf.Writer.create()
  writer.uint32(trace.packet).fork()
  write(writer)
  writer.uint32(packet.sequenceId).uint32(SEQUENCE)
  return writer.ldelim().finish()
}

type Long = Exclude<Parameters<protobuf.Writer["uint64"]>[0], number | string>

/** protobufjs reads the two halves of a number of 64 bits and nothing else of it. */
const long = (value: bigint): Long =>
  ({ low: Number(value & 0xffff_ffffn), high: Number(value >> 32n), unsigned: true }) as Long

/** Of times that no trace has, the nearest that Perfetto can have. */
const nanoseconds = (micros: number): Long =>
  long(BigInt(Math.trunc(Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, micros)))) * 1000n)

/** Takes the bytes of packets, in order. */
export type PacketWriter = (packet: Uint8Array) => void

/** A number for a track, the same for the same text. Of 64 bits, so that two texts do not meet. */
export const trackUuid = (text: string): bigint => hash("sha256", text, "buffer").readBigUInt64LE() | 1n

/**
 * Writes the events of one track. Their times never go back, so that slices nest: an event that is earlier than the one before it is drawn
 * at the time of that one. Times in a pod's status are by the clock of its node, so it can be.
 */
export class Track {
  readonly uuid: bigint
  readonly #write: PacketWriter
  #last = 0
  #open = 0

  constructor(uuid: bigint, write: PacketWriter) {
    this.uuid = uuid
    this.#write = write
  }

  begin(time: number, name: string, annotations: Annotations = {}): void {
    this.#open++
    this.#event("begin", time, name, annotations)
  }

  /** Ends the innermost slice; does nothing if none is open. What it says is added to what the begin said. */
  end(time: number, annotations: Annotations = {}): void {
    if (this.#open === 0) return
    this.#open--
    this.#event("end", time, undefined, annotations)
  }

  instant(time: number, name: string, annotations: Annotations = {}): void {
    this.#event("instant", time, name, annotations)
  }

  #event(type: "begin" | "end" | "instant", time: number, name: string | undefined, annotations: Annotations): void {
    this.#last = Math.max(this.#last, time)
    this.#write(eventPacket(type, this.uuid, this.#last, name, annotations))
  }
}
