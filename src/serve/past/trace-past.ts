/**
 * The past in a trace. The trace is read once, from its beginning to its end; its objects are kept in a spool (a temporary file), and some 200 bytes for
 * each change in memory.
 */
import { hasStatus, parseGvk, parseResourceVersion } from "../../kube/offline.ts"
import {
  type Action,
  type GapEvent,
  type LateChanges,
  type ObjectEvent,
  REMOVED_FOR_REPLAY,
  REMOVED_FOR_SIMKUBE,
  type Spool,
  type TraceHeader,
  type TraceItem,
} from "../../trace/index.ts"
import { isOpenAt } from "./archive-past.ts"
import { NothingToServe } from "./nothing-to-serve.ts"
import { batchBytes, type Past, type PastChange, type PastKind, type Shortcomings, statusRemark } from "./past.ts"

/** A change whose object is in the spool. */
interface Row extends Omit<PastChange, "object" | "isStatusUnknown"> {
  readonly start: number
  readonly length: number
}

/** Changes between two turns of the event loop. */
const turnRows = 500

export class TracePast implements Past {
  readonly name: string
  readonly begin: number
  readonly end: number
  readonly kinds: ReadonlyArray<PastKind>
  readonly #rows: ReadonlyMap<string, ReadonlyArray<Row>>
  readonly #gaps: ReadonlyArray<GapEvent>
  readonly #late: ReadonlyArray<LateChanges>
  /** Kinds whose statuses are not those of the moment. */
  readonly #withoutStatus: ReadonlySet<string>
  readonly #spool: Spool

  /**
   * Reads all of the trace; closes the spool if that fails.
   *
   * Rejects with {@link NothingToServe}, SpoolError, and what reading throws.
   */
  static async read(name: string, chunks: AsyncIterable<Iterable<TraceItem>>, spool: () => Spool): Promise<TracePast> {
    const kept = spool()
    try {
      const collector = new TraceCollector(kept)
      for await (const items of chunks) for (const item of items) collector.add(item)
      return new TracePast(name, collector, kept)
    } catch (error) {
      kept[Symbol.dispose]()
      throw error
    }
  }

  private constructor(name: string, { header, rows, gaps, first, last }: TraceCollector, spool: Spool) {
    for (const ofKind of rows.values()) ofKind.sort((one, other) => one.time - other.time)
    const gvks = [...new Set([...(header?.kinds ?? []), ...rows.keys()])]
    if (gvks.length === 0) throw new NothingToServe({ source: name, reason: "the trace has no objects" })
    const { sanitised = "none", withoutStatus = [] } = header ?? {}
    this.#withoutStatus = new Set(sanitised === "none" ? withoutStatus : gvks.filter(canHaveStatus))
    this.name = name
    this.begin = header?.window?.start ?? first
    // The window ends before its end.
    this.end = Math.max(this.begin, header?.window === undefined ? last : header.window.end - 1)
    this.kinds = gvks.map((gvk) => ({
      gvk,
      since: this.begin,
      restarts: gaps
        .filter((gap) => gap.gvk === gvk && gap.reason === "cluster-restored")
        .map(({ fromTime, toTime }) => ({ from: fromTime, to: toTime })),
      remarks: remarksOn(gvk, header),
      // Of a trace for replays a remark says it.
      ...(sanitised === "none" && { statusRemark }),
    }))
    this.#rows = rows
    this.#gaps = gaps
    this.#late = header?.late ?? []
    this.#spool = spool
  }

  refresh(): Promise<void> {
    return Promise.resolve()
  }

  async *stateAt(gvk: string, time: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const alive = new Map<string, Row>()
    for (const row of this.#rows.get(gvk) ?? []) {
      if (row.time > time) break
      const key = `${row.namespace}/${row.name}`
      if (row.action === "applied") alive.set(key, row)
      // The deletion of an object may be reported after its successor's creation.
      else if (alive.get(key)?.uid === row.uid) alive.delete(key)
    }
    yield* this.#inTurns(gvk, alive.values())
  }

  async *changes(gvk: string, after: number, through: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const rows = this.#rows.get(gvk) ?? []
    yield* this.#inTurns(gvk, rows.slice(firstAfter(rows, after), firstAfter(rows, through)))
  }

