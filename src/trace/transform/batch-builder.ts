/** Gathers the objects of a trace in batches, in the order of the trace, and puts in what the program inserts. */
import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import type { ObjectEvent } from "../event.ts"
import { formatExactJson, isJsonObject } from "../json/exact-json.ts"
import { textIn } from "../json/members.ts"
import type { TraceItem } from "../trace-item.ts"
import { onlyValue } from "./expressions.ts"
import { momentsFrom, type Program, type Statement } from "./language/program.ts"
import type { BatchedObject, BatchJob, ObjectBatch } from "./object-batch.ts"
import { TransformFailed } from "./transform-failed.ts"

/** An object, and when it appears. */
interface Insertion {
  readonly event: ObjectEvent
  /** Where the program says when. */
  readonly at: number
  /** The command behind the insertion: those before it do not concern the object. */
  readonly from: number
}

/** When a trace begins and ends, µs since the Unix epoch. */
interface TraceSpan {
  readonly start: number
  /** Exclusive; absent: it is not known before the end. */
  readonly end?: number | undefined
}

/** In the order of time. @throws TransformFailed if a time is outside of the trace */
export const insertionsOf = (program: Program, { start, end }: TraceSpan): ReadonlyArray<Insertion> => {
  const momentOf = momentsFrom(start)
  const insertions: Insertion[] = []
  for (const [statement, command] of program.entries()) {
    if (command.type !== "insert") continue
    const time = momentOf(command.time)
    const insertion = { event: inserted(command, time), at: command.time.at, from: statement + 1 }
    if (time < start || (end !== undefined && time >= end)) throw outside(insertion, { start, end })
    insertions.push(insertion)
  }
  return insertions.sort((one, other) => one.event.time - other.event.time)
}

/** `start` absent: the trace has no moment. */
const outside = (
  { event: { time }, at }: Insertion,
  { start, end }: { readonly start: number | undefined; readonly end: number | undefined },
): TransformFailed => {
  const begins = start === undefined ? "has no moments" : `begins at ${textOf(start)}`
  const span = start === undefined || end === undefined ? begins : `is from ${textOf(start)} to ${textOf(end)}`
  return new TransformFailed({ at, subject: "", detail: `${textOf(time)} is outside of the trace, which ${span}` })
}

const textOf = (micros: number): string => new Date(micros / 1000).toISOString()

/** The program was checked: the object has a version, a kind and a name. */
const inserted = ({ object }: Extract<Statement, { type: "insert" }>, time: number): ObjectEvent => {
  const value = onlyValue(object, { object: {}, time, bindings: new Map() })
  const body = isJsonObject(value) ? value : {}
  const text = (name: string): string => textIn(body.metadata, name)
  return {
    ...{ type: "object", sequence: 0, time, gvk: `${body.apiVersion}.${body.kind}`, action: "applied" },
    ...{ uid: text("uid"), namespace: text("namespace"), name: text("name"), resourceVersion: text("resourceVersion") },
    object: Buffer.from(formatExactJson(body)),
  }
}

/** A stretch of the trace. */
export interface HeldBatch {
  readonly items: ReadonlyArray<HeldItem>
  /** The objects of its events, in their order; `undefined`: there are none. */
  readonly batch: ObjectBatch | undefined
}

interface HeldItem {
  readonly item: TraceItem
  /** By the program. */
  readonly isInserted: boolean
}

/** Bytes and items of a batch: large enough that its way to another thread costs little, small enough that a few are nothing. */
const batchBytes = 512 * 1024
const batchItems = 1024

export class BatchBuilder {
  readonly #program: Program
  readonly #samples: number
  #items: HeldItem[] = []
  #objects: BatchedObject[] = []
  #bytes = 0
  #job: BatchJob | undefined
  /** Those that are not yet in, first ones first. */
  #insertions: ReadonlyArray<Insertion> = []
  #isOfSimkube = false
  /** Of the last moment. */
  #lastBatch: number | undefined
  #end: number | undefined

  constructor(program: Program, samples: number) {
    this.#program = program
    this.#samples = samples
  }

