/**
 * Rewrites unchanged a SimKube trace that was read before (from such a file, or from NDJSON made of one): nothing is sanitised, computed or
 * reordered. Memory grows with the index and not with the number of events, which wait in a spool.
 */

import type { Spool } from "../../spool.ts"
import { writeOrderedJson } from "./message-pack/message-pack-json.ts"
import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { SimkubeEvents } from "./simkube-events.ts"
import { writeSimkubeFile } from "./simkube-file.ts"
import type { OwnedLifecycles } from "./simkube-trace.ts"

/** Call its methods in the order of the file; then take the chunks of {@link finish}. Objects and configuration are JSON texts. */
export class SimkubeCopyWriter {
  readonly #events: SimkubeEvents
  readonly #value = new MessagePackWriter()
  readonly #index = new Map<string, Map<string, bigint>>()
  readonly #lifecycles: OwnedLifecycles[] = []
  #config: Uint8Array | undefined

  /** The caller disposes of `spool` after the last chunk. */
  constructor(spool: Spool) {
    this.#events = new SimkubeEvents(spool)
  }

  /** Whether there is a configuration; SimKube reads no trace without one. */
  get hasConfig(): boolean {
    return this.#config !== undefined
  }

  /** Whether there is an event for objects to be added to. */
  get hasEvent(): boolean {
    return this.#events.seconds !== undefined
  }

  /** Throws MalformedJsonError, MessagePackError. */
  config(json: Uint8Array): void {
    this.#config = new Uint8Array(this.#encoded(json))
  }

  /** Starts an event; Unix seconds. Throws SpoolError. */
  event(seconds: number): void {
    this.#events.begin(seconds)
  }

  /** Throws MalformedJsonError and MessagePackError, which change nothing, and SpoolError. */
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
