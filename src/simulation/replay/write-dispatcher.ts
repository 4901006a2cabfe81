/**
 * Sends the writes of a replay and counts what becomes of them: in the order that the objects need, in namespaces that exist.
 */
import type { Clock } from "../../clock.ts"
import type { TargetPlace } from "../objects/target-object.ts"
import { OutcomeCounts, Punctuality } from "../report/replay-report.ts"
import { notOursReason, type TargetCluster, type WriteOutcome } from "../target/target-cluster.ts"
import { type ChangesToWrites, keyOf, type PlannedWrite } from "./changes-to-writes.ts"
import type { ReplayWitness, WriteDue } from "./replay-options.ts"
import type { TraceChange } from "./trace-changes.ts"
import type { Upcoming } from "./upcoming-changes.ts"
import { type Backlog, WriteOrder } from "./write-order.ts"

/** Where writes go, and what is called when they settle. */
interface DispatcherOptions {
  readonly target: TargetCluster
  readonly planner: ChangesToWrites
  readonly clock: Pick<Clock, "monotonicMs">
  /** Writes at the same time. */
  readonly concurrency: number
  /** Once aborted, writes that have not started are skipped. */
  readonly signal: AbortSignal
  readonly onRefused: (gvk: string, message: string) => void
  /** A deletion of the trace is about to be sent. */
  readonly onDeleting: (place: TargetPlace) => void
  readonly onSettled: () => void
  /** Gets what no write should reject with: a defect. */
  readonly onDefect: (error: unknown) => void
  readonly witness: ReplayWitness | undefined
}

/**
 * Writes that may wait or run at the same time, and the characters of their bodies. More only hide that the target cannot keep up. Objects
 * have 3 kB usually and 1.5 MB at most: the sum keeps 256 large ones from taking hundreds of MB.
 */
const mostPending: Backlog = { writes: 256, length: 8_000_000 }
/** Once there are that many, the next ones wait until half of them have settled. */
const fewPending: Backlog = { writes: mostPending.writes / 2, length: mostPending.length / 2 }

const kindOfNamespaces = "v1.Namespace"

type Unsent = Extract<PlannedWrite, { tag: "skip" | "refuse" }>
type Write = Extract<PlannedWrite, { tag: "apply" | "delete" }>

/**
 * For one run. A refusal by the target is counted, and passed to `onRefused`; nothing rejects because of it. Wait for
 * `room` after each submission.
 */