  /** A batch if one is full. @throws TransformFailed if something is inserted outside of the trace */
  add(item: TraceItem): HeldBatch | undefined {
    switch (item.type) {
      case "header":
        this.#isOfSimkube = item.sanitised === "simkube"
        this.#end = item.window?.end
        if (item.window !== undefined) this.#begin(item.window.start)
        this.#pass({ ...item, kinds: this.#withInserted(item.kinds) })
        break
      case "config":
        this.#pass({ ...item, config: Uint8Array.from(item.config) })
        break
      case "batch":
        this.#begin(item.time)
        this.#lastBatch = item.time
        this.#insertBefore(item.time)
        this.#pass(item)
        while (this.#insertions[0]?.event.time === item.time) this.#insertNext()
        break
      case "event":
        this.#begin(item.event.time)
        if (!item.isSnapshot) this.#insertBefore(item.event.time + 1)
        if (item.event.type === "gap") this.#pass(item)
        else this.#put(item.event, { isSnapshot: item.isSnapshot, isInserted: false, from: 0 })
        break
      case "index":
      case "lifecycles":
        // They are behind all events.
        this.#insertRest()
        this.#pass(item)
        break
    }
    return this.#bytes >= batchBytes || this.#items.length >= batchItems ? this.#take() : undefined
  }

  /** The last one. @throws TransformFailed as {@link add} */
  end(): HeldBatch {
    this.#insertRest()
    return this.#take()
  }

  #begin(start: number): void {
    if (this.#job !== undefined) return
    this.#job = { program: this.#program, start, wantsHashes: this.#isOfSimkube, samples: this.#samples }
    this.#insertions = insertionsOf(this.#program, { start, end: this.#end })
  }

  #withInserted(kinds: ReadonlyArray<string>): ReadonlyArray<string> {
    // No kinds: the format does not name them.
    if (kinds.length === 0) return kinds
    const others = this.#program.flatMap((command) => (command.type === "insert" ? [inserted(command, 0).gvk] : []))
    return [...new Set([...kinds, ...others])]
  }

  #insertBefore(time: number): void {
    for (let next = this.#insertions[0]; next !== undefined && next.event.time < time; next = this.#insertions[0]) {
      if (this.#isOfSimkube) this.#pass({ type: "batch", time: next.event.time })
      this.#insertNext()
    }
  }

  /** SimKube's format does not say before its last moment when a trace ends; others without a window do not say it at all. */
  #insertRest(): void {
    if (this.#isOfSimkube) {
      const [first] = this.#job === undefined ? insertionsOf(this.#program, { start: 0 }) : this.#insertions
      if (first !== undefined) throw outside(first, { start: this.#job?.start, end: this.#lastBatch })
    }
    this.#insertBefore(Number.POSITIVE_INFINITY)
  }

  #insertNext(): void {
    const [next, ...rest] = this.#insertions
    this.#insertions = rest
    if (next === undefined) return
    this.#put(next.event, { isSnapshot: next.event.time === this.#job?.start, isInserted: true, from: next.from })
  }

  #pass(item: TraceItem): void {
    this.#items.push({ item, isInserted: false })
  }

  #put(
    event: ObjectEvent,
    { isSnapshot, isInserted, from }: { isSnapshot: boolean; isInserted: boolean; from: number },
  ): void {
    const hasObject = event.object.length > 0
    const object = Uint8Array.from(event.object)
    const json = hasObject ? object : identityOf(event)
    // States of the beginning are older, but SimKube's format does not say by how much; conditions see the same times in every format.
    const time = isSnapshot ? (this.#job?.start ?? event.time) : event.time
    const action = event.action === "applied" ? event.action : hasObject ? "deleted" : "vanished"
    this.#objects.push({ json, time, action, from })
    this.#bytes += json.length
    this.#items.push({ item: { type: "event", event: { ...event, object }, isSnapshot }, isInserted })
  }

  #take(): HeldBatch {
    const [items, objects, job] = [this.#items, this.#objects, this.#job]
    this.#items = []
    this.#objects = []
    this.#bytes = 0
    return { items, batch: job !== undefined && objects.length > 0 ? { job, objects } : undefined }
  }
}

/** All that is known of an object whose last state is not: that a program can decide about its deletion. */
const identityOf = ({ gvk, namespace, name, uid }: ObjectEvent): Uint8Array => {
  const parsed = parseGvk(gvk)
  const metadata = { ...(namespace !== "" && { namespace }), name, ...(uid !== "" && { uid }) }
  const identity = { ...(parsed && { apiVersion: apiVersionOf(parsed), kind: parsed.kind }), metadata }
  // No Buffer: a small one would be a view of Node's pool, which would be cloned with it.
  return new TextEncoder().encode(JSON.stringify(identity))
}
