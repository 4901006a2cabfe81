/** Puts what came out of the program back into the trace: names, deletions, moments, index and lives follow the objects. */

import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import type { ObjectEvent } from "../event.ts"
import { simkubeHash } from "../formats/simkube/hash/simkube-hash.ts"
import { namespacedName, type OwnedLifecycles } from "../formats/simkube/simkube-trace.ts"
import { exactJsonIn, formatExactJson, isJsonObject } from "../json/exact-json.ts"
import { objectIn, withMember, withoutMember } from "../json/members.ts"
import type { TraceItem } from "../trace-item.ts"
import type { HeldBatch } from "./batch-builder.ts"
import type { Program } from "./language/program.ts"
import type { Outcome, TransformedBatch } from "./object-batch.ts"
import { TransformFailed } from "./transform-failed.ts"
import type { TransformCounts } from "./transformed-items.ts"

/** By what an object is known. */
interface ObjectName {
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

/**
 * What became of each object of a trace: which have any state left, and under which names. Deletions follow their
 * objects, and so do SimKube's index and the lives of pods. Memory: an entry for each object of the trace.
 */
class TransformedObjects {
  /** By the name in the trace that was read; inserted ones have keys of their own, because that trace may have the same name. */
  readonly #became = new Map<string, Became>()
  /** Names, likewise, of objects of which no state is left. */
  readonly #dropped = new Set<string>()
  /** The name in the trace that was read, by the name of an object that exists in the one that is written. */
  readonly #holders = new Map<string, string>()
  /** Names that have an entry in the index that is written: objects that exist one after the other may have become one name. */
  readonly #indexed = new Set<string>()