export class WriteDispatcher {
  readonly seed = new OutcomeCounts()
  readonly events = new OutcomeCounts()
  readonly punctuality = new Punctuality()
  readonly #options: DispatcherOptions
  readonly #order: WriteOrder
  /** Namespaces that exist in the target, or are about to. */
  readonly #namespaces = new Set<string>()
  /** Namespaces in which nothing may be written, and why. */
  readonly #closed = new Map<string, WriteOutcome>()
  #lagMs = 0

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#order = new WriteOrder(options.concurrency, options.onDefect)
  }

  /** Writes without response. */
  get pending(): number {
    return this.#order.pending
  }

  /** Of the event that was responded to last: ms from due to the response. */
  get lagMs(): number {
    return this.#lagMs
  }

  idle(): Promise<void> {
    return this.#order.idle()
  }

  /** Resolves when another write may be submitted; `undefined`: at once. */
  room(): Promise<void> | undefined {
    return this.#order.isBelow(mostPending) ? undefined : this.#order.room(fewPending)
  }

  /** Kind by kind, in the order given: what a kind depends on exists before it is written. */
  async writeSeed(objects: ReadonlyArray<TraceChange>): Promise<void> {
    const { planner, signal, witness } = this.#options
    let gvk = ""
    let unplanned = 0
    const incomplete: Array<{ readonly write: Write; readonly time: number }> = []
    for (const change of objects) {
      if (signal.aborted) break
      if (change.gvk !== gvk) await this.idle()
      gvk = change.gvk
      const planned = planner.plan(change, true)
      witness?.passed(change, undefined)
      if (planned.tag === "skip" || planned.tag === "refuse") this.#unsent(change, planned, this.seed, undefined)
      else {
        const { time } = change
        this.#submit(
          planned,
          { time, due: undefined },
          (outcome) => this.#count(change.gvk, this.seed, outcome),
          () => incomplete.push({ write: planned, time }),
        )
        await this.room()
      }
      // Planning takes time too; sockets and Ctrl-C get a turn.
      if (++unplanned % 64 === 0) await new Promise(setImmediate)
    }
    await this.idle()
    // Their owners are of kinds that come later, and have UIDs now.
    for (const { write, time } of incomplete) this.#submit(write, { time, due: undefined }, () => undefined)
    await this.idle()
  }

  submit({ change, planned }: Upcoming, due: WriteDue): void {
    const { gvk, time, namespace, name } = change
    const { dueMs } = due
    this.#options.witness?.passed(change, dueMs)
    if (planned.tag === "skip" || planned.tag === "refuse") return this.#unsent(change, planned, this.events, due)
    this.#submit(planned, { time, due }, (outcome, sentMs) => {
      this.#count(gvk, this.events, outcome)
      if (sentMs === undefined || outcome.tag === "skipped") return
      this.#lagMs = this.#options.clock.monotonicMs() - dueMs
      this.punctuality.add({ time, gvk, namespace, name, dispatchErrorMs: sentMs - dueMs, lagMs: this.#lagMs })
    })
  }

  /** What cannot be written is part of the trace all the same; what is skipped is left out on purpose. */
  #unsent({ gvk, time, object }: TraceChange, planned: Unsent, counts: OutcomeCounts, due: WriteDue | undefined): void {
    const { witness, clock } = this.#options
    const outcome = outcomeOf(planned)
    this.#count(gvk, counts, outcome)
    if (planned.tag === "skip" || witness === undefined) return
    const verb = object === undefined ? "delete" : "apply"
    const number = witness.submitted({ place: planned.place, verb, time, due })
    witness.settled(number, { sentMs: undefined, settledMs: clock.monotonicMs(), outcome, body: undefined })
  }

  #count(gvk: string, counts: OutcomeCounts, outcome: WriteOutcome): void {
    counts.add(gvk, outcome)
    if (outcome.tag === "refused") this.#options.onRefused(gvk, outcome.message)
  }

  /** `sentMs`: when its request was sent; `undefined` if it was not. */
  #submit(
    planned: Write,
    when: { readonly time: number; readonly due: WriteDue | undefined },
    settled: (outcome: WriteOutcome, sentMs: number | undefined) => void,
    lacksOwners: () => void = () => undefined,
  ): void {
    const { clock, planner, onSettled, witness } = this.#options
    const { place } = planned
    const number = witness?.submitted({ place, verb: planned.tag, ...when })
    this.#ensureNamespace(place, planned.tag)
    const after = planned.tag === "apply" ? planned.after : [namespaceKeyOf(place)]
    const write = async (): Promise<void> => {
      let sentMs: number | undefined
      let body: string | undefined
      if (planned.tag === "apply" && !planned.isComplete()) lacksOwners()
      let outcome = await this.#write(planned, (written) => {
        sentMs ??= clock.monotonicMs()
        body = written
      })
      if (number !== undefined) witness?.settled(number, { sentMs, settledMs: clock.monotonicMs(), outcome, body })
      if (planned.tag === "apply") {
        if (outcome.tag === "accepted") planner.written(place, outcome.uid)
        else planner.notWritten(place)
        // A refused namespace may exist all the same, as ours or as another's.
        if (place.gvk === kindOfNamespaces)
          this.#admit(
            place.name,
            outcome.tag === "refused" ? await this.#options.target.createNamespace(place.name) : outcome,
          )
      }
      if (planned.tag === "apply" && planned.status !== undefined && outcome.tag === "accepted") {
        const ofStatus = await this.#options.target.applyStatus(place, planned.status)
        // An object whose status was asked for and refused is not what it was.
        if (ofStatus.tag === "refused") outcome = { ...ofStatus, message: `its status: ${ofStatus.message}` }
      }
      settled(outcome, sentMs)
      onSettled()
    }
    this.#order.submit(keyOf(place), after, write, planned.tag === "apply" ? planned.length : 0)
  }

  #write(planned: Write, sending: (body?: string) => void): Promise<WriteOutcome> {
    const { signal, target, planner, onDeleting } = this.#options
    const { place } = planned
    if (signal.aborted) return Promise.resolve({ tag: "skipped", reason: "the replay had ended" })
    const closed = this.#closed.get(place.namespace)
    if (closed !== undefined) return Promise.resolve(closed)
    if (planned.tag === "apply") {
      const body = planned.body()
      return target.apply(place, body, () => sending(body))
    }
    planner.deleting(place)
    onDeleting(place)
    return target.delete(place, sending)
  }

  /** Objects whose namespace is not in the trace need one too; one that was deleted and is used again is created again. */
  #ensureNamespace({ gvk, namespace, name }: TargetPlace, verb: "apply" | "delete"): void {
    if (gvk === kindOfNamespaces) {
      if (verb === "apply") this.#namespaces.add(name)
      else this.#namespaces.delete(name)
      return
    }
    if (namespace === "" || verb === "delete" || this.#namespaces.has(namespace)) return
    this.#namespaces.add(namespace)
    this.#order.submit(keyOf({ gvk: kindOfNamespaces, namespace: "", name: namespace }), [], async () => {
      this.#admit(namespace, await this.#options.target.createNamespace(namespace))
    })
  }

  /** Decides whether objects may be written into a namespace, before the first of them is. */
  #admit(namespace: string, outcome: WriteOutcome): void {
    if (outcome.tag === "accepted") return void this.#closed.delete(namespace)
    if (outcome.tag !== "refused") return
    this.#closed.set(namespace, { ...outcome, isSent: false })
    // Whatever kept it from being created may be over at its next use.
    if (outcome.reason !== notOursReason) this.#namespaces.delete(namespace)
  }
}

const outcomeOf = (planned: Unsent): WriteOutcome =>
  planned.tag === "skip"
    ? { tag: "skipped", reason: planned.reason }
    : { tag: "refused", code: 0, reason: planned.reason, message: planned.message, isSent: false }

const namespaceKeyOf = ({ namespace }: TargetPlace): string =>
  keyOf({ gvk: kindOfNamespaces, namespace: "", name: namespace })
