/**
 * The checkpoint of one module in its worker: rows of its watches are passed on once what they say is on disk.
 *
 * Guaranteed: rows are passed in the order in which they came. While the file cannot be written they wait here, and the module is to be paused
 * at the hub ({@link ModuleProgress.isWaiting}), so that what waits is bounded by what was under way. No other module waits. A deletion is
 * removed some time after the guest has returned from the call with it ({@link removeAfterMs}), so it comes again if the process ends before.
 */
import type { Clock, Timer } from "../../../clock.ts"
import { type ApiObject, JsonBytes, readMembers } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import { keyOf } from "../../cache/object-cache.ts"
import { Checkpoint } from "../../checkpoint/checkpoint.ts"
import { type KnownObject, type KnownObjects, StateComparison } from "../../checkpoint/known-objects.ts"
import type { WatchRequest } from "../../guest/abi-values.ts"
import type { HubChange } from "../../hub/hub-change.ts"

interface ModuleProgressOptions {
  readonly directory: string
  readonly module: string
  readonly clock: Pick<Clock, "after" | "wallMicros">
  /** Upper limit of the file in bytes. Default: the disk's. */
  readonly maximumBytes?: number | undefined
  /** Gets each row for the guest once it is durable. */
  readonly pass: (subscription: number, row: EnteredRow) => void
  /** The module waits for the disk no longer. */
  readonly changed: () => void
  /** Gets what an operator should see. */
  readonly say: (detail: string) => void
}

interface Held {
  readonly subscription: number
  readonly row: EnteredRow
}

/** ms between two attempts to write. */
const retryMs = 1000

/**
 * ms from the return of the guest to the removal: what it asked for in the call has left the process by then, which a removal at once would not
 * wait for. One commit for the removals of a second is also cheaper than one for each.
 */
export const removeAfterMs = 1000

export class ModuleProgress {
  readonly #options: ModuleProgressOptions
  readonly #checkpoint: Checkpoint
  /** Of the open watches, by name. */
  readonly #watches = new Map<string, WatchProgress>()
  #held: Held[] = []
  /** Removals for the deletions from whose calls the guest has returned since the last removal. */
  #returned: Array<() => void> = []
  #removal: Timer | undefined
  #problem: string | undefined
  #retry: Timer | undefined

  /** Throws `CheckpointUnavailable`. */
  constructor(options: ModuleProgressOptions) {
    const { directory, module, clock, maximumBytes, say } = options
    this.#options = options
    this.#checkpoint = new Checkpoint({ directory, name: `module-${module}`, clock, maximumBytes, say })
  }

  /** The file cannot be written. */
  get isWaiting(): boolean {
    return this.#problem !== undefined
  }

