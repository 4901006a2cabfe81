/**
 * The frames that bring changes from the hub to a worker with controllers, in V8's form for plain data: both ends are threads of one process. Columns,
 * because frames have many rows.
 */
import { deserialize, serialize } from "node:v8"
import type { HubChange, HubChangeType } from "./hub-change.ts"

/** One row of a frame. */
export interface Delivery {
  /** The receiver's number for its subscription. */
  readonly subscription: number
  /** Counts the rows of the subscription, from 1: the receiver can tell that none is missing. After 2³²−1 comes 0. */
  readonly number: number
  /**
   * Rows of several subscriptions about the same change of the same state have the same object here, so that what is made of it can be shared as
   * well.
   */
  readonly change: HubChange
}

interface Frame {
  /** JSON of all changes, back to back. */
  readonly bytes: Uint8Array
  readonly changes: ReadonlyArray<
    readonly [
      type: HubChangeType,
      isFinalStateUnknown: boolean,
      key: string,
      uid: string,
      version: string,
      bytes: number,
    ]
  >
  /** Of each row: subscription, number, index of the change. */
  readonly rows: Uint32Array
}

/** Gathers the rows of one frame. */
export class DeliveriesBuilder {
  readonly #changes: HubChange[] = []
  /** By the bytes, which all subscriptions with one view share, and the type. */
  readonly #indexes = new Map<Buffer, Map<string, number>>()
  readonly #rows: number[] = []
  #bytes = 0

  /** About the length of the frame. */
  get bytes(): number {
    return this.#bytes
  }

  add({ subscription, number, change }: Delivery): void {
    this.#rows.push(subscription, number, this.#indexOf(change))
    this.#bytes += 12
  }

  finish(): Uint8Array {
    const frame: Frame = {
      bytes: Buffer.concat(this.#changes.map(({ bytes }) => bytes)),
      changes: this.#changes.map(
        ({ type, isFinalStateUnknown, key, uid, version, bytes }) =>
          [type, isFinalStateUnknown, key, uid, version, bytes.length] as const,
      ),
      rows: Uint32Array.from(this.#rows),
    }
    return serialize(frame)
  }

  #indexOf(change: HubChange): number {
    const { bytes, key, uid, version, isFinalStateUnknown } = change
    const type = isFinalStateUnknown ? "vanished" : change.type
    const known = this.#indexes.get(bytes)?.get(type)
    if (known !== undefined) return known
    const index = this.#changes.push(change) - 1
    this.#bytes += bytes.length + key.length + uid.length + version.length + 20
    // A mark is of one subscription.
    if (bytes.length > 0) this.#indexes.set(bytes, (this.#indexes.get(bytes) ?? new Map()).set(type, index))
    return index
  }
}

/** The rows of a frame, whose memory may be used again afterwards. */
export const readDeliveries = (payload: Uint8Array): ReadonlyArray<Delivery> => {
  const { bytes, changes, rows }: Frame = deserialize(Buffer.from(payload))
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let end = 0
  const read = changes.map(([type, isFinalStateUnknown, key, uid, version, length]): HubChange => {
    const start = end
    end += length
    return { type, key, uid, version, bytes: all.subarray(start, end), isFinalStateUnknown }
  })
  const deliveries: Delivery[] = []
  for (let at = 0; at < rows.length; at += 3) {
    const change = read[rows[at + 2] ?? 0]
    if (change === undefined) throw new RangeError("a row of a frame of deliveries has no change")
    deliveries.push({ subscription: rows[at] ?? 0, number: rows[at + 1] ?? 0, change })
  }
  return deliveries
}
