/**
 * Encodes a window in SimKube's format: events are gathered into batches, several threads encode batches at once, and the results are
 * written in the order of the events, byte for byte as one thread would have written them.
 *
 * Memory: 5 MiB of batches for each export of any size; an object larger than a batch gets one of its own.
 */
import type { ObjectEvent } from "../../trace/event.ts"
import {
  type EncodedSimkubeBatch,
  encodeSimkubeBatch,
  SimkubeBatchBuilder,
} from "../../trace/formats/simkube/simkube-batch.ts"
import { type OwnedLifecycles, UnwritableChangeError } from "../../trace/formats/simkube/simkube-trace.ts"
import type { SimkubeObjectName, SimkubeTraceWriter } from "../../trace/formats/simkube/simkube-trace-writer.ts"
import type { Encoding, EncodingLease } from "./encoding-pool.ts"
import { type ExportWindow, eventsPerTurn } from "./export-window.ts"

/** How work is divided among threads. */
export interface BatchLimits {
  /**
   * Bytes of raw objects in a batch: some 10 ms of work, so that a transfer is cheap in comparison and this thread never blocks for long.
   */
  readonly batchBytes: number
  /** Changes in a batch; deletions have no bytes. */
  readonly batchChanges: number
  /** Batches of one export that are gathered but not written, excluding the current one. */
  readonly batches: number
  /**
   * Bytes of raw objects after which other threads are used. A thread takes 60–80 ms and 18 MB to start, its code is cold for 150 ms more,
   * and it takes over only a fifth of the work, since objects are encoded without being parsed. Measured with 100,000 events of 2.9 kB (287
   * MB): 1.02–1.19 s, 1.55–1.83 s of CPU and +43 MB with a thread, 1.05–1.45 s, 1.13–1.27 s and +25 MB alone. So threads are only worth it
   * for exports that take seconds.
   */
  readonly aloneBytes: number
}

export const defaultLimits: BatchLimits = {
  batchBytes: 1024 * 1024,
  batchChanges: 4096,
  batches: 4,
  aloneBytes: 512 * 1024 * 1024,
}

/** A change without its object. */
interface Change extends SimkubeObjectName {
  readonly action: ObjectEvent["action"] | "snapshot"
  readonly time: number
}

/** UIDs of an object's owners that are in the trace. */
export type KeptOwners = (event: ObjectEvent) => ReadonlyArray<string>

/** A batch in flight, with the changes since the previous one. */
interface Pending {
  readonly changes: ReadonlyArray<Change>
  /** Set once the batch is encoded. */
  encoded: EncodedSimkubeBatch | undefined
  /** Settles when the batch is encoded or lost. */
  readonly arrival: Promise<void> | undefined
}

/**
 * Empty pieces, which are pauses, while the window is read; then the trace. `lifecycles` is iterated when the index is complete.
 *
 * @throws UnwritableChangeError, SpoolError, what reading the window throws, and the reason why a thread ended.
 */
export async function* encodeSimkube(
  window: ExportWindow,
  writer: SimkubeTraceWriter,
  lifecycles: Iterable<OwnedLifecycles>,
  encoding: Encoding,
  limits: BatchLimits = defaultLimits,
  keptOwners: KeptOwners = () => [],
): AsyncGenerator<Uint8Array, void> {
  using line = new BatchLine(writer, encoding, keptOwners, limits)
  let looked = 0
  for (const event of window.snapshot()) {
    if (event !== undefined) line.add(event, "snapshot")
    if (line.isDue) await line.turn()
    else if (++looked % eventsPerTurn !== 0) continue
    yield pause
  }
  for (const event of window.events()) {
    // SimKube's format cannot represent gaps; the headers of the response report them.
    if (event !== undefined && event.type !== "gap") line.add(event, event.action)
    if (line.isDue) await line.turn()
    else if (++looked % eventsPerTurn !== 0) continue
    yield pause
  }
  await line.end()
  yield* writer.finish(lifecycles)
}

const pause = new Uint8Array(0)

/** Batches in gathering order, from the window to the writer. */
class BatchLine implements Disposable {
  readonly #writer: SimkubeTraceWriter
  readonly #encoding: Encoding
  readonly #keptOwners: KeptOwners
  readonly #limits: BatchLimits
  /** Memory of written batches, for reuse. */
  readonly #free: ArrayBuffer[] = []
  readonly #pending: Pending[] = []
  #builder: SimkubeBatchBuilder
  #changes: Change[] = []
  #bytes = 0
  #lease: EncodingLease | undefined
  #isDue = false

