/**
 * Which version the server had reached when: a sample for each of the last 4,096 versions at most, shared by the watchers of all kinds, because a
 * server counts the versions of all kinds with one counter. A change that does not say when it happened is dated by its neighbours of other kinds:
 * a ConfigMap deleted at once by the Pod that was created just before.
 *
 * Memory that all watchers write to without waiting for each other: a slot is one 64-bit integer, so a sample is there or not. A
 * sample of another cluster, or one that is overwritten while it is sought, is one among others, and the caller keeps to its own bounds.
 *
 * Most of the slots that a search passes are empty or hold other versions. Their lower halves tell, as ordinary numbers: with 64-bit integers, which
 * are objects to JavaScript, the searches took a third of the time of catching up.
 */
import type { ResourceVersion } from "../../resource-version.ts"

/** A version and the time at which the server assigned it, µs by the receiver's clock. */
interface VersionSample {
  readonly version: number
  readonly micros: number
}

/** Versions apart that are still neighbours: a busy cluster's of a few seconds. */
const slots = 4096
/** The bits of a slot that tell which version is in it; with those of its place, 34 bits of the version. */
const checkBits = 22
const checkMask = 2 ** checkBits - 1
/** Of the two halves of a slot, that with the lower bits. */
const lowerHalf = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1

export class VersionClock {
  readonly #slots: BigUint64Array
  readonly #halves: Int32Array

  /** `memory`: from {@link VersionClock.memory}, the same for all watchers. */
  constructor(memory: SharedArrayBuffer) {
    this.#slots = new BigUint64Array(memory)
    this.#halves = new Int32Array(memory)
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(slots * BigUint64Array.BYTES_PER_ELEMENT)
  }

  /** The server assigned `version` at this time. Versions that are no numbers are not kept. */
  note(version: ResourceVersion | string, micros: number): void {
    if (typeof version !== "number") return
    const milliseconds = BigInt(Math.floor(micros / 1000))
    Atomics.store(this.#slots, version % slots, (milliseconds << BigInt(checkBits)) | BigInt(checkOf(version)))
  }

  /** The nearest sample at or below the version, not below `lowest`. */
  before(version: number, lowest: number): VersionSample | undefined {
    for (let candidate = version; candidate >= Math.max(1, lowest, version - slots + 1); candidate--) {
      const sample = this.#at(candidate)
      if (sample !== undefined) return sample
    }
    return undefined
  }

  /** The nearest sample above the version, not above `highest`. */
  after(version: number, highest: number): VersionSample | undefined {
    for (let candidate = version + 1; candidate <= Math.min(highest, version + slots - 1); candidate++) {
      const sample = this.#at(candidate)
      if (sample !== undefined) return sample
    }
    return undefined
  }

  #at(version: number): VersionSample | undefined {
    const place = version % slots
    const check = checkOf(version)
    if ((Atomics.load(this.#halves, place * 2 + lowerHalf) & checkMask) !== check) return undefined
    const slot = Atomics.load(this.#slots, place)
    if (slot === 0n || Number(slot & BigInt(checkMask)) !== check) return undefined
    return { version, micros: Number(slot >> BigInt(checkBits)) * 1000 }
  }
}

/** Of the first versions 1, because 0 is what empty slots have. */
const checkOf = (version: number): number => (Math.floor(version / slots) + 1) & checkMask
