/** Objects as they were, from the blocks of a file: a block is decompressed when an object of it is looked at, and the last few are kept. */

import { bytesOf } from "./blocks.ts"
import { ByteReader } from "./byte-reader.ts"
import { type Chunk, eventTypes, type RecordedEvents } from "./recorded-events.ts"

/** Pieces of 1 MiB or the largest object. */
const MOST_KEPT = 24

/** A state of an object. */
export interface RecordedState {
  readonly event: number
  /** `undefined`: there is none of an object that vanished, or it is no JSON object. */
  readonly object: Readonly<Record<string, unknown>> | undefined
  /** Its JSON; empty of an object that vanished. */
  readonly text: string
}

/** Reads states of objects. */
export class ObjectStates {
  readonly #events: RecordedEvents
  /** By chunk, of each object its piece and its place in that. */
  readonly #places = new Map<Chunk, Map<number, readonly [piece: number, place: number]>>()
  /** Decompressed pieces, the last used one last, with the bytes of each of their objects. */
  readonly #kept = new Map<object, ReadonlyArray<Uint8Array>>()

  constructor(events: RecordedEvents) {
    this.#events = events
  }

  /** The states of an object at its events up to `last` (inclusive), in order. Those before `from` are passed over. */
  *of(number: number, last = Number.POSITIVE_INFINITY, from = 0): Generator<RecordedState, void> {
    const events = this.#events.of(number)
    let at = 0
    for (const chunk of this.#events.chunks) {
      if ((events[at] ?? Number.POSITIVE_INFINITY) > last) return
      const begin = at
      while (at < events.length && (events[at] as number) < chunk.until) at++
      // What is before it is not needed: in each chunk the first state is whole.
      if (at > begin && (events[at - 1] as number) >= from)
        yield* this.#inChunk(chunk, events.subarray(begin, at), last, from)
    }
  }

  /** The state at one event. */
  at(number: number, event: number): RecordedState | undefined {
    for (const state of this.of(number, event, event)) return state
    return undefined
  }

  *#inChunk(chunk: Chunk, events: Uint32Array, last: number, from: number): Generator<RecordedState, void> {
    const all = this.#events
    /** An object that was given two numbers has two parts in a chunk. */
    const readers = new Map<number, StateReader>()
    for (const event of events) {
      if (event > last) return
      if (all.typeAt(event) === eventTypes.vanished) {
        if (event >= from) yield { event, object: undefined, text: "" }
        continue
      }
      const number = all.numberAt(event)
      const reader = readers.get(number) ?? new StateReader(this.#bytesOf(chunk, number))
      readers.set(number, reader)
      const bytes = reader.next()
      if (event < from) continue
      const text = withVersion(new TextDecoder().decode(bytes), all.hasVersionCut(event) ? all.versionAt(event) : "")
      yield { event, object: parsed(text), text }
    }
  }

  #bytesOf(chunk: Chunk, number: number): Uint8Array {
    const places = this.#places.get(chunk) ?? placesIn(chunk)
    this.#places.set(chunk, places)
    const [piece, place] = places.get(number) ?? [-1, -1]
    const found = chunk.pieces[piece]
    if (found === undefined) throw new RangeError("the data of this file is cut off")
    const parts = this.#kept.get(found) ?? partsOf(bytesOf(found.block), found.objects.length)
    this.#kept.delete(found)
    this.#kept.set(found, parts)
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break
      this.#kept.delete(key)
    }
    return parts[place] ?? new Uint8Array(0)
  }
}

const placesIn = ({ pieces }: Chunk): Map<number, readonly [number, number]> => {
  const places = new Map<number, readonly [number, number]>()
  for (const [piece, { objects }] of pieces.entries())
    for (const [place, number] of objects.entries()) places.set(number, [piece, place])
  return places
}

const partsOf = (bytes: Uint8Array, count: number): ReadonlyArray<Uint8Array> => {
  const reader = new ByteReader(bytes)
  return Array.from({ length: count }, () => reader.take(reader.number()))
}

/** Reads the states of one object in one chunk, as src/trace/views/html/state-chunk.ts writes them. */
class StateReader {
  readonly #reader: ByteReader
  /** The last whole state, of which the others are edits. */
  #whole: Uint8Array = new Uint8Array(0)

  constructor(bytes: Uint8Array) {
    this.#reader = new ByteReader(bytes)
  }

  next(): Uint8Array {
    const reader = this.#reader
    const edits = reader.number() - 1
    if (edits < 0) {
      this.#whole = reader.take(reader.number())
      return this.#whole
    }
    const parts: Uint8Array[] = []
    let from = 0
    for (let edit = 0; edit < edits; edit++) {
      const same = reader.number()
      parts.push(this.#whole.subarray(from, from + same))
      from += same + reader.number()
      parts.push(reader.take(reader.number()))
    }
    parts.push(this.#whole.subarray(from))
    const state = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
    let at = 0
    for (const part of parts) {
      state.set(part, at)
      at += part.length
    }
    return state
  }
}

const versionKey = '"resourceVersion":"'

const withVersion = (text: string, version: string): string => {
  if (version === "") return text
  const at = text.indexOf(versionKey) + versionKey.length
  return text.slice(0, at) + version + text.slice(at)
}

const parsed = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
