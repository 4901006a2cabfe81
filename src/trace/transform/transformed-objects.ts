/**
 * What became of each object of a trace: which have any state left, and under which names. Deletions follow their objects, and so do SimKube's index and the
 * lives of pods. Memory: an entry for each object of the trace.
 */
import { namespacedName, type OwnedLifecycles } from "../formats/simkube/simkube-trace.ts"
import type { TraceItem } from "../trace-item.ts"

/** By what an object is known. */
export interface ObjectName {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
}

interface Became extends ObjectName {
  /** Of its last spec; absent: its last state is as it was. */
  readonly hash: bigint | undefined
  readonly isInserted: boolean
  isAlive: boolean
}

type IndexItem = Extract<TraceItem, { type: "index" }>

/** Two objects cannot have the same name at the same time. */
export class NameTaken extends Error {}

export class TransformedObjects {
  /** By the name in the trace that was read; inserted ones have keys of their own, because that trace may have the same name. */
  readonly #became = new Map<string, Became>()
  /** Names, likewise, of objects of which no state is left. */
  readonly #dropped = new Set<string>()
  /** The name in the trace that was read, by the name of an object that exists in the one that is written. */
  readonly #holders = new Map<string, string>()
  /** Names that have an entry in the index that is written: objects that exist one after the other may have become one name. */
  readonly #indexed = new Set<string>()

  /** A state of the object stays, as this. `isInserted`: by the program. @throws NameTaken */
  keep(
    before: ObjectName,
    after: ObjectName,
    { hash, isInserted }: { hash: bigint | undefined; isInserted: boolean },
  ): void {
    const from = isInserted ? `inserted ${keyOf(before)}` : keyOf(before)
    const to = keyOf(after)
    const earlier = this.#became.get(from)
    if (earlier?.isAlive === true && keyOf(earlier) !== to)
      throw new NameTaken(
        `it would change its name from ${keyOf(earlier)} to ${to}, which no object can: the condition must not change during its life`,
      )
    const holder = this.#holders.get(to)
    if (holder !== undefined && holder !== from)
      throw new NameTaken(`it would have the name of another object that exists then, ${to}`)
    this.#holders.set(to, from)
    this.#dropped.delete(from)
    const { gvk, namespace, name } = after
    this.#became.set(from, { gvk, namespace, name, hash, isInserted, isAlive: true })
  }

  /** A state of the object goes. */
  drop(before: ObjectName): void {
    const key = keyOf(before)
    if (!this.#became.has(key)) this.#dropped.add(key)
  }

  /** The object is deleted: what it was last; `unknown`: the trace has no state of it; `undefined`: it does not exist any more. */
  delete(before: ObjectName): ObjectName | "unknown" | undefined {
    const key = keyOf(before)
    const became = this.#became.get(key)
    if (became === undefined) return this.#dropped.has(key) ? undefined : "unknown"
    if (!became.isAlive) return undefined
    became.isAlive = false
    this.#holders.delete(keyOf(became))
    return became
  }

  /** The entry of SimKube's index for what became of the object; `undefined`: nothing is left of it, or its name has one. */
  indexed(item: IndexItem): IndexItem | undefined {
    const key = `${item.gvk} ${item.name}`
    const became = this.#became.get(key)
    if (became === undefined) return this.#dropped.has(key) ? undefined : this.#once(item)
    return this.#once(indexItemOf(became, item.hash))
  }

  /** Entries for what was inserted. */
  *unindexed(): Generator<IndexItem> {
    for (const became of this.#became.values()) {
      const item = became.isInserted ? this.#once(indexItemOf(became, 0n)) : undefined
      if (item !== undefined) yield item
    }
  }

  #once(item: IndexItem): IndexItem | undefined {
    const key = `${item.gvk} ${item.name}`
    if (this.#indexed.has(key)) return undefined
    this.#indexed.add(key)
    return item
  }

  /** Whose lives these are now; `undefined`: no one's. */
  owned(item: OwnedLifecycles): OwnedLifecycles | undefined {
    const key = `${item.gvk} ${item.owner}`
    const became = this.#became.get(key)
    if (became === undefined) return this.#dropped.has(key) ? undefined : item
    return { gvk: became.gvk, owner: namespacedName(became.namespace, became.name), pods: item.pods }
  }
}

const indexItemOf = ({ gvk, namespace, name, hash }: Became, unchanged: bigint): IndexItem => ({
  ...{ type: "index", gvk, name: namespacedName(namespace, name) },
  hash: hash ?? unchanged,
})

/** As in messages: neither a kind nor a name has a space. */
const keyOf = ({ gvk, namespace, name }: ObjectName): string => `${gvk} ${namespacedName(namespace, name)}`
