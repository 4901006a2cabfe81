/**
 * All events of a file, in columns: what happened to which object when. 35 bytes for each event; written by src/trace/views/html/event-columns.ts.
 */

import { type LaneObject, type LaneOwner, type Tone, toneIn } from "../../timeline/index.ts"
import { type Block, bytesOf } from "./blocks.ts"
import { ByteReader } from "./byte-reader.ts"

/** What happened, in the two lowest bits of an event's flags; the three above them are its tone. */
export const eventTypes = { listed: 0, applied: 1, deleted: 2, vanished: 3 } as const
const bits = { versionCut: 32, versionText: 64, unreadable: 128 } as const

/** An object, or one of several that had the same name. */
export interface FileObject extends LaneObject {
  readonly owners: ReadonlyArray<LaneOwner>
}

/** Some of the states of a chunk. */
interface StatePiece {
  readonly block: Block
  readonly objects: Uint32Array
}

/** A stretch of the trace. */
export interface Chunk {
  /** Its events, the last exclusive. */
  readonly from: number
  readonly until: number
  readonly pieces: ReadonlyArray<StatePiece>
}

type NamedObject = readonly [
  number: number,
  gvk: string,
  namespace: string,
  name: string,
  uid: string,
  owners: ReadonlyArray<readonly [gvk: string, name: string, uid: string]>,
]

/** Reads all columns at once. @throws what says that the file is damaged */
export class RecordedEvents {
  readonly chunks: ReadonlyArray<Chunk>
  readonly objects: ReadonlyArray<FileObject>
  /** Of the lanes of numbers that were given to an object twice: the first. */
  readonly #first: Map<number, number>
  /** µs since the Unix epoch, by event, as all that follow. */
  readonly times: Float64Array
  readonly sequences: Float64Array
  readonly #objectOf: Uint32Array
  readonly #flags: Uint8Array
  readonly #versions: Float64Array
  readonly #texts = new Map<number, string>()
  /** Events by object, in order; those of an object begin at its place in `#starts`. */
  readonly #order: Uint32Array
  readonly #starts: Uint32Array

  constructor(blocks: ReadonlyArray<Block>) {
    const columns = blocks.filter(({ name }) => name === "events").map((block) => new ByteReader(bytesOf(block)))
    const counts = columns.map((reader) => reader.number())
    const total = counts.reduce((sum, count) => sum + count, 0)
    this.times = new Float64Array(total)
    this.sequences = new Float64Array(total)
    this.#objectOf = new Uint32Array(total)
    this.#flags = new Uint8Array(total)
    this.#versions = new Float64Array(total)
    const named = new Named()
    const chunks: Chunk[] = []
    let states: Block[] = []
    let from = 0
    for (const block of blocks) {
      if (block.name === "states") {
        states.push(block)
        continue
      }
      const until = from + (counts[chunks.length] ?? 0)
      const pieces = this.#chunk(columns[chunks.length] as ByteReader, from, until, named)
      chunks.push({
        ...{ from, until },
        pieces: states.map((state, at) => ({ block: state, objects: pieces[at] ?? new Uint32Array(0) })),
      })
      states = []
      from = until
    }
    this.chunks = chunks
    this.objects = named.objects
    this.#first = named.first
    const starts = new Uint32Array(this.objects.length + 1)
    for (let at = 0; at < total; at++) {
      const number = this.objectAt(at)
      starts[number + 1] = (starts[number + 1] ?? 0) + 1
    }
    for (let number = 0; number < this.objects.length; number++)
      starts[number + 1] = (starts[number + 1] ?? 0) + (starts[number] ?? 0)
    const next = starts.slice()
    this.#order = new Uint32Array(total)
    for (let at = 0; at < total; at++) {
      const number = this.objectAt(at)
      this.#order[next[number] ?? 0] = at
      next[number] = (next[number] ?? 0) + 1
    }
    this.#starts = starts
  }

  /** The number that an object of this number has. */
  sameAs(number: number): number {
    return this.#first.size === 0 ? number : (this.#first.get(number) ?? number)
  }

  /** Events of an object, in order. */
  of(number: number): Uint32Array {
    return this.#order.subarray(this.#starts[number], this.#starts[number + 1])
  }

  objectAt(event: number): number {
    return this.sameAs(this.numberAt(event))
  }

  /** The number under which the event's state is written. */
  numberAt(event: number): number {
    return this.#objectOf[event] ?? 0
  }

  /** One of {@link eventTypes}. */
  typeAt(event: number): number {
    return (this.#flags[event] ?? 0) & 3
  }

  /** A `Tone` of the time line. */
  toneAt(event: number): Tone {
    return toneIn((this.#flags[event] ?? 0) >>> 2)
  }

  hasVersionCut(event: number): boolean {
    return ((this.#flags[event] ?? 0) & bits.versionCut) !== 0
  }

  versionAt(event: number): string {
    return this.#texts.get(event) ?? String(this.#versions[event])
  }

  #chunk(reader: ByteReader, from: number, until: number, named: Named): ReadonlyArray<Uint32Array> {
    const flags = reader.part()
    const planes = [reader.part(), reader.part(), reader.part(), reader.part()]
    const [times, sequences, versions, pieces] = [reader.part(), reader.part(), reader.part(), reader.part()]
    const texts: ReadonlyArray<string> = JSON.parse(reader.text())
    let [time, sequence, version, text] = [0, 0, 0, 0]
    for (let at = from; at < until; at++) {
      const flag = flags.byte()
      this.#flags[at] = flag
      let number = 0
      for (const [index, plane] of planes.entries()) number += plane.byte() * 2 ** (8 * index)
      this.#objectOf[at] = number
      time += times.signed()
      this.times[at] = time
      sequence += sequences.signed() + 1
      this.sequences[at] = sequence
      if ((flag & bits.versionText) !== 0) this.#texts.set(at, texts[text++] ?? "")
      else {
        version += versions.signed()
        this.#versions[at] = version
      }
    }
    const found: Uint32Array[] = []
    while (pieces.hasMore) {
      const objects = new Uint32Array(pieces.number())
      let last = 0
      for (let at = 0; at < objects.length; at++) {
        last += pieces.signed()
        objects[at] = last
      }
      found.push(objects)
    }
    named.add(JSON.parse(reader.text()))
    return found
  }
}

/** Objects by number. One that was deleted and seen again, with the same UID, has two numbers, and is one object. */
class Named {
  readonly objects: FileObject[] = []
  readonly first = new Map<number, number>()
  readonly #byUid = new Map<string, number>()

  add(named: ReadonlyArray<NamedObject>): void {
    for (const [number, gvk, namespace, name, uid, owners] of named) {
      this.objects[number] = {
        ...{ gvk, namespace, name, uid },
        owners: owners.map(([kind, owner, id]) => ({ gvk: kind, name: owner, uid: id })),
      }
      if (uid === "") continue
      const key = `${gvk} ${uid}`
      const known = this.#byUid.get(key)
      if (known === undefined) this.#byUid.set(key, number)
      else if (known !== number) this.first.set(number, known)
    }
  }
}
