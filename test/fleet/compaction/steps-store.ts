/** A store in memory with removal and times, of which a test may let one call fail, before or after it took effect, and see each call. */
import type { BlobStore, ByteRange, ListedObject, ReadBytes } from "../../../src/blob/index.ts"
import type { compactStream } from "../../../src/fleet/index.ts"
import { MemoryStore } from "../memory-store.ts"

export class StepsStore implements BlobStoreToCompact {
  readonly location = "memory:"
  readonly memory: MemoryStore
  /** ms; of what was put into the memory itself, there is none, and it counts as new. */
  readonly times = new Map<string, number>()
  /** What has been called: operation and key. */
  readonly calls: string[] = []
  /** The call that fails, from 1 on, and whether it takes effect; 0: none does. */
  failing: { readonly call: number; readonly isDone: boolean } = { call: 0, isDone: false }
  /** Awaited before each call. */
  beforeCall: (call: string) => Promise<void> = () => Promise.resolve()
  nowMs = 1_000_000

  constructor(memory = new MemoryStore()) {
    this.memory = memory
  }

  /** Another with the same objects. */
  copy(): StepsStore {
    const copy = new StepsStore()
    for (const [key, bytes] of this.memory.objects) copy.memory.objects.set(key, bytes)
    for (const [key, time] of this.times) copy.times.set(key, time)
    copy.nowMs = this.nowMs
    return copy
  }

  create(key: string, parts: ReadonlyArray<Uint8Array>): ReturnType<BlobStore["create"]> {
    return this.#step(`create ${key}`, async () => {
      const answer = await this.memory.create(key, parts)
      if (answer === "created") this.times.set(key, this.nowMs)
      return answer
    })
  }

  read(key: string, range?: ByteRange): Promise<ReadBytes | undefined> {
    return this.#step(`read ${key}`, () => this.memory.read(key, range))
  }

  remove(keys: ReadonlyArray<string>): Promise<void> {
    return this.#step(`remove ${keys.length}`, () => {
      for (const key of keys) this.memory.objects.delete(key)
      return Promise.resolve()
    })
  }

  async *list(prefix: string, options: { readonly after?: string } = {}): AsyncGenerator<ListedObject, void> {
    await this.#step(`list ${prefix}`, () => Promise.resolve())
    for await (const each of this.memory.list(prefix, options))
      yield { ...each, modifiedMs: this.times.get(each.key) ?? this.nowMs }
  }

  async #step<Answer>(call: string, work: () => Promise<Answer>): Promise<Answer> {
    await this.beforeCall(call)
    const isFailing = this.calls.push(call) === this.failing.call
    if (isFailing && !this.failing.isDone) throw new Error("killed")
    const answer = await work()
    if (isFailing) throw new Error("killed")
    return answer
  }
}

type BlobStoreToCompact = Parameters<typeof compactStream>[0]
