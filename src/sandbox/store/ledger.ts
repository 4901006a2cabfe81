/**
 * All changes of the server, for tests to compare a recording with: every version of every object, in the order of
 * the resource versions. Complete from the server's start, whatever the history has dropped.
 *
 * Memory: with `objects` an entry keeps the bytes of its watch line (3 kB per event for a typical Deployment);
 * `versions` keeps only the identifiers, `none` nothing.
 */

import {
  type Change,
  type GvkName,
  gvkName,
  objectBytes,
  parseObject,
  type StoredObject,
} from "../../apiserver/index.ts"

export type LedgerMode = "objects" | "versions" | "none"

/** One version of one object. */
export class LedgerEntry {
  /** Counts the restarts that replaced the server's history; versions are comparable only within one epoch. */
  readonly epoch: number
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  readonly uid: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
  readonly action: "applied" | "deleted"
  /** The state is the result of a restart, not of a change: it was never sent as an event. */
  readonly restored: boolean
  readonly #change: Change | undefined

  constructor(epoch: number, gvk: string, change: Change, restored: boolean, keepObject: boolean) {
    this.epoch = epoch
    this.gvk = gvk
    this.uid = change.uid
    this.namespace = change.namespace
    this.name = change.name
    this.resourceVersion = String(change.revision)
    this.action = change.type === "DELETED" ? "deleted" : "applied"
    this.restored = restored
    this.#change = keepObject ? change : undefined
  }

  /** The object as it was sent, parsed anew at every read; `undefined` when the ledger keeps versions only. */
  get object(): StoredObject | undefined {
    return this.#change === undefined ? undefined : parseObject(this.#change)
  }

  /** The object's JSON exactly as it was sent; `undefined` when the ledger keeps versions only. */
  get json(): Buffer | undefined {
    return this.#change === undefined ? undefined : objectBytes(this.#change)
  }
}

export class Ledger {
  readonly #mode: LedgerMode
  readonly #entries: LedgerEntry[] = []
  readonly #byGvk = new Map<string, LedgerEntry[]>()
  #epoch = 0

  constructor(mode: LedgerMode) {
    this.#mode = mode
  }

  get size(): number {
    return this.#entries.length
  }

  /** The epoch that changes are recorded in now. */
  get epoch(): number {
    return this.#epoch
  }

  /** All kinds, in order. */
  entries(): IterableIterator<LedgerEntry> {
    return this.#entries.values()
  }

  /** One kind, in order. */
  of(gvk: GvkName): ReadonlyArray<LedgerEntry> {
    return this.#byGvk.get(gvkName(gvk)) ?? []
  }

  [Symbol.iterator](): IterableIterator<LedgerEntry> {
    return this.entries()
  }

  record(gvk: string, change: Change, restored = false): void {
    if (this.#mode === "none") return
    const entry = new LedgerEntry(this.#epoch, gvk, change, restored, this.#mode === "objects")
    this.#entries.push(entry)
    const ofKind = this.#byGvk.get(gvk)
    if (ofKind === undefined) this.#byGvk.set(gvk, [entry])
    else ofKind.push(entry)
  }

  /** Call it when the server's history has been replaced. */
  beginEpoch(): void {
    this.#epoch++
  }
}
