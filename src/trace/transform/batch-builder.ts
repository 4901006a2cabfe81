/** Gathers the objects of a trace in batches, in the order of the trace, and puts in what the program inserts. */
import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import type { ObjectEvent } from "../event.ts"
import { formatExactJson, isJsonObject, type JsonObject } from "../json/exact-json.ts"
import type { TraceItem } from "../trace-item.ts"
import { onlyValue } from "./expressions.ts"
import { momentsFrom, type Program } from "./language/program.ts"
import { APPLIED, type BatchJob, DELETED, joined, type ObjectBatch, VANISHED } from "./object-batch.ts"
import { TransformFailed } from "./transform-failed.ts"

/** An object, and when it appears. */
interface Insertion {
  readonly event: ObjectEvent
  /** The command behind the insertion: those before it do not concern the object. */
  readonly from: number
}

/** When a trace begins and ends, µs since the Unix epoch. */
interface TraceSpan {
  readonly start: number
  /** Exclusive; absent: it is not known before the end. */
  readonly end?: number | undefined
}

/** `start` absent: the trace has no moment. */
interface Span {
  readonly start: number | undefined
  readonly end: number | undefined
}

/** @throws TransformFailed if a time is outside of the trace */
export const insertionsOf = (program: Program, { start, end }: TraceSpan): ReadonlyArray<Insertion> => {
  const momentOf = momentsFrom(start)
  const insertions: Insertion[] = []
  for (const [statement, command] of program.entries()) {
    if (command.type !== "insert") continue
    const time = momentOf(command.time)
    if (time < start || (end !== undefined && time >= end)) throw outside(command.time.at, time, { start, end })
    const object = onlyValue(command.object, { object: {}, time, bindings: new Map() })
    if (isJsonObject(object)) insertions.push({ event: eventOf(object, time), from: statement + 1 })
  }
  return insertions.sort((one, other) => one.event.time - other.event.time)
}

const outside = (at: number, time: number, { start, end }: Span): TransformFailed => {
  const begins = start === undefined ? "has no moments" : `begins at ${textOf(start)}`
  const span = start === undefined || end === undefined ? begins : `is from ${textOf(start)} to ${textOf(end)}`
  return new TransformFailed({ at, subject: "", detail: `${textOf(time)} is outside of the trace, which ${span}` })
}

/** Why an insertion that is behind the end of the trace cannot be carried out. */
const insertionOutside = (program: Program, { event, from }: Insertion, span: Span): TransformFailed => {
  const command = program[from - 1]
  return outside(command?.type === "insert" ? command.time.at : 0, event.time, span)
}

/** The kinds of what is inserted. */
const insertedKinds = (program: Program): ReadonlyArray<string> =>
  // Their times are not needed, so any beginning will do.
  insertionsOf(
    program.map((command) => (command.type === "insert" ? { ...command, time: anyTime } : command)),
    {
      start: 0,
    },
  ).map(({ event }) => event.gvk)

const anyTime = { at: 0, text: "0", unit: "s" } as const

const textOf = (micros: number): string => new Date(micros / 1000).toISOString()

/** The program was checked: the object has a version, a kind and a name. */
const eventOf = (object: JsonObject, time: number): ObjectEvent => {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {}
  const text = (name: string): string => (typeof metadata[name] === "string" ? metadata[name] : "")
  return {
    ...{ type: "object", sequence: 0, time, gvk: `${object.apiVersion}.${object.kind}`, action: "applied" },
    ...{ uid: text("uid"), namespace: text("namespace"), name: text("name"), resourceVersion: text("resourceVersion") },
    object: Buffer.from(formatExactJson(object)),
  }
}

/** A stretch of the trace. */
export interface HeldBatch {
  readonly items: ReadonlyArray<HeldItem>
  /** `undefined`: none of the items has an object. */
  readonly batch: ObjectBatch | undefined
}

export interface HeldItem {
  readonly item: TraceItem
  /** Of its object in the batch; absent: it does not go through the program. */
  readonly index?: number
  /** Whether the program inserts it. */
  readonly isInserted?: boolean
}

/** Bytes and items of a batch: large enough that its way to another thread costs little, small enough that a few are nothing. */
const batchBytes = 512 * 1024
const batchItems = 1024

