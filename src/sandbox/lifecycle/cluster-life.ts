/**
 * The controllers that a cluster needs for its API server's own kinds, started and stopped together; those of Events,
 * PriorityClasses and quotas are here.
 */

import { type Change, type ChangeRecord, type KubernetesObject, keyOf } from "../../apiserver/index.ts"
import type { Timer } from "../../clock.ts"
import { child, isSame } from "../rules/fields.ts"
import type { Collection } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import { timestamp } from "../store/stamps.ts"
import type { QuotaBook } from "../writes/quotas.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { deferredWork, writeAsController } from "./controller-write.ts"
import { GarbageCollector } from "./garbage-collector.ts"
import { NamespaceController } from "./namespaces.ts"
import { NodeTaints } from "./node-taints.ts"

// Events expire one hour after their last change, the real server's default.

/** ms; the real server's `--event-ttl`. */
const eventLife = 3_600_000

const eventKind = "v1.Event"

class EventExpiry {
  readonly #around: WriteSurroundings
  /** In the order in which they expire, since all have the same lifetime. */
  #waiting: Array<{ readonly due: number; readonly change: Change }> = []
  #timer: Timer | undefined

  constructor(around: WriteSurroundings) {
    this.#around = around
    around.store.observe((collection, record) => this.#observe(collection, record))
  }

  close(): void {
    this.#timer?.cancel()
    this.#waiting = []
  }

  #observe({ name }: Collection, { change }: ChangeRecord): void {
    if (name !== eventKind || change.type === "DELETED") return
    this.#waiting.push({ due: this.#around.clock.monotonicMs() + eventLife, change })
    this.#timer ??= this.#around.clock.after(eventLife, () => this.#expire())
  }

  #expire(): void {
    const { clock, store } = this.#around
    const now = clock.monotonicMs()
    const collection = store.collection(eventKind)
    const alive = this.#waiting.findIndex(({ due }) => due > now)
    const expired = this.#waiting.splice(0, alive < 0 ? this.#waiting.length : alive)
    for (const { change } of expired) {
      const live = collection.live.get(keyOf(change.namespace, change.name))
      // An Event that was changed meanwhile has a later entry.
      if (live?.change === change) store.remove(collection, live)
    }
    const next = this.#waiting[0]
    this.#timer = next === undefined ? undefined : clock.after(next.due - now, () => this.#expire())
  }
}

// The two PriorityClasses that every API server creates at its start if they are missing.

const priorityClass = "scheduling.k8s.io/v1.PriorityClass"

const classes: ReadonlyArray<readonly [name: string, value: number, description: string]> = [
  [
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ],
  [
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ],
]

/** Creates the missing ones, as the API server does. Does nothing if the kind is not served. */
const putSystemPriorities = ({ store, registry, clock, random }: WriteSurroundings): void => {
  if (!registry.has(priorityClass)) return
  const collection = store.collection(priorityClass)
  const time = timestamp(clock)
  for (const [name, value, description] of classes) {
    if (collection.live.has(name)) continue
    const owned = {
      manager: "apiserver",
      operation: "Update",
      apiVersion: "scheduling.k8s.io/v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:description": {}, "f:preemptionPolicy": {}, "f:value": {} },
    }
    store.write(collection, {
      metadata: { name, uid: random.uid(), generation: 1, creationTimestamp: time, managedFields: [owned] },
      value,
      description,
      preemptionPolicy: "PreemptLowerPriority",
    })
  }
}

// Writes the status of ResourceQuotas: what they limit, and what of it is used.

const quotaKind = "v1.ResourceQuota"

/** Writes the status of a quota whenever its book says that it may have changed. */
class QuotaStatusWriter {
  readonly #queue: ReturnType<typeof deferredWork>

  constructor(around: WriteSurroundings, book: QuotaBook) {
    const queue = deferredWork(around, (own, key) => write(own, book, key))
    this.#queue = queue
    book.onChange((key) => queue.add(key))
  }

  close(): void {
    void this.#queue.close()
  }
}

const write = (around: WriteSurroundings, book: QuotaBook, key: string): void => {
  const collection = around.store.collection(quotaKind)
  const live = collection.live.get(key)
  const status = live && book.statusOf(live.change.namespace, live.change.name)
  if (live === undefined || status === undefined) return
  const before = stateOf(live.change)
  const { hard, used } = status
  if (isSame(child(before, "status"), { hard, used })) return
  const after = { ...before, metadata: { ...before.metadata }, status: { hard, used } }
  writeAsController(around, { collection, live, before, after, subresource: "status" })
}

const namespaceKind = "v1.Namespace"

/** The namespaces that a real cluster has from its start, besides the two that every sandbox has. */
const systemNamespaces = ["kube-node-lease", "kube-public"]

const namespace = (name: string): KubernetesObject => ({
  metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
  spec: { finalizers: ["kubernetes"] },
  status: { phase: "Active" },
})

export class ClusterLife {
  readonly #namespaces: NamespaceController
  readonly #garbage: GarbageCollector
  readonly #events: EventExpiry
  readonly #taints: NodeTaints
  readonly #quotas: QuotaStatusWriter | undefined

  /** `certificate` is the PEM in every namespace's `kube-root-ca.crt`. */
  constructor(around: WriteSurroundings, certificate: string) {
    for (const name of systemNamespaces)
      if (around.store.get(namespaceKind, "", name) === undefined) around.store.put(namespaceKind, namespace(name))
    putSystemPriorities(around)
    this.#namespaces = new NamespaceController(around, certificate)
    this.#garbage = new GarbageCollector(around)
    this.#events = new EventExpiry(around)
    this.#taints = new NodeTaints(around)
    if (around.quotas !== undefined) this.#quotas = new QuotaStatusWriter(around, around.quotas)
  }

  /** Call it after the store's history has been replaced. */
  rebuild(): void {
    this.#garbage.rebuild()
    this.#taints.rebuild()
  }

  close(): void {
    this.#namespaces.close()
    this.#garbage.close()
    this.#events.close()
    this.#taints.close()
    this.#quotas?.close()
  }
}
