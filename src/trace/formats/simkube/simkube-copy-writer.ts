/**
 * Writes a SimKube trace that was read before (from such a file, or from NDJSON made of one) as it was: nothing is
 * sanitised, computed or put in order. Memory grows with the index and not with the number of events, which wait in a spool.
 */

import type { Spool } from "../../spool.ts"
import { writeOrderedJson } from "./message-pack/message-pack-json.ts"
import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { SimkubeEvents } from "./simkube-events.ts"
import { writeSimkubeFile } from "./simkube-file.ts"
import type { OwnedLifecycles } from "./simkube-trace.ts"

/** Call in the order of the file; at last take the chunks of {@link finish}. Objects and configuration are JSON texts. */
export class SimkubeCopyWriter {
  readonly #events: SimkubeEvents
  readonly #value = new MessagePackWriter()
  readonly #index = new Map<string, Map<string, bigint>>()
  readonly #lifecycles: OwnedLifecycles[] = []
  #config: Uint8Array | undefined

  /** `spool` stays the caller's: to be disposed of after the last chunk. */
  constructor(spool: Spool) {
    this.#events = new SimkubeEvents(spool)
  }

  /** Whether there is a configuration, without which SimKube reads no trace. */
  get hasConfig(): boolean {
    return this.#config !== undefined
  }

  /** Whether there is an event to which objects can belong. */
  get hasEvent(): boolean {
    return this.#events.seconds !== undefined
  }

  /** Throws MalformedJsonError, MessagePackError. */
  config(json: Uint8Array): void {
    this.#config = new Uint8Array(this.#encoded(json))
  }

  /** Begins an event; Unix seconds. Throws SpoolError. */
  event(seconds: number): void {
    this.#events.begin(seconds)
  }

  /** Throws MalformedJsonError, MessagePackError, after which everything is as before; SpoolError. */
  applied(json: Uint8Array): void {
    const encoded = this.#encoded(json)
    // No file has such an event, but NDJSON may be edited: SimKube applies an event's objects before it deletes any.
    if (this.#events.holdsDeletions) this.#events.begin(this.#events.seconds ?? 0)
    this.#events.apply(encoded)
  }

  /** As {@link applied}. */
  deleted(json: Uint8Array): void {
    this.#events.delete(this.#encoded(json))
  }

  index(gvk: string, name: string, hash: bigint): void {
    const names = this.#index.get(gvk) ?? new Map<string, bigint>()
    this.#index.set(gvk, names.set(name, hash))
  }

  lifecycles(owned: OwnedLifecycles): void {
    this.#lifecycles.push(owned)
  }

  /** The file. Throws SpoolError. */
  *finish(): Generator<Uint8Array> {
    if (this.#config === undefined) throw new Error("a SimKube trace has a configuration")
    this.#events.end()
    yield* writeSimkubeFile(this.#config, this.#events, this.#index, this.#lifecycles)
  }

  #encoded(json: Uint8Array): Uint8Array {
    this.#value.clear()
    writeOrderedJson(this.#value, json)
    return this.#value.view()
  }
}