export class BatchBuilder {
  readonly #program: Program
  readonly #samples: number
  #items: HeldItem[] = []
  #objects: Uint8Array[] = []
  #times: number[] = []
  #happenings: number[] = []
  #from: number[] = []
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
        this.#items.push({ item: { ...item, kinds: this.#withInserted(item.kinds) } })
        break
      case "config":
        this.#items.push({ item: { ...item, config: Uint8Array.from(item.config) } })
        break
      case "batch":
        this.#begin(item.time)
        this.#lastBatch = item.time
        this.#insertBefore(item.time)
        this.#items.push({ item })
        while (this.#insertions[0]?.event.time === item.time) this.#insertNext()
        break
      case "event":
        this.#begin(item.event.time)
        if (!item.isSnapshot) this.#insertBefore(item.event.time + 1)
        if (item.event.type === "gap") this.#items.push({ item })
        else this.#put(item.event, { isSnapshot: item.isSnapshot, isInserted: false, from: 0 })
        break
      case "index":
      case "lifecycles":
        // They are behind all events.
        this.#insertRest()
        this.#items.push({ item })
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
    return kinds.length === 0 ? kinds : [...new Set([...kinds, ...insertedKinds(this.#program)])]
  }

  #insertBefore(time: number): void {
    for (let next = this.#insertions[0]; next !== undefined && next.event.time < time; next = this.#insertions[0]) {
      if (this.#isOfSimkube) this.#items.push({ item: { type: "batch", time: next.event.time } })
      this.#insertNext()
    }
  }

  /** SimKube's format does not say before its last moment when a trace ends; others without a window do not say it at all. */
  #insertRest(): void {
    if (this.#isOfSimkube) {
      const [first] = this.#job === undefined ? insertionsOf(this.#program, { start: 0 }) : this.#insertions
      if (first !== undefined)
        throw insertionOutside(this.#program, first, { start: this.#job?.start, end: this.#lastBatch })
    }
    this.#insertBefore(Number.POSITIVE_INFINITY)
  }

  #insertNext(): void {
    const [next, ...rest] = this.#insertions
    this.#insertions = rest
    if (next === undefined) return
    this.#put(next.event, { isSnapshot: next.event.time === this.#job?.start, isInserted: true, from: next.from })
  }

  #put(
    event: ObjectEvent,
    { isSnapshot, isInserted, from }: { isSnapshot: boolean; isInserted: boolean; from: number },
  ): void {
    const hasObject = event.object.length > 0
    const object = Uint8Array.from(event.object)
    const sent = hasObject ? object : identityOf(event)
    const index = this.#objects.push(sent) - 1
    // States of the beginning are older, but SimKube's format does not say by how much; conditions see the same times in every format.
    this.#times.push(isSnapshot ? (this.#job?.start ?? event.time) : event.time)
    this.#happenings.push(event.action === "applied" ? APPLIED : hasObject ? DELETED : VANISHED)
    this.#from.push(from)
    this.#bytes += sent.length
    this.#items.push({ item: { type: "event", event: { ...event, object }, isSnapshot }, index, isInserted })
  }

  #take(): HeldBatch {
    const held = { items: this.#items, batch: this.#batch() }
    this.#items = []
    this.#objects = []
    this.#times = []
    this.#happenings = []
    this.#from = []
    this.#bytes = 0
    return held
  }

  #batch(): ObjectBatch | undefined {
    if (this.#objects.length === 0 || this.#job === undefined) return undefined
    const ends = new Uint32Array(this.#objects.length)
    let end = 0
    for (const [index, { length }] of this.#objects.entries()) {
      end += length
      ends[index] = end
    }
    return {
      ...{ job: this.#job, objects: joined(this.#objects, end), ends, times: Float64Array.from(this.#times) },
      ...{ happenings: Uint8Array.from(this.#happenings), from: Uint32Array.from(this.#from) },
    }
  }
}

/** All that is known of an object whose last state is not: that a program can decide about its deletion. */
const identityOf = ({ gvk, namespace, name, uid }: ObjectEvent): Uint8Array => {
  const parsed = parseGvk(gvk)
  const metadata = { ...(namespace !== "" && { namespace }), name, ...(uid !== "" && { uid }) }
  return Buffer.from(
    JSON.stringify({ ...(parsed && { apiVersion: apiVersionOf(parsed), kind: parsed.kind }), metadata }),
  )
}
