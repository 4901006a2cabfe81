/**
 * Decides which events are old: those at or below the highest version delivered in this epoch (rule 6); an object's
 * own last version would resurrect deleted ones. For opaque versions it keeps a bounded set of those seen (rule 13):
 * watches that overlap by more than 16,384 events may repeat some, but never lose one.
 */
import { parseResourceVersion, type ResourceVersion } from "../../resource-version.ts"

/** Versions remembered for a server with opaque ones: an overlap lasts seconds, and 16,384 events are about 100 s of a busy kind. */
const remembered = 16_384

export class DeliveredVersions {
  #highest: ResourceVersion | undefined
  /** The last version of a server whose versions are not integers. */
  #opaque: string | undefined
  /** Stays true once set: one of these versions may look like an integer, and must not be compared with the others. */
  #isOpaque = false
  #seen = new Set<string>()

  /** The version to resume from, as the server wrote it. */
  get text(): string | undefined {
    return this.#opaque ?? (this.#highest === undefined ? undefined : String(this.#highest))
  }

  /**
   * Restarts from a version that is complete, of a list or of the store; `undefined`: from nothing. What was delivered above it is
   * forgotten and would be delivered again: after a list that is intended, and versions of another epoch mean nothing.
   */
  reset(text: string | undefined): void {
    this.#highest = undefined
    this.#opaque = undefined
    this.#seen.clear()
    if (text !== undefined) this.reach(text)
  }

  /** Everything up to `text` is delivered. Never moves back. */
  reach(text: string): void {
    const version = this.#isOpaque ? undefined : parseResourceVersion(text)
    if (version === undefined) {
      this.#isOpaque = true
      if (!this.#seen.has(text)) this.#opaque = text
    } else if (this.#highest === undefined || version > this.#highest) this.#highest = version
  }

  /** Whether everything up to `version` is delivered, as far as versions can be compared. */
  hasReached(version: ResourceVersion): boolean {
    return !this.#isOpaque && this.#highest !== undefined && this.#highest >= version
  }

  /** True exactly once for a version above all previous ones: the event is new. The hot path; no allocation. */
  takeNewer(version: ResourceVersion): boolean {
    if (this.#isOpaque) return this.takeUnseen(String(version))
    const highest = this.#highest
    if (highest !== undefined && version <= highest) return false
    this.#highest = version
    return true
  }

  /** As {@link takeNewer} for an opaque version: true unless it was seen recently. */
  takeUnseen(version: string): boolean {
    this.#isOpaque = true
    if (this.#seen.has(version)) return false
    this.#seen.add(version)
    if (this.#seen.size > remembered) {
      const [oldest = ""] = this.#seen
      this.#seen.delete(oldest)
    }
    this.#opaque = version
    return true
  }
}
