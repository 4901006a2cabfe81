/**
 * A trace as a recording: so that everything that can be asked of a recording can be asked of a file. Changes, gaps and late changes are those of the trace; the
 * kinds are known from the start of its window to its end. Lifecycles of pods are left out.
 *
 * Only traces with events have a history: SimKube's and kwok's lack UIDs, and most of the objects' content.
 */

import { statusNever } from "../kube/offline.ts"
import {
  formatExactJson,
  type GapEvent,
  metadataIn,
  type ObjectEvent,
  type TraceHeader,
  type TraceItem,
} from "../trace/index.ts"
import { APPLIED, DELETED, FrameEvent, MalformedFrameError, ObservationsBuilder, VANISHED } from "../wire/index.ts"
import { ArchiveWriter } from "./archive-writer.ts"

/** bytes of a frame, unless one object needs more. */
const frameBytes = 256 * 1024

/** Besides the object, what a frame needs for one event with its names. */
const eventMargin = 64 * 1024

const framesPerCommit = 16

const codes = { applied: APPLIED, deleted: DELETED, vanished: VANISHED } as const

/** A trace without a window, with another order of items, or with events that no recorder writes, has no history. */
export class NoHistoryInTrace extends Error {
  override readonly name = "NoHistoryInTrace"
}

/**
 * Writes the items into a new recording in an empty directory, and returns when all of them are there.
 *
 * @throws NoHistoryInTrace, an ArchiveError, and what the items throw
 */
export const recordTrace = async (directory: string, batches: AsyncIterable<Iterable<TraceItem>>): Promise<void> => {
  let writing: TraceWriting | undefined
  try {
    for await (const items of batches)
      for (const item of items) {
        if (item.type === "header") writing = new TraceWriting(directory, item)
        else if (item.type === "event") {
          if (writing === undefined) throw new NoHistoryInTrace("the trace has no header before its first event")
          if (item.event.type === "gap") writing.gap(item.event)
          else writing.event(item.event, item.isSnapshot)
        } else if (item.type === "batch")
          throw new NoHistoryInTrace(
            "only NDJSON traces have a history: this format has no UIDs, and only parts of the objects",
          )
      }
    if (writing === undefined) throw new NoHistoryInTrace("the trace has no header")
    writing.end()
  } catch (error) {
    // What no recorder writes: a kind that is none, a time before 1970.
    if (error instanceof MalformedFrameError)
      throw new NoHistoryInTrace(`the trace has what no cluster has: ${error.reason}`)
    throw error
  } finally {
    writing?.close()
  }
}

class TraceWriting {
  readonly #writer: ArchiveWriter
  readonly #kinds: ReadonlyArray<string>
  readonly #window: { readonly start: number; readonly end: number }
  /** By kind and UID the number of each object. */
  readonly #numbers = new Map<string, Map<string, number>>()
  readonly #event = new FrameEvent()
  #now: number
  #frame: ObservationsBuilder | undefined
  #gvk = ""
  #isOpaque = false
  #slab = Buffer.alloc(frameBytes)
  #frames = 0
  #isStarted = false

