/**
 * The frames of `proto/host.proto`: changes on their way from the hub to a worker with controllers. Coded by hand over protobufjs's Writer
 * and Reader, because frames have many rows; a test compares the fields with the .proto file through reflection.
 */

import protobuf from "protobufjs/minimal.js"
import type { HubChange, HubChangeType } from "./hub-change.ts"

/** One row of a frame. */
export interface Delivery {
  /** The receiver's number for its subscription. */
  readonly subscription: number
  /** Counts the rows of the subscription, from 1: the receiver can tell that none is missing. After 2³²−1 comes 0. */
  readonly number: number
  /**
   * Its bytes are part of the frame: copy what outlives the acknowledgement. Rows of several subscriptions about the same change of the same
   * state have the same object here, so that what is made of it can be shared as well.
   */
  readonly change: HubChange
}

/** Wire tags, `field number << 3 | wire type`, of the message `Deliveries`. */
const Tag = {
  objects: (1 << 3) | 2,
  lengths: (2 << 3) | 2,
  keys: (3 << 3) | 2,
  uids: (4 << 3) | 2,
  versions: (5 << 3) | 2,
  subscriptions: (6 << 3) | 2,
  types: (7 << 3) | 2,
  objectIndexes: (8 << 3) | 2,
  numbers: (9 << 3) | 2,
} as const

/** A deletion whose final state is unknown has the code 4. */
const codes: Readonly<Record<HubChangeType, number>> = {
  added: 1,
  modified: 2,
  deleted: 3,
  synced: 5,
  bookmark: 6,
  expired: 7,
  history: 8,
}
const vanishedCode = 4

const typeOf: ReadonlyArray<HubChangeType | undefined> = [
  undefined,
  "added",
  "modified",
  "deleted",
  "deleted",
  "synced",
  "bookmark",
  "expired",
  "history",
]

/** Gathers the rows of one frame. */
export class DeliveriesBuilder {
  readonly #objects: HubChange[] = []
  /** By the bytes, which all subscriptions with one view share. */
  readonly #indexes = new Map<Buffer, number>()
  readonly #subscriptions: number[] = []
  readonly #numbers: number[] = []
  readonly #types: number[] = []
  readonly #rowObjects: number[] = []
  #bytes = 0

  /** About the length of the frame. */
  get bytes(): number {
    return this.#bytes
  }

  add({ subscription, number, change }: Delivery): void {
    let index = change.bytes.length === 0 ? undefined : this.#indexes.get(change.bytes)
    if (index === undefined) {
      index = this.#objects.push(change) - 1
      if (change.bytes.length > 0) this.#indexes.set(change.bytes, index)
      this.#bytes += 4 + change.bytes.length + change.key.length + change.uid.length + change.version.length + 6
    }
    this.#subscriptions.push(subscription)
    this.#numbers.push(number)
    this.#types.push(change.isFinalStateUnknown ? vanishedCode : codes[change.type])
    this.#rowObjects.push(index)
    this.#bytes += 13
  }

  finish(): Uint8Array {
    const writer = protobuf.Writer.create()
    const objects = this.#objects
    writer.uint32(Tag.objects).bytes(Buffer.concat(objects.map(({ bytes }) => bytes)))
    writer.uint32(Tag.lengths).bytes(numbers(objects.map(({ bytes }) => bytes.length)))
    for (const { key } of objects) writer.uint32(Tag.keys).string(key)
    for (const { uid } of objects) writer.uint32(Tag.uids).string(uid)
    for (const { version } of objects) writer.uint32(Tag.versions).string(version)
    writer.uint32(Tag.subscriptions).bytes(numbers(this.#subscriptions))
    writer.uint32(Tag.types).bytes(Uint8Array.from(this.#types))
    writer.uint32(Tag.objectIndexes).bytes(numbers(this.#rowObjects))
    writer.uint32(Tag.numbers).bytes(numbers(this.#numbers))
    return writer.finish()
  }
}

/** The rows of a frame. Throws RangeError on malformed bytes; both ends are ours, so that is a crash. */
export const readDeliveries = (payload: Uint8Array): ReadonlyArray<Delivery> => {
  const frame = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const reader = protobuf.Reader.create(frame)
  const columns = new Map<number, Buffer>()
  const texts = new Map<number, string[]>([Tag.keys, Tag.uids, Tag.versions].map((tag) => [tag, []]))
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const strings = texts.get(tag)
    if (strings !== undefined) strings.push(reader.string())
    else if ((tag & 7) === 2) {
      const length = reader.uint32()
      columns.set(tag, frame.subarray(reader.pos, reader.pos + length))
      reader.skip(length)
    } else reader.skipType(tag & 7)
  }
  const column = (tag: number): Buffer => columns.get(tag) ?? Buffer.alloc(0)
  const text = (tag: number, index: number): string => required(texts.get(tag)?.[index])
  const objects = column(Tag.objects)
  const lengths = column(Tag.lengths)
  const starts = [0]
  for (let at = 0; at < lengths.length; at += 4) starts.push(required(starts.at(-1)) + lengths.readUInt32LE(at))
  const types = column(Tag.types)
  const changeOf = (index: number, code: number | undefined): HubChange => ({
    type: required(typeOf[required(code)]),
    key: text(Tag.keys, index),
    uid: text(Tag.uids, index),
    version: text(Tag.versions, index),
    bytes: objects.subarray(required(starts[index]), required(starts[index + 1])),
    isFinalStateUnknown: code === vanishedCode,
  })
  /** By object and type. */
  const changes = new Map<number, HubChange>()
  const deliveries: Delivery[] = []
  for (let row = 0; row < types.length; row++) {
    const code = types[row]
    const index = column(Tag.objectIndexes).readUInt32LE(row * 4)
    const identity = index * typeOf.length + (code ?? 0)
    const change = changes.get(identity) ?? changeOf(index, code)
    changes.set(identity, change)
    const number = column(Tag.numbers).readUInt32LE(row * 4)
    deliveries.push({ subscription: column(Tag.subscriptions).readUInt32LE(row * 4), number, change })
  }
  return deliveries
}

const numbers = (values: ReadonlyArray<number>): Buffer => {
  const bytes = Buffer.allocUnsafe(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4)
  return bytes
}

const required = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new RangeError("a frame of deliveries is malformed")
  return value
}
