/** The segments of a stream in a directory, and when each of them was complete there. */
import { statSync } from "node:fs"
import { join } from "node:path"
import { openStore, readStorePlace } from "../../src/blob/index.ts"
import { readSegmentEnd, segmentKey } from "../../src/fleet/index.ts"
import { listVersion } from "../load/object-template.ts"

interface ArchivedSegment {
  /** It has everything up to this sequence number that those before it lack. */
  readonly through: number
  /** ms since the Unix epoch. */
  readonly createdMs: number
  readonly bytes: number
}

export class ArchivedStream {
  readonly segments: ArchivedSegment[] = []
  /** By kind, the greatest number of a change that is there. */
  readonly last = new Map<string, number>()
  readonly #directory: string
  #at = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Reads the ends of those that are new. */
  async readOn(): Promise<void> {
    const reading = readStorePlace(this.#directory)
    if (reading.tag === "refused") throw new Error(reading.reason)
    const store = await openStore(reading.place)
    try {
      for (;;) {
        const number = this.segments.length + 1
        const found = await readSegmentEnd(store, number)
        if (found === undefined) return
        const { facts, bytes } = found
        const createdMs = statSync(join(this.#directory, segmentKey(number))).mtimeMs
        this.segments.push({ through: facts.through, createdMs, bytes })
        for (const { gvk, lastVersion } of facts.kinds)
          this.last.set(gvk, Math.max(this.last.get(gvk) ?? 0, Number(lastVersion) - listVersion))
      }
    } catch (error) {
      // Its recorder has not begun it.
      if ((error as { code?: string }).code !== "no-bucket") throw error
    } finally {
      store.close()
    }
  }

  /** When an event was in the store, ms since the Unix epoch; NaN: it is not. Cheap for events that come nearly in order. */
  archivedMs(sequence: number): number {
    while (this.#at > 0 && (this.segments[this.#at - 1]?.through ?? 0) >= sequence) this.#at--
    while ((this.segments[this.#at]?.through ?? Number.POSITIVE_INFINITY) < sequence) this.#at++
    return this.segments[this.#at]?.createdMs ?? Number.NaN
  }
}