  constructor(directory: string, header: TraceHeader) {
    const { window, kinds, clusterUid, incomplete, sanitised = "none", withoutStatus = [] } = header
    if (window === undefined)
      throw new NoHistoryInTrace("only NDJSON traces have a history: this format does not say from when to when it is")
    this.#window = window
    this.#kinds = kinds
    this.#now = window.start
    this.#writer = ArchiveWriter.open(directory, { now: () => this.#now })
    if (clusterUid !== undefined) this.#writer.metadata.set("clusterUid", clusterUid)
    const unknown = (sanitised === "none" ? withoutStatus : kinds).map((gvk) => [gvk, statusNever] as const)
    this.#writer.metadata.set("recorder", JSON.stringify({ statusRecorded: Object.fromEntries(unknown) }))
    for (const { gvk, namespace = "", state } of incomplete)
      for (const [fromTime, toTime] of missingIn(state, window))
        this.#writer.recordGap(gvk, {
          ...{ namespace, fromVersion: "", toVersion: "", fromTime, toTime, reason: "stopped" },
          detail: `the trace is incomplete: ${state}`,
        })
  }

  event(event: ObjectEvent, isSnapshot: boolean): void {
    if (!isSnapshot) this.#start()
    const isOpaque = !/^\d{1,19}$/.test(event.resourceVersion)
    if (event.gvk !== this.#gvk || isOpaque !== this.#isOpaque) this.#flush()
    this.#gvk = event.gvk
    this.#isOpaque = isOpaque
    if (this.#append(event)) return
    this.#flush()
    if (this.#slab.length < event.object.length + eventMargin)
      this.#slab = Buffer.alloc(event.object.length + eventMargin)
    if (!this.#append(event)) throw new RangeError(`an event of ${event.gvk} does not fit into a frame`)
  }

  gap({ gvk, sequence: _, time: __, type: ___, ...gap }: GapEvent): void {
    this.#flush()
    this.#writer.recordGap(gvk, gap)
  }

  /** The kinds are known up to the end of the window. */
  end(): void {
    this.#start()
    this.#flush()
    this.#now = this.#window.end - 1
    this.#complete()
    this.#writer.commit()
  }

  close(): void {
    this.#writer.close()
  }

  /** After the state at the start, the kinds are known. */
  #start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#flush()
    this.#complete()
  }

  #complete(): void {
    for (const gvk of this.#kinds) {
      const frame = new ObservationsBuilder(gvk)
      frame.begin(this.#slab, 0)
      frame.completeThrough("1")
      this.#send(frame)
    }
  }

  #append(event: ObjectEvent): boolean {
    let frame = this.#frame
    if (frame === undefined) {
      frame = new ObservationsBuilder(event.gvk)
      frame.begin(this.#slab, 0)
      this.#frame = frame
    }
    let numbers = this.#numbers.get(event.gvk)
    if (numbers === undefined) {
      numbers = new Map()
      this.#numbers.set(event.gvk, numbers)
    }
    const { uid, namespace, name } = event
    const known = numbers.get(uid)
    const number = known ?? numbers.size + 1
    if (known === undefined) {
      if (this.#slab.length - frame.byteLength < event.object.length + eventMargin && frame.count > 0) return false
      if (!frame.addObject({ number, uid, namespace, name, ...ownersOf(event.object) })) return false
      numbers.set(uid, number)
    }
    Object.assign(this.#event, {
      ...{ action: codes[event.action], objectNumber: number, timeMicros: event.time },
      ...{ receivedMicros: event.received ?? 0, fingerprintLow: 0, fingerprintHigh: 0 },
      version: this.#isOpaque ? event.resourceVersion : BigInt(event.resourceVersion),
      ...{ bytes: event.object, start: 0, end: event.object.length },
    })
    return frame.append(this.#event)
  }

  #flush(): void {
    const frame = this.#frame
    this.#frame = undefined
    if (frame !== undefined && frame.count > 0) this.#send(frame)
  }

  #send(frame: ObservationsBuilder): void {
    this.#frames++
    this.#writer.append("trace", 1, this.#frames, Buffer.from(this.#slab.subarray(0, frame.finish())))
    if (this.#frames % framesPerCommit === 0) this.#writer.commit()
  }
}

/** As a watcher sends them; none of an object that cannot be read. */
const ownersOf = (object: Uint8Array): { readonly ownerReferences?: Uint8Array } => {
  const owners = metadataIn(object)?.ownerReferences
  return owners === undefined ? {} : { ownerReferences: Buffer.from(formatExactJson(owners)) }
}

/** What a trace lacks of a part in this state: all of its window, or what is outside of `recorded-START/END`. */
const missingIn = (
  state: string,
  { start, end }: { readonly start: number; readonly end: number },
): ReadonlyArray<readonly [from: number, to: number]> => {
  const [, first = "", last = ""] = /^recorded-(.+)\/(.+)$/.exec(state) ?? []
  const [since, until] = [Date.parse(first) * 1000, Date.parse(last) * 1000]
  if (Number.isNaN(since) || Number.isNaN(until)) return [[start, end]]
  const sides = [
    [start, since],
    [until, end],
  ] as const
  // The times in the state are whole milliseconds.
  return sides.filter(([from, to]) => to - from > 1000)
}
