/**
 * The `events` of a SimKube trace on their way to a file: encoded objects come in, complete events go to the spool, and are read back once
 * they are counted. MessagePack puts counts before contents, hence the detour.
 *
 * Memory holds at most 1 MiB of the current event plus one note per larger event, whatever the number of events: a large one (a start
 * snapshot, a relist) goes to the spool in parts, and its headers are inserted while reading back.
 */

import type { Spool } from "../../spool.ts"
import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"

/** The event being written. */
interface OpenEvent {
  readonly seconds: number
  applied: number
  deleted: number
  /** Bytes of its objects, and of the applied ones among them, which come first. */
  bytes: number
  appliedBytes: number
  /** Position of its objects in the spool, once some of them are there. */
  spooledAt: number | undefined
}

/** An event larger than this leaves memory before it is complete. */
const LARGE_EVENT_BYTES = 1024 * 1024
/** Approximate size of the writes to the spool; a write of a few hundred bytes would cost more than encoding them. */
const WRITE_BYTES = 64 * 1024

/** Writes events one after the other; each contains applied objects, then deleted ones. */
export class SimkubeEvents {
  readonly #spool: Spool
  /** Objects of the open event that are not in the spool. */
  readonly #body = new MessagePackWriter()
  /** Complete events that are not in the spool. */
  readonly #ready = new MessagePackWriter(2 * WRITE_BYTES)
  /** Headers of large events, in the order of their positions in the spool. */
  readonly #headers: Array<{ readonly at: number; readonly bytes: Uint8Array }> = []
  #open: OpenEvent | undefined
  #count = 0

  constructor(spool: Spool) {
    this.#spool = spool
  }

  /** Number of events started. */
  get count(): number {
    return this.#count
  }

  /** Second of the open event. */
  get seconds(): number | undefined {
    return this.#open?.seconds
  }

  /** Whether the open event contains deletions, after which nothing can be applied any more. */
  get holdsDeletions(): boolean {
    return this.#open !== undefined && this.#open.deleted > 0
  }

  /** Ends the open event and opens the next. Throws SpoolError. */
  begin(seconds: number): void {
    this.end()
    this.#open = { seconds, applied: 0, deleted: 0, bytes: 0, appliedBytes: 0, spooledAt: undefined }
    this.#count++
  }

  /** Adds an encoded object to `applied_objs` of the open event. Throws SpoolError. */
  apply(encoded: Uint8Array): void {
    const event = this.#expectOpen()
    if (event.deleted > 0) throw new Error("an event applies before it deletes; begin another")
    event.applied++
    event.appliedBytes += encoded.length
    this.#append(event, encoded)
  }

  /** Adds an encoded stub to `deleted_objs` of the open event. Throws SpoolError. */
  delete(encoded: Uint8Array): void {
    const event = this.#expectOpen()
    event.deleted++
    this.#append(event, encoded)
  }

  /** Ends the open event, if there is one. Throws SpoolError. */
  end(): void {
    const event = this.#open
    if (event === undefined) return
    this.#open = undefined
    if (event.spooledAt === undefined) this.#endSmall(event)
    else this.#endLarge(event, event.spooledAt)
  }

  /** The complete events, {@link count} of them, back to back; a piece is valid until the next. Throws SpoolError. */
  *read(): Generator<Uint8Array> {
    this.end()
    this.#flush(this.#ready)
    let position = 0
    let next = 0
    for (const piece of this.#spool.read()) {
      let start = 0
      for (; next < this.#headers.length; next++) {
        const header = this.#headers[next] as { at: number; bytes: Uint8Array }
        const at = header.at - position
        if (at >= piece.length) break
        if (at > start) yield piece.subarray(start, at)
        yield header.bytes
        start = at
      }
      yield piece.subarray(start)
      position += piece.length
    }
    for (; next < this.#headers.length; next++) yield (this.#headers[next] as { bytes: Uint8Array }).bytes
  }

  #append(event: OpenEvent, encoded: Uint8Array): void {
    event.bytes += encoded.length
    this.#body.writeEncoded(encoded)
    if (this.#body.length < LARGE_EVENT_BYTES) return
    this.#flush(this.#ready)
    event.spooledAt ??= this.#spool.length
    this.#flush(this.#body)
  }

  #endSmall(event: OpenEvent): void {
    writeAppliedHeader(this.#ready, event)
    this.#ready.writeEncoded(this.#body.view(0, event.appliedBytes))
    writeDeletedHeader(this.#ready, event)
    this.#ready.writeEncoded(this.#body.view(event.appliedBytes))
    this.#body.clear()
    if (this.#ready.length >= WRITE_BYTES) this.#flush(this.#ready)
  }

  #endLarge(event: OpenEvent, spooledAt: number): void {
    this.#flush(this.#body)
    const header = new MessagePackWriter(64)
    writeAppliedHeader(header, event)
    this.#headers.push({ at: spooledAt, bytes: new Uint8Array(header.view()) })
    header.clear()
    writeDeletedHeader(header, event)
    this.#headers.push({ at: spooledAt + event.appliedBytes, bytes: new Uint8Array(header.view()) })
  }

  #flush(writer: MessagePackWriter): void {
    if (writer.length > 0) this.#spool.append(writer.view())
    writer.clear()
  }

  #expectOpen(): OpenEvent {
    if (this.#open === undefined) throw new Error("no event is open")
    return this.#open
  }
}

const writeAppliedHeader = (writer: MessagePackWriter, event: OpenEvent): void => {
  writer.writeMapHeader(3)
  writer.writeString("ts")
  writer.writeInteger(event.seconds)
  writer.writeString("applied_objs")
  writer.writeArrayHeader(event.applied)
}

const writeDeletedHeader = (writer: MessagePackWriter, event: OpenEvent): void => {
  writer.writeString("deleted_objs")
  writer.writeArrayHeader(event.deleted)
}
