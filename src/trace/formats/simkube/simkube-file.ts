/** Assembles the file of a SimKube trace from its parts, in chunks: the only module that knows the order of its sections. */

import type { Spool } from "../../spool.ts"
import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { type OwnedLifecycles, type PodLifecycle, SIMKUBE_TRACE_VERSION } from "./simkube-trace.ts"

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

/**
 * The events of a trace on their way to a file: encoded objects come in, complete events go to the spool, and are read
 * back once they are counted, because MessagePack puts counts before contents. Memory: at most 1 MiB of the current
 * event plus one note per larger event, which goes to the spool in parts; its headers are inserted while reading back.
 */
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

/** Entries of a map, in the order of the file. */
type Sized<Value> = Iterable<readonly [key: string, value: Value]> & { readonly size: number }

/** GVK → `namespace/name` → H of the object's spec. */
type SimkubeIndex = Sized<Sized<bigint>>

/** Returned chunks are about this large. */
const CHUNK_BYTES = 64 * 1024

/**
 * The file, in chunks of about 64 KiB, each with memory of its own. `config` is already MessagePack. `events` are complete; `lifecycles`
 * are written as they come, and iterated when the index is written.
 * @throws SpoolError
 */
export function* writeSimkubeFile(
  config: Uint8Array,
  events: SimkubeEvents,
  index: SimkubeIndex,
  lifecycles: Iterable<OwnedLifecycles>,
): Generator<Uint8Array> {
  const out = new MessagePackWriter(2 * CHUNK_BYTES)
  out.writeMapHeader(5)
  out.writeString("version")
  out.writeInteger(SIMKUBE_TRACE_VERSION)
  out.writeString("config")
  out.writeEncoded(config)
  out.writeString("events")
  out.writeArrayHeader(events.count)
  for (const piece of events.read()) {
    out.writeEncoded(piece)
    if (out.length >= CHUNK_BYTES) yield taken(out)
  }
  out.writeString("index")
  out.writeMapHeader(index.size)
  for (const [gvk, names] of index) {
    out.writeString(gvk)
    out.writeMapHeader(names.size)
    for (const [name, hash] of names) {
      out.writeString(name)
      out.writeInteger(hash)
      if (out.length >= CHUNK_BYTES) yield taken(out)
    }
  }
  out.writeString("pod_lifecycles")
  writeLifecycles(out, lifecycles)
  yield taken(out)
}

const writeLifecycles = (out: MessagePackWriter, lifecycles: Iterable<OwnedLifecycles>): void => {
  const entries = new MessagePackWriter()
  let count = 0
  for (const { gvk, owner, pods } of lifecycles) {
    count++
    entries.writeValue([gvk, owner])
    entries.writeMapHeader(pods.size)
    for (const [hash, list] of pods) {
      entries.writeInteger(hash)
      entries.writeArrayHeader(list.length)
      for (const lifecycle of list) entries.writeValue(lifecycleValue(lifecycle))
    }
  }
  out.writeMapHeader(count)
  out.writeEncoded(entries.view())
}

const lifecycleValue = (lifecycle: PodLifecycle): string | ReadonlyMap<string, number | ReadonlyArray<number>> => {
  switch (lifecycle.state) {
    case "empty":
      return "Empty"
    case "running":
      return new Map([["Running", lifecycle.start]])
    case "finished":
      return new Map([["Finished", [lifecycle.start, lifecycle.end]]])
  }
}

/** The contents of the writer as a separate chunk. */
const taken = (writer: MessagePackWriter): Uint8Array => {
  const chunk = new Uint8Array(writer.view())
  writer.clear()
  return chunk
}