  /** For a watch that begins. Several of one selection have a row for each object each. */
  begin(request: WatchRequest): WatchProgress {
    const selection = selectionName(request)
    let name = selection
    for (let number = 2; this.#watches.has(name); number++) name = `${selection} ${number}`
    const watch = new WatchProgress(this.#checkpoint.selection(name))
    this.#watches.set(name, watch)
    return watch
  }

  /** The watch has ended. What it knew is compared with the state with which the next one begins. */
  end(watch: WatchProgress): void {
    for (const [name, open] of this.#watches) if (open === watch) this.#watches.delete(name)
  }

  /** Rows to pass on with the next {@link settle}. */
  hold(subscription: number, rows: ReadonlyArray<EnteredRow>): void {
    for (const row of rows) this.#held.push({ subscription, row })
  }

  /** Commits, and passes on what was held. */
  settle(): void {
    if (this.#retry !== undefined) return
    const { clock, pass, changed, say } = this.#options
    try {
      this.#checkpoint.commit()
    } catch (cause) {
      const problem = messageOf(cause)
      if (problem !== this.#problem) say(`it waits: ${problem}`)
      this.#problem = problem
      this.#retry = clock.after(retryMs, () => {
        this.#retry = undefined
        this.settle()
      })
      return
    }
    const hadProblem = this.isWaiting
    this.#problem = undefined
    for (const { subscription, row } of this.#held.splice(0)) pass(subscription, row)
    if (!hadProblem) return
    say("it continues: its checkpoint is written")
    changed()
  }

  /** The guest has returned from the call with a deletion, that of this generation. */
  returned(known: KnownObjects, uid: string, generation: number): void {
    this.#returned.push(() => known.forget(uid, generation))
    this.#removal ??= this.#options.clock.after(removeAfterMs, () => {
      this.#removal = undefined
      for (const forget of this.#returned.splice(0)) forget()
      this.settle()
    })
  }

  /** Frees the file. What is held is not passed on, and what was not removed stays: the next instance gets it. */
  close(): void {
    this.#retry?.cancel()
    this.#removal?.cancel()
    this.#held = []
    this.#checkpoint.close()
  }
}

/** A row for the guest, once it is durable. */
export interface EnteredRow extends HubChange {
  /** Of a deletion: the generation with which the object is to be forgotten. */
  readonly generation?: number
}

/**
 * One watch of a module that keeps a checkpoint: what the guest gets beside the rows of the hub, and what is entered of them.
 *
 * A watch from the beginning brings the present state by itself. A guest that lists by a request and watches from the list's version gets from
 * the hub only what follows; then the state comes in a second subscription, the census, of which the guest gets nothing but the deletions that
 * it shows.
 */
export class WatchProgress {
  readonly known: KnownObjects
  #comparison: StateComparison | undefined
  #hasBegun = false

  constructor(known: KnownObjects) {
    this.known = known
  }

  /** Enters a row of the watch; returns what the guest gets, in order. `isCensus`: the watch brings the present state. */
  row(change: HubChange, isCensus: boolean): ReadonlyArray<EnteredRow> {
    this.#begin()
    switch (change.type) {
      case "added":
      case "modified":
        return [...this.#present(change), change]
      case "deleted":
        this.#comparison?.ended(change.uid)
        return [{ ...change, generation: this.known.gone(change.uid) }]
      case "synced":
        return isCensus ? [...this.#completed(change), change] : [change]
      default:
        return [change]
    }
  }

  /** Enters a row of the census; returns the deletions that it shows. */
  ofCensus(change: HubChange): ReadonlyArray<EnteredRow> {
    this.#begin()
    if (change.type === "synced") return this.#completed(change)
    if (change.type !== "added" && change.type !== "modified") return []
    // The watch is further than the census.
    return this.#comparison?.hasEnded(change.uid) === true ? [] : this.#present(change)
  }

  /** With the first row, not when the guest asks for the watch: all rows are parsed, and the guest's time is limited. */
  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#comparison = new StateComparison(this.known.all())
  }

  #present(change: HubChange): ReadonlyArray<EnteredRow> {
    const former = this.#comparison?.seen(change.key, change.uid) ?? []
    this.known.know(objectOf(change.bytes))
    return this.#deletions(former, change.version)
  }

  #completed({ version }: HubChange): ReadonlyArray<EnteredRow> {
    const gone = this.#comparison?.completed() ?? []
    this.#comparison = undefined
    return this.#deletions(gone, version)
  }

  #deletions(gone: ReadonlyArray<KnownObject>, version: string): ReadonlyArray<EnteredRow> {
    return gone.map((object) => {
      const { uid } = object.metadata
      const generation = this.known.gone(uid)
      // A guest takes the version of the last item that it receives for its progress.
      const metadata = { ...object.metadata, resourceVersion: version }
      const bytes = Buffer.from(JSON.stringify({ ...object, metadata }))
      return { type: "deleted", key: keyOf(object), uid, version, bytes, isFinalStateUnknown: true, generation }
    })
  }
}

/** What the guest selects; equal for equal selections. */
const selectionName = (request: WatchRequest): string => {
  const { apiVersion, kind, namespace = "", labelSelector = "", fieldSelector = "" } = request
  return JSON.stringify([apiVersion, kind, namespace, labelSelector, fieldSelector])
}

/** Whether the hub begins the watch with the present state. */
export const isFromBeginning = ({ resourceVersion }: WatchRequest): boolean =>
  resourceVersion === "" || resourceVersion === "0"

const json = new JsonBytes()

/** Only what is kept is parsed: the metadata is a small part of most objects. */
const objectOf = (bytes: Buffer): ApiObject => {
  if (!json.load(bytes, bytes.length)) throw new Error("an object of the hub is no JSON object")
  const members = readMembers(json, 0)
  const text = (name: string): string => {
    const member = members.findLast(({ key }) => key === name)
    if (member === undefined) throw new Error(`an object of the hub has no ${name}`)
    return bytes.toString("utf8", member.valueStart, member.end)
  }
  return {
    apiVersion: String(JSON.parse(text("apiVersion"))),
    kind: String(JSON.parse(text("kind"))),
    metadata: JSON.parse(text("metadata")),
  }
}
