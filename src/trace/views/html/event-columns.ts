/** What a chunk has of each event beside the object's bytes, in columns that compress well. src/ui/file/recorded-events.ts reads them. */

import type { Tone } from "../../../timeline/index.ts"
import type { ObjectEvent } from "../../event.ts"
import { ByteWriter } from "./byte-writer.ts"

/** What happened, in the two lowest bits of an event's flags; the three above them are its tone. */
export const eventTypes = { listed: 0, applied: 1, deleted: 2, vanished: 3 } as const

/** Higher bits of the flags. */
export const eventBits = {
  /** The object's resourceVersion is left out of its bytes. */
  versionCut: 32,
  /** Its resourceVersion is not a number, and is with the texts. */
  versionText: 64,
  /** Its bytes are not a JSON object. */
  unreadable: 128,
} as const

/** One event. */
interface ColumnEvent extends Pick<ObjectEvent, "time" | "sequence" | "resourceVersion"> {
  readonly object: number
  readonly tone: Tone
  /** One of {@link eventTypes} and some of {@link eventBits}. */
  readonly flags: number
}

/** An object as it is known when it is first seen, or when other owners are. */
type NamedObject = readonly [
  object: number,
  gvk: string,
  namespace: string,
  name: string,
  uid: string,
  owners: ReadonlyArray<readonly [gvk: string, name: string, uid: string]>,
]

/** A number that is written back as the same text. */
const plainNumber = /^(?:0|[1-9]\d{0,14})$/

/** Gathers events up to a chunk. */
export class EventColumns {
  readonly #flags = new ByteWriter()
  readonly #objects = [new ByteWriter(), new ByteWriter(), new ByteWriter(), new ByteWriter()] as const
  readonly #times = new ByteWriter()
  readonly #sequences = new ByteWriter()
  readonly #versions = new ByteWriter()
  readonly #pieces = new ByteWriter()
  #texts: string[] = []
  #named: NamedObject[] = []
  #time = 0
  #sequence = 0
  #version = 0
  count = 0

  add({ object, tone, flags, time, sequence, resourceVersion }: ColumnEvent): void {
    const isNumber = plainNumber.test(resourceVersion)
    this.#flags.byte(flags | (tone << 2) | (isNumber ? 0 : eventBits.versionText))
    for (const [index, plane] of this.#objects.entries()) plane.byte((object >>> (8 * index)) & 255)
    this.#times.signed(time - this.#time)
    this.#time = time
    this.#sequences.signed(sequence - this.#sequence - 1)
    this.#sequence = sequence
    if (isNumber) {
      const version = Number(resourceVersion)
      this.#versions.signed(version - this.#version)
      this.#version = version
    } else this.#texts.push(resourceVersion)
    this.count++
  }

  name(object: NamedObject): void {
    this.#named.push(object)
  }

  /** The objects of one piece of the states, in order. */
  piece(objects: ReadonlyArray<number>): void {
    this.#pieces.number(objects.length)
    let last = 0
    for (const object of objects) {
      this.#pieces.signed(object - last)
      last = object
    }
  }

  /** The chunk's columns; the next one begins. */
  take(): Buffer {
    const out = new ByteWriter(256 * 1024)
    out.number(this.count)
    const columns = [this.#flags, ...this.#objects, this.#times, this.#sequences, this.#versions, this.#pieces]
    for (const column of columns) {
      out.number(column.length)
      out.append(column.written(), 0, column.length)
      column.clear()
    }
    out.text(JSON.stringify(this.#texts))
    out.text(JSON.stringify(this.#named))
    this.#texts = []
    this.#named = []
    this.count = 0
    this.#time = 0
    this.#sequence = 0
    this.#version = 0
    return out.written()
  }
}
