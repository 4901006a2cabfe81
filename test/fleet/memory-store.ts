/** An object store in memory, for what reads and creates segments: creating is atomic, and every byte can be changed behind a reader's back. */
import type { CreatingStore } from "../../src/fleet/index.ts"

export class MemoryStore implements CreatingStore {
  readonly location = "memory:"
  readonly objects = new Map<string, Buffer>()
  /** Bytes that were read, by key. */
  readonly bytesRead = new Map<string, number>()

  create(key: string, parts: ReadonlyArray<Uint8Array>): Promise<"created" | "exists"> {
    if (this.objects.has(key)) return Promise.resolve("exists")
    this.objects.set(key, Buffer.concat(parts))
    return Promise.resolve("created")
  }

  read(
    key: string,
    range?: { readonly last: number },
  ): Promise<{ readonly bytes: Uint8Array; readonly size: number } | undefined> {
    const object = this.objects.get(key)
    if (object === undefined) return Promise.resolve(undefined)
    const bytes = range === undefined ? object : object.subarray(Math.max(0, object.length - range.last))
    this.bytesRead.set(key, (this.bytesRead.get(key) ?? 0) + bytes.length)
    return Promise.resolve({ bytes, size: object.length })
  }

  async *list(prefix: string, { after = "" } = {}): AsyncGenerator<{ readonly key: string }, void> {
    for (const key of [...this.objects.keys()].sort()) if (key.startsWith(prefix) && key > after) yield { key }
  }
}
