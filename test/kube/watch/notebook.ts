import type { LateStretch, ObservedObject, Timing } from "../../../src/kube/watch/liveness/observed-object.ts"
import type { Writes } from "../../../src/kube/watch/liveness/written-time.ts"

import type { KindState, ListReason } from "../../../src/kube/watch/protocol/protocol.ts"
import type { SessionListener, WatchSink } from "../../../src/kube/watch/session-options.ts"

/** One object as a session reported it. */
export interface Observed {
  readonly action: "applied" | "deleted"
  readonly fromList: boolean
  readonly version: string
  readonly uid: string
  readonly name: string
  readonly json: string
  readonly timing: Timing
  readonly stretch: LateStretch | undefined
  readonly writes: Writes
}

/** A report of a session that is not about an object, as `what detail`. */
export type Remark = `${
  | "list started"
  | "list completed"
  | "complete through"
  | "epoch"
  | "cluster"
  | "alarm"
  | "state"
  | "credentials"} ${string}`

/** Records everything that a session reports to its sink. Writable until a test changes that. */
export class Notebook implements WatchSink, SessionListener {
  readonly objects: Observed[] = []
  readonly remarks: Remark[] = []
  /** Both, in order: objects as `action name@version`. */
  readonly story: string[] = []
  /** Details of lists whose reason alone is not enough. */
  readonly listDetails: string[] = []
  isWritable = true
  /** Network reads so far, and objects since the last one. */
  reads = 0
  unfinished = 0
  /** Called after each object; may change {@link isWritable}. */
  onObserved: (() => void) | undefined

  observed(object: Readonly<ObservedObject>): void {
    const { action, fromList, version, bytes, start, end, scanned, timing, stretch, written, writes, fields } = object
    const text = (from: number, until: number): string => bytes.toString("utf8", from, until)
    const observed: Observed = {
      action: action === 2 ? "deleted" : "applied",
      fromList,
      version: String(version),
      uid: text(scanned.uidStart, scanned.uidEnd),
      name: text(scanned.nameStart, scanned.nameEnd),
      json: text(start, end),
      timing,
      stretch,
      writes: { written, writes, fields },
    }
    this.objects.push(observed)
    this.story.push(`${observed.action} ${observed.name}@${observed.version}`)
    this.unfinished++
    this.onObserved?.()
  }

  writesBefore({ bytes, scanned: { uidStart, uidEnd } }: Readonly<ObservedObject>): Writes | "new" {
    const uid = bytes.toString("utf8", uidStart, uidEnd)
    return this.objects.findLast((object) => object.uid === uid)?.writes ?? "new"
  }

  readDone(): void {
    this.reads++
    this.unfinished = 0
  }

  listStarted(reason: ListReason, detail: string | undefined): void {
    this.#note(`list started ${reason}`)
    if (detail !== undefined) this.listDetails.push(detail)
  }

  listCompleted(version: string): void {
    this.#note(`list completed ${version}`)
  }

  progressed(version: string): void {
    this.#note(`complete through ${version}`)
  }

  epochStarted(detail: string): void {
    this.#note(`epoch ${detail}`)
  }

  clusterIdentified(uid: string): void {
    this.#note(`cluster ${uid}`)
  }

  stateChanged(state: KindState, detail: string): void {
    this.#note(`state ${state}: ${detail}`)
  }

  alarm(detail: string): void {
    this.#note(`alarm ${detail}`)
  }

  unauthorized(): void {
    this.#note("credentials refused")
  }

  /** Objects that arrived as events, as `action name@version`. */
  get events(): ReadonlyArray<string> {
    return this.objects.flatMap(({ fromList, action, name, version }) =>
      fromList ? [] : [`${action} ${name}@${version}`],
    )
  }

  /** The details of all remarks of one sort. */
  of(what: string): ReadonlyArray<string> {
    return this.remarks.flatMap((remark) => (remark.startsWith(`${what} `) ? [remark.slice(what.length + 1)] : []))
  }

  /** The last reported state, without its detail. */
  get state(): string {
    return this.of("state").at(-1)?.split(":", 1)[0] ?? ""
  }

  /** Names of live objects, according to objects and complete lists, as a recorder would conclude. */
  get alive(): ReadonlyArray<string> {
    const alive = new Map<string, string>()
    let list: Set<string> | undefined
    const objects = this.objects.values()
    for (const line of this.story) {
      if (line.startsWith("list started")) list = new Set()
      else if (line.startsWith("list completed")) {
        for (const uid of alive.keys()) if (list?.has(uid) === false) alive.delete(uid)
        list = undefined
      } else if (/^(applied|deleted) /.test(line)) {
        const object = objects.next().value
        if (object === undefined) break
        list?.add(object.uid)
        if (object.action === "deleted") alive.delete(object.uid)
        else alive.set(object.uid, object.name)
      }
    }
    return [...alive.values()].sort()
  }

  #note(remark: Remark): void {
    this.remarks.push(remark)
    this.story.push(remark)
  }
}
