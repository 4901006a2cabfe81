/** An object store in memory, whose objects a test may change, and whose reads it may see and let fail. */
import type { BlobStore, ByteRange, ListedObject, ReadBytes } from "../../src/blob/index.ts"
import type { CreatingStore } from "../../src/fleet/index.ts"

export class MemoryStore implements CreatingStore {
  readonly location = "memory:"
  readonly objects = new Map<string, Buffer>()
  /** What was read: keys, with the bytes that were asked for from the end. */
  readonly reads: string[] = []
  /** Called before each read. */
  beforeRead: (key: string) => void = () => undefined

  create(key: string, parts: ReadonlyArray<Uint8Array>): ReturnType<BlobStore["create"]> {
    if (this.objects.has(key)) return Promise.resolve("exists")
    this.objects.set(key, Buffer.concat(parts))
    return Promise.resolve("created")
  }

  read(key: string, range?: ByteRange): Promise<ReadBytes | undefined> {
    const last = range !== undefined && "last" in range ? range.last : undefined
    this.reads.push(last === undefined ? key : `${key} ${last}`)
    const object = this.objects.get(key)
    try {
      this.beforeRead(key)
    } catch (error) {
      return Promise.reject(error)
    }
    if (object === undefined) return Promise.resolve(undefined)
    const bytes = last === undefined ? object : object.subarray(Math.max(0, object.length - last))
    return Promise.resolve({ bytes, size: object.length, version: "1" })
  }

  async *list(prefix: string, { after = "" } = {}): AsyncGenerator<ListedObject, void> {
    for (const key of [...this.objects.keys()].sort())
      if (key.startsWith(prefix) && key > after) yield { key, bytes: this.objects.get(key)?.length ?? 0, modifiedMs: 0 }
  }
}
