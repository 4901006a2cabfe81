/** Segments without rows, made of what their footers say: for streams that are too long, or too wrong, for a recorder to write them in a test. */
import { hash } from "node:crypto"
import { crc32, zstdCompressSync } from "node:zlib"
import { fromTheBeginning } from "../../src/archive/index.ts"
import type { StoredSegment } from "../../src/fleet/index.ts"
import { compactedKey, segmentKey } from "../../src/fleet/segment/segment-reader.ts"
import { MemoryStore } from "./memory-store.ts"

type Facts = StoredSegment["facts"]

/** `sha256`: of the segment. */
export const madeSegment = (facts: Facts): { readonly bytes: Buffer; readonly sha256: string } => {
  const magic = Buffer.from("reelseg1")
  const footer = zstdCompressSync(JSON.stringify({ facts, pages: [], bodySha256: hash("sha256", magic) }))
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(footer.length, 0)
  tail.writeUInt32LE(crc32(footer), 4)
  return { bytes: Buffer.concat([magic, footer, tail, magic]), sha256: hash("sha256", footer) }
}

const identity = { format: 1, recordingFormat: 1, stream: "s1", clusterUid: "cluster-1" } as const

/** A stream that grows, an event with each segment. */
export class MadeStream {
  readonly store = new MemoryStore()
  /** Hashes of segments, by number. */
  readonly hashes = [""]
  readonly #positions: Array<Facts["position"]> = [fromTheBeginning]
  #manifests = 0
  readonly #compacted: Array<{ readonly from: number; readonly through: number; readonly sha256: string }> = []

  constructor() {
    const { stream, clusterUid } = identity
    this.store.objects.set("stream.json", Buffer.from(JSON.stringify({ format: 1, stream, clusterUid })))
  }

  /** The next segment. */
  add(more: Partial<Facts> = {}): void {
    const number = this.hashes.length
    const previous = this.hashes[number - 1] ?? ""
    const facts: Facts = {
      ...{ ...identity, number, epoch: 1, owner: "owner-1", previous, after: number - 1, through: number },
      ...{ isWhole: true, position: { ...fromTheBeginning, sequence: number }, fromTime: 1, toTime: number, kinds: [] },
      ...more,
    }
    const { bytes, sha256 } = madeSegment(facts)
    this.store.objects.set(segmentKey(number), bytes)
    this.hashes.push(sha256)
    this.#positions.push(facts.position)
  }

  /** One object replaces segments, which are removed, but the last of all. */
  compact(from: number, through: number): void {
    const position = this.#positions[through] ?? fromTheBeginning
    const { bytes, sha256 } = madeSegment({
      ...{ ...identity, number: through, epoch: 1, owner: "owner-1", previous: this.hashes[from - 1] ?? "" },
      ...{ after: from - 1, through, isWhole: true, position, fromTime: 1, toTime: through, kinds: [] },
      replaces: { from, sha256: this.hashes[through] ?? "" },
    })
    this.store.objects.set(compactedKey(from, through), bytes)
    this.#compacted.push({ from, through, sha256 })
    const manifest = { compactedThrough: through, compacted: this.#compacted }
    const key = `manifest/${String(++this.#manifests).padStart(12, "0")}.json`
    this.store.objects.set(key, Buffer.from(JSON.stringify(manifest)))
    for (let number = from; number <= through && number < this.hashes.length - 1; number++)
      this.store.objects.delete(segmentKey(number))
  }
}