  async shortcomings(gvk: string, time: number): Promise<Shortcomings> {
    return {
      gaps: this.#gaps.filter((gap) => gap.gvk === gvk && isOpenAt(gap, time)),
      late: this.#late.filter((late) => late.gvk === gvk && late.notBefore <= time && time <= late.notAfter),
    }
  }

  close(): void {
    this.#spool[Symbol.dispose]()
  }

  async *#inTurns(gvk: string, rows: Iterable<Row>): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const isStatusUnknown = this.#withoutStatus.has(gvk)
    let batch: PastChange[] = []
    let bytes = 0
    for (const { start, length, ...row } of rows) {
      batch.push({
        ...row,
        isStatusUnknown,
        object: length === 0 ? Buffer.alloc(0) : this.#spool.copyOf(start, length),
      })
      bytes += length
      if (bytes < batchBytes && batch.length < turnRows) continue
      yield batch
      await new Promise(setImmediate)
      batch = []
      bytes = 0
    }
    if (batch.length > 0) yield batch
  }
}

/** Takes the items of a trace one by one. */
class TraceCollector {
  header: TraceHeader | undefined
  readonly rows = new Map<string, Row[]>()
  readonly gaps: GapEvent[] = []
  first = Number.POSITIVE_INFINITY
  last = 0
  readonly #spool: Spool
  readonly #texts = new Map<string, string>()
  #number = 0n

  constructor(spool: Spool) {
    this.#spool = spool
  }

  add(item: TraceItem): void {
    if (item.type === "header") this.header = item
    else if (item.type === "batch") this.#see(item.time)
    else if (item.type === "event" && item.event.type === "gap") this.gaps.push(item.event)
    else if (item.type === "event" && item.event.type === "object") {
      if (!item.isSnapshot || this.first === Number.POSITIVE_INFINITY) this.#see(item.event.time)
      this.#keep(item.event)
    }
  }

  #see(time: number): void {
    this.first = Math.min(this.first, time)
    this.last = Math.max(this.last, time)
  }

  #keep(event: ObjectEvent): void {
    const { time, action, gvk, resourceVersion, object } = event
    // SimKube's objects may lack apiVersion and kind, and nothing else names their kind.
    if (gvk === "") return
    this.#number += 1n
    const version = parseResourceVersion(resourceVersion)
    const length = hasState(action, this.header) ? object.length : 0
    const [uid, namespace, name] = [event.uid, event.namespace, event.name].map((text) => this.#once(text))
    const row: Row = {
      ...{ time, action, uid: uid ?? "", namespace: namespace ?? "", name: name ?? "" },
      ...{ version: BigInt(version ?? this.#number), isNumbered: version === undefined },
      ...{ start: this.#spool.length, length },
    }
    if (length > 0) this.#spool.append(object)
    const known = this.rows.get(gvk)
    if (known === undefined) this.rows.set(gvk, [row])
    else known.push(row)
  }

  /** A decoder makes a new text for each event. */
  #once(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    this.#texts.set(text, text)
    return text
  }
}

/** SimKube's deletions have little more than a name. */
const hasState = (action: Action, header: TraceHeader | undefined): boolean =>
  action === "applied" || (action === "deleted" && (header?.sanitised ?? "none") === "none")

/** Index of the first row after a moment. */
const firstAfter = (rows: ReadonlyArray<Row>, time: number): number => {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows[middle]?.time ?? 0) > time) high = middle
    else low = middle + 1
  }
  return low
}

const canHaveStatus = (gvk: string): boolean => {
  const kind = parseGvk(gvk)
  return kind === undefined || hasStatus(kind)
}

const remarksOn = (gvk: string, header: TraceHeader | undefined): ReadonlyArray<string> => {
  const removed = { none: [], replay: REMOVED_FOR_REPLAY, simkube: REMOVED_FOR_SIMKUBE }[header?.sanitised ?? "none"]
  const lacking = (header?.incomplete ?? [])
    .filter((part) => part.gvk === gvk)
    .map(
      ({ namespace, state }) =>
        `the trace lacks some of it${namespace === undefined ? "" : ` in ${namespace}`}: ${state}`,
    )
  return [
    ...lacking,
    ...(removed.length === 0
      ? []
      : [`the trace was written for replays, without ${removed.slice(0, 3).join(", ")} and more`]),
  ]
}
