/** Reads the BLOBs of mirrors out of a store in memory. */
import { type BlobSource, type FarBlob, StoreUnreadableError } from "../../../src/archive/index.ts"
import type { MemoryStore } from "../memory-store.ts"

export interface CountedSource extends BlobSource {
  /** What was waited for. */
  readonly reads: FarBlob[]
  /** What was expected, a list for each time. */
  readonly expected: ReadonlyArray<FarBlob>[]
}

export const memorySource = (store: MemoryStore): CountedSource => {
  const reads: FarBlob[] = []
  const expected: ReadonlyArray<FarBlob>[] = []
  return {
    reads,
    expected,
    read: (directory, blob) => {
      reads.push(blob)
      const object = store.objects.get(blob.key)
      if (object === undefined) throw new StoreUnreadableError({ directory, location: blob.key, reason: "it is gone" })
      return Uint8Array.from(object.subarray(blob.at, blob.at + blob.bytes))
    },
    expect: (_, blobs) => void expected.push(blobs),
  }
}
