/**
 * Sends the writes of a replay and counts what becomes of them: in the order that the objects need, in namespaces that exist.
 */
import type { Clock } from "../../clock.ts"
import type { TargetPlace } from "../objects/target-object.ts"
import type { TargetCluster, WriteOutcome } from "../target/target-cluster.ts"
import { type ChangesToWrites, keyOf, type PlannedWrite } from "./changes-to-writes.ts"
import { OutcomeCounts, Punctuality } from "./replay-report.ts"
import type { Upcoming } from "./upcoming-changes.ts"
import { WriteOrder } from "./write-order.ts"

export interface DispatcherOptions {
  readonly target: TargetCluster
  readonly planner: ChangesToWrites
  readonly clock: Pick<Clock, "monotonicMs">
  /** Writes at the same time. */
  readonly concurrency: number
  /** Once aborted, writes that have not started are skipped. */
  readonly signal: AbortSignal
  readonly onRefused: (gvk: string, message: string) => void
  readonly onSettled: () => void
}

/** Writes that may wait or run at the same time. More only hide that the target cannot keep up. */
const mostPending = 256

const kindOfNamespaces = "v1.Namespace"

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
    this.#order = new WriteOrder(options.concurrency)
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
    return this.#order.pending < mostPending ? undefined : this.#order.room(mostPending / 2)
  }

  /** Kind by kind, in the order given: what a kind depends on exists before it is written. */
  async writeSeed(seed: ReadonlyArray<Upcoming>): Promise<void> {
    let gvk = ""
    for (const { change, planned } of seed) {
      if (this.#options.signal.aborted) break
      if (change.gvk !== gvk) await this.idle()
      gvk = change.gvk
      if (planned.tag === "skip") this.seed.add(gvk, { tag: "skipped", reason: planned.reason })
      else this.#submit(planned, (outcome) => this.seed.add(gvk, outcome))
      await this.room()
    }
    await this.idle()
  }

  /** `dueMs`: monotonic ms. */
  submit({ change, planned }: Upcoming, dueMs: number): void {
    const { gvk, time, namespace, name } = change
    if (planned.tag === "skip") return this.events.add(gvk, { tag: "skipped", reason: planned.reason })
    this.#submit(planned, (outcome, sentMs) => {
      this.events.add(gvk, outcome)
      if (outcome.tag === "skipped") return
      this.#lagMs = this.#options.clock.monotonicMs() - dueMs
      this.punctuality.add({ time, gvk, namespace, name, dispatchErrorMs: sentMs - dueMs, lagMs: this.#lagMs })
    })
  }

  #submit(
    planned: Exclude<PlannedWrite, { tag: "skip" }>,
    settled: (outcome: WriteOutcome, sentMs: number) => void,
  ): void {
    const { clock, planner, onRefused, onSettled } = this.#options
    const { place } = planned
    this.#ensureNamespace(place, planned.tag)
    const after = planned.tag === "apply" ? planned.after : [namespaceKeyOf(place)]
    this.#order.submit(keyOf(place), after, async () => {
      const sentMs = clock.monotonicMs()
      const outcome = await this.#write(planned)
      if (outcome.tag === "accepted" && planned.tag === "apply") planner.written(place, outcome.uid)
      if (place.gvk === kindOfNamespaces && planned.tag === "apply") {
        // A refused one may exist all the same, as ours or as another's.
        const { name } = place
        this.#admit(name, outcome.tag === "refused" ? await this.#options.target.createNamespace(name) : outcome)
      }
      settled(outcome, sentMs)
      if (outcome.tag === "refused") onRefused(place.gvk, outcome.message)
      onSettled()
    })
  }

  #write(planned: Exclude<PlannedWrite, { tag: "skip" }>): Promise<WriteOutcome> {
    const { signal, target } = this.#options
    const { place } = planned
    if (signal.aborted) return Promise.resolve({ tag: "skipped", reason: "the replay had ended" })
    const closed = this.#closed.get(place.namespace)
    if (closed !== undefined) return Promise.resolve(closed)
    return planned.tag === "apply" ? target.apply(place, planned.body()) : target.delete(place)
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
    if (outcome.tag === "accepted") this.#closed.delete(namespace)
    else if (outcome.tag === "refused") this.#closed.set(namespace, outcome)
  }
}

const namespaceKeyOf = ({ namespace }: TargetPlace): string =>
  keyOf({ gvk: kindOfNamespaces, namespace: "", name: namespace })