  /** A state of the object stays, as this. `isInserted`: by the program. Returns why it cannot: two objects cannot have the same name at the same time. */
  keep(
    before: ObjectName,
    after: ObjectName,
    { hash, isInserted }: Pick<Became, "hash" | "isInserted">,
  ): string | undefined {
    const from = isInserted ? `inserted ${keyOf(before)}` : keyOf(before)
    const to = keyOf(after)
    const earlier = this.#became.get(from)
    if (earlier?.isAlive === true && keyOf(earlier) !== to)
      return `it would change its name from ${keyOf(earlier)} to ${to}, which no object can: the condition must not change during its life`
    const holder = this.#holders.get(to)
    if (holder !== undefined && holder !== from)
      return `it would have the name of another object that exists then, ${to}`
    this.#holders.set(to, from)
    this.#dropped.delete(from)
    const { gvk, namespace, name } = after
    this.#became.set(from, { gvk, namespace, name, hash, isInserted, isAlive: true })
    return undefined
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

  /** The lives, under the owner that they have now; `undefined`: the owner was dropped. */
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

// The moments of a SimKube trace. Those at which the program leaves nothing to happen go, but for the first and the last: a replay begins and ends with them.
// Moments at which nothing happened before stay, because they are there for their time.

type Batch = Extract<TraceItem, { type: "batch" }>

class KeptBatches {
  #held: Batch | undefined
  #wasEmptied = false
  #hasFirst = false

  /** A moment begins; returns what the one before is by then. */
  begin(batch: Batch): ReadonlyArray<TraceItem> {
    const before = this.#wasEmptied && this.#hasFirst ? [] : this.release()
    this.#held = batch
    this.#wasEmptied = false
    return before
  }

  /** Something does not happen any more at this moment. */
  drop(): void {
    this.#wasEmptied = true
  }

  /** Something happens at this moment, or no further one begins. */
  release(): ReadonlyArray<TraceItem> {
    const held = this.#held
    this.#held = undefined
    this.#hasFirst ||= held !== undefined
    return held === undefined ? [] : [held]
  }
}

export class TransformedEvents {
  readonly #counts: TransformCounts
  readonly #samples: number
  readonly #objects = new TransformedObjects()
  readonly #batches = new KeptBatches()
  /** Numbers are unique: with insertions, all events get new ones. */
  readonly #isRenumbered: boolean
  #sequence = 0
  #isOfSimkube = false
  #isIndexed = false

  constructor(program: Program, samples: number, counts: TransformCounts) {
    this.#counts = counts
    this.#samples = samples
    this.#isRenumbered = program.some(({ type }) => type === "insert")
  }

  /** The items of a stretch of the trace. @throws TransformFailed */
  *of({ items }: HeldBatch, batch: TransformedBatch | undefined): Generator<TraceItem> {
    if (batch !== undefined) this.#count(batch)
    let next = 0
    for (const { item, isInserted } of items) {
      const { event, isSnapshot = false } = item.type === "event" ? item : {}
      const outcome = event?.type === "object" ? batch?.outcomes[next++] : undefined
      if (event?.type !== "object" || outcome === undefined) {
        yield* this.#passed(item)
        continue
      }
      const after = this.#transformed(event, outcome, isInserted)
      if (after === undefined) this.#batches.drop()
      else {
        yield* this.#batches.release()
        yield { type: "event", event: this.#numbered(after), isSnapshot }
      }
    }
  }

  /** What follows the last event. */
  *end(): Generator<TraceItem> {
    yield* this.#batches.release()
    yield* this.#unindexed()
  }

  /** What the program leaves of the event. */
  #transformed(event: ObjectEvent, outcome: Outcome, isInserted: boolean): ObjectEvent | undefined {
    if (outcome.tag === "failed") throw failed(event, outcome)
    const after = this.#after(event, outcome, isInserted)
    if (isInserted) this.#counts.inserted++
    else {
      this.#counts.objects++
      if (after === undefined) this.#counts.dropped++
      else if (outcome.tag === "changed" && event.object.length > 0) this.#counts.changed++
    }
    return after
  }

  #after(
    event: ObjectEvent,
    outcome: Exclude<Outcome, { tag: "failed" }>,
    isInserted: boolean,
  ): ObjectEvent | undefined {
    if (outcome.tag === "dropped") {
      // A deletion that goes leaves the object.
      if (event.action === "applied") this.#objects.drop(event)
      return undefined
    }
    const changed = outcome.tag === "changed" ? outcome : undefined
    const { gvk = event.gvk, namespace, name } = changed ?? event
    const object = changed !== undefined && event.object.length > 0 ? changed.json : event.object
    const after = { ...event, gvk, namespace, name, uid: changed?.uid || event.uid, object }
    if (event.action === "applied") {
      const hash = changed?.hash ?? (isInserted && this.#isOfSimkube ? hashOf(object) : undefined)
      const fault = this.#objects.keep(event, after, { hash, isInserted })
      if (fault !== undefined) throw failed(event, { at: undefined, detail: fault })
      return after
    }
    const last = this.#objects.delete(event)
    // A trace may begin after the last state of an object that is deleted in it.
    if (last === "unknown") return after
    if (last === undefined) return undefined
    const named = { ...after, gvk: last.gvk, namespace: last.namespace, name: last.name }
    const isRenamed = last.gvk !== gvk || last.namespace !== namespace || last.name !== name
    return isRenamed && object.length > 0 ? { ...named, object: renamed(object, last) } : named
  }

  *#passed(item: TraceItem): Generator<TraceItem> {
    switch (item.type) {
      case "header":
        this.#isOfSimkube = item.sanitised === "simkube"
        return yield item
      case "config":
        return yield item
      case "batch":
        return yield* this.#batches.begin(item)
      case "event":
        yield* this.#batches.release()
        return yield item.event.type === "gap" ? { ...item, event: this.#numbered(item.event) } : item
      case "index": {
        yield* this.#batches.release()
        const indexed = this.#objects.indexed(item)
        if (indexed !== undefined) yield indexed
        return
      }
      case "lifecycles": {
        yield* this.end()
        const owned = this.#objects.owned(item)
        if (owned !== undefined) yield { type: "lifecycles", ...owned }
        return
      }
    }
  }

  /** SimKube's index has every object of the trace. */
  *#unindexed(): Generator<TraceItem> {
    if (!this.#isIndexed && this.#isOfSimkube) yield* this.#objects.unindexed()
    this.#isIndexed = true
  }

  #numbered<Event extends { readonly sequence: number }>(event: Event): Event {
    return this.#isRenumbered ? { ...event, sequence: ++this.#sequence } : event
  }

  #count({ counts, samples }: TransformedBatch): void {
    for (const [statement, count] of counts.entries()) {
      const sum = this.#counts.statements[statement]
      if (sum === undefined) continue
      sum.kept += count.kept
      sum.changed += count.changed
      sum.deleted += count.deleted
      sum.lacking += count.lacking
      sum.placeless += count.placeless
    }
    for (const sample of samples) {
      const known = this.#counts.samples.filter(({ statement }) => statement === sample.statement)
      if (known.length < this.#samples) this.#counts.samples.push(sample)
    }
  }
}

const failed = (
  { gvk, namespace, name, time }: ObjectEvent,
  { at, detail }: { readonly at: number | undefined; readonly detail: string },
): TransformFailed => {
  const subject = `${gvk} ${namespace === "" ? name : `${namespace}/${name}`} at ${new Date(time / 1000).toISOString()}`
  return new TransformFailed({ ...(at !== undefined && { at }), subject, detail })
}

/** The same object under another name: SimKube's format has a deletion's name in its object alone. */
const renamed = (object: Uint8Array, { gvk, namespace, name }: ObjectName): Uint8Array => {
  const body = exactJsonIn(object)
  const kind = parseGvk(gvk)
  if (!isJsonObject(body)) return object
  const metadata = objectIn(body, "metadata") ?? {}
  const named = withMember(
    namespace === "" ? withoutMember(metadata, "namespace") : withMember(metadata, "namespace", namespace),
    "name",
    name,
  )
  const whole = withMember(body, "metadata", named)
  return Buffer.from(
    formatExactJson(
      kind === undefined ? whole : withMember(withMember(whole, "apiVersion", apiVersionOf(kind)), "kind", kind.kind),
    ),
  )
}

const hashOf = (object: Uint8Array): bigint | undefined => {
  const parsed = exactJsonIn(object)
  return isJsonObject(parsed) ? simkubeHash(parsed.spec) : undefined
}
