/** The controllers that a cluster needs for its API server's own kinds, started and stopped together. */

import type { KubernetesObject } from "../../apiserver/kinds/kubernetes-object.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { EventExpiry } from "./event-expiry.ts"
import { GarbageCollector } from "./garbage-collector.ts"
import { NamespaceController } from "./namespaces.ts"
import { NodeTaints } from "./node-taints.ts"
import { QuotaStatusWriter } from "./quota-status.ts"
import { putSystemPriorities } from "./system-priorities.ts"

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
