/** An object store in memory, whose objects a test may change, and whose reads it may see and let fail. */
import type { BlobStore, ByteRange, ListedObject, ReadBytes } from "../../src/blob/index.ts"
import type { CreatingStore } from "../../src/fleet/index.ts"

export class MemoryStore implements CreatingStore {
  readonly location = "memory:"
  readonly objects = new Map<string, Buffer>()
  /** What was read: keys, with the bytes that were asked for, as one number from the end. */
  readonly reads: string[] = []
  /** Bytes that were read. */
  readBytes = 0
  /** Called before each read. */
  beforeRead: (key: string) => void = () => undefined

  /** Whether a read does not find an object that is listed. */
  absent: (key: string) => boolean = () => false

  create(key: string, parts: ReadonlyArray<Uint8Array>): ReturnType<BlobStore["create"]> {
    if (this.objects.has(key)) return Promise.resolve("exists")
    this.objects.set(key, Buffer.concat(parts))
    return Promise.resolve("created")
  }

  read(key: string, range?: ByteRange): Promise<ReadBytes | undefined> {
    const asked = range === undefined ? "" : "last" in range ? ` ${range.last}` : ` ${range.from}-${range.until ?? ""}`
    this.reads.push(`${key}${asked}`)
    const object = this.absent(key) ? undefined : this.objects.get(key)
    try {
      this.beforeRead(key)
    } catch (error) {
      return Promise.reject(error)
    }
    if (object === undefined) return Promise.resolve(undefined)
    const bytes =
      range === undefined
        ? object
        : "last" in range
          ? object.subarray(Math.max(0, object.length - range.last))
          : object.subarray(range.from, range.until)
    this.readBytes += bytes.length
    return Promise.resolve({ bytes, size: object.length, version: "1" })
  }

  async *list(prefix: string, { after = "" } = {}): AsyncGenerator<ListedObject, void> {
    for (const key of [...this.objects.keys()].sort())
      if (key.startsWith(prefix) && key > after) yield { key, bytes: this.objects.get(key)?.length ?? 0, modifiedMs: 0 }
  }
}
