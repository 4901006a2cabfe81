/**
 * Taints of Nodes follow their conditions: the API server taints every new Node as not ready, and a Node that reports
 * it is ready must lose that taint before anything is scheduled there. Likewise pressure, an unavailable network and
 * cordons.
 *
 * Done as Kubernetes 1.34.4 does it for the effect NoSchedule, so a Node without any condition has no taint either.
 * Pods are not evicted: there is no NoExecute, and Nodes that stop reporting are not detected.
 */

import type { ChangeRecord } from "../../apiserver/index.ts"
import type { WorkQueue } from "../../host/index.ts"
import { child, items, text } from "../rules/fields.ts"
import type { Fields } from "../rules/kind-rules.ts"
import type { Collection } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import { timestamp } from "../store/stamps.ts"
import { trackReplacement } from "../writes/field-owners.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { deferredWork } from "./controller-write.ts"

const nodeKind = "v1.Node"
const manager = "kube-controller-manager"

/** `condition=status` to the taint it implies. */
const taintOf: ReadonlyMap<string, string> = new Map([
  ["Ready=False", "node.kubernetes.io/not-ready"],
  ["Ready=Unknown", "node.kubernetes.io/unreachable"],
  ["MemoryPressure=True", "node.kubernetes.io/memory-pressure"],
  ["DiskPressure=True", "node.kubernetes.io/disk-pressure"],
  ["PIDPressure=True", "node.kubernetes.io/pid-pressure"],
  ["NetworkUnavailable=True", "node.kubernetes.io/network-unavailable"],
])
const cordoned = "node.kubernetes.io/unschedulable"
const known: ReadonlySet<string> = new Set([...taintOf.values(), cordoned])
const effect = "NoSchedule"

export class NodeTaints {
  readonly #around: WriteSurroundings
  readonly #queue: WorkQueue

  constructor(around: WriteSurroundings) {
    this.#around = around
    this.#queue = deferredWork(around, (_own, name) => this.#settle(name))
    this.rebuild()
    around.store.observe((collection, record) => this.#observe(collection, record))
  }

  /** Call it after the store's history has been replaced. */
  rebuild(): void {
    for (const name of this.#around.store.collection(nodeKind).live.keys()) this.#queue.add(name)
  }

  close(): void {
    void this.#queue.close()
  }

  #observe({ name: kind }: Collection, { change }: ChangeRecord): void {
    if (kind === nodeKind && change.type !== "DELETED") this.#queue.add(change.name)
  }

  #settle(name: string): void {
    const { store, registry, clock } = this.#around
    const collection = store.collection(nodeKind)
    const existing = collection.live.get(name)
    if (existing === undefined) return
    const before = stateOf(existing.change)
    const wanted = taintsOf(before)
    const given = items(child(before, "spec"), "taints")
    const kept = given.filter((taint) => !isOurs(taint) || wanted.has(text(taint, "key")))
    const present = new Set(kept.filter(isOurs).map((taint) => text(taint, "key")))
    const timeAdded = timestamp(clock)
    const added = [...wanted].filter((key) => !present.has(key)).map((key) => ({ key, effect, timeAdded }))
    if (added.length === 0 && kept.length === given.length) return
    const taints = [...kept, ...added]
    const { taints: _old, ...spec } = child(before, "spec") ?? {}
    const after = {
      ...before,
      metadata: { ...before.metadata },
      spec: taints.length === 0 ? spec : { ...spec, taints },
    }
    const kind = this.#around.kindOf(registry.named(nodeKind))
    after.metadata.managedFields = trackReplacement(this.#around, kind, before, after, manager, "")
    store.write(collection, after, existing, before)
  }
}

const taintsOf = (node: Fields): ReadonlySet<string> => {
  const keys = new Set<string>()
  for (const condition of items(child(node, "status"), "conditions")) {
    const key = taintOf.get(`${text(condition, "type")}=${text(condition, "status")}`)
    if (key !== undefined) keys.add(key)
  }
  if (child(node, "spec")?.unschedulable === true) keys.add(cordoned)
  return keys
}

const isOurs = (taint: Fields): boolean => text(taint, "effect") === effect && known.has(text(taint, "key"))