  constructor(writer: SimkubeTraceWriter, encoding: Encoding, keptOwners: KeptOwners, limits: BatchLimits) {
    this.#writer = writer
    this.#encoding = encoding
    this.#keptOwners = keptOwners
    this.#limits = limits
    this.#builder = this.#newBuilder(0)
  }

  /** Whether a batch was dispatched since the last {@link turn}. */
  get isDue(): boolean {
    return this.#isDue
  }

  /** Adds one event. Its bytes are copied. */
  add(event: ObjectEvent, action: Change["action"]): void {
    const { gvk, namespace, name, time, object } = event
    if (action === "snapshot" || action === "applied") {
      const type = this.#writer.admit(gvk)
      if (type === undefined) return
      const owners = this.#keptOwners(event)
      if (!this.#builder.add(type, object, owners)) {
        this.#sendOff(object.length)
        this.#builder.add(type, object, owners)
      }
      this.#bytes += object.length
    }
    this.#changes.push({ gvk, namespace, name, action, time })
    if (this.#changes.length >= this.#limits.batchChanges) this.#sendOff(0)
  }

  /** Writes the encoded batches, and waits if too many are in flight. */
  async turn(): Promise<void> {
    this.#isDue = false
    for (let [first] = this.#pending; first !== undefined; [first] = this.#pending) {
      if (first.encoded === undefined && this.#pending.length < this.#limits.batches) return
      await this.#take(first)
    }
  }

  /** Writes everything. */
  async end(): Promise<void> {
    this.#sendOff(0)
    for (let [first] = this.#pending; first !== undefined; [first] = this.#pending) await this.#take(first)
  }

  [Symbol.dispose](): void {
    this.#lease?.[Symbol.dispose]()
  }

  /** Dispatches the batch, or encodes it here, and starts the next with room for an object of that size. */
  #sendOff(nextBytes: number): void {
    if (this.#bytes >= this.#limits.aloneBytes) this.#lease ??= this.#encoding.lease()
    const changes = this.#changes
    const batch = this.#builder.finish()
    const arriving = this.#lease?.tryEncode(batch)
    const arrival = arriving?.then((encoded) => {
      pending.encoded = encoded
    })
    // Handled when the batch is to be written; until then the rejection must not count as unhandled.
    arrival?.catch(() => undefined)
    const pending: Pending = {
      changes,
      encoded: arrival === undefined ? encodeSimkubeBatch(batch) : undefined,
      arrival,
    }
    this.#pending.push(pending)
    this.#changes = []
    this.#builder = this.#newBuilder(nextBytes)
    this.#isDue = true
  }

  async #take(first: Pending): Promise<void> {
    if (first.encoded === undefined) await first.arrival
    this.#pending.shift()
    if (first.encoded !== undefined) this.#write(first.changes, first.encoded)
  }

  #write(changes: ReadonlyArray<Change>, encoded: EncodedSimkubeBatch): void {
    let index = 0
    let start = 0
    for (const change of changes) {
      const { gvk, namespace, name, action, time } = change
      if (action === "deleted" || action === "vanished") {
        this.#writer.add({ gvk, namespace, name, action, time })
        continue
      }
      if (encoded.failure?.index === index) {
        throw new UnwritableChangeError({ gvk, namespace, name, detail: encoded.failure.detail })
      }
      const end = start + (encoded.lengths[index] as number)
      const object = {
        bytes: encoded.objects.subarray(start, end),
        hash: encoded.hashes[index] as bigint,
        state: encoded.states.subarray(4 * index, 4 * index + 4),
      }
      if (action === "snapshot") this.#writer.addEncodedSnapshot(change, object)
      else this.#writer.addEncoded(change, time, object)
      start = end
      index++
    }
    const memory = encoded.objects.buffer
    if (memory.byteLength === this.#limits.batchBytes) this.#free.push(memory)
  }

  #newBuilder(bytes: number): SimkubeBatchBuilder {
    const { batchBytes } = this.#limits
    const memory = bytes > batchBytes ? undefined : this.#free.pop()
    return new SimkubeBatchBuilder(memory ?? new ArrayBuffer(Math.max(bytes, batchBytes)))
  }
}
