/**
 * The life of Namespaces: each gets its default ServiceAccount and the ConfigMap with the cluster's certificate the moment
 * it is there; one that is being deleted is emptied kind by kind, and goes when nothing is left in it. Objects with
 * finalizers keep it, and it says so in its conditions.
 */

import { type ChangeRecord, keyOf } from "../change.ts"
import type { Collection } from "../collection.ts"
import { qualifiedName } from "../resources.ts"
import { child, items, text, texts } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { timestamp } from "../timestamp.ts"
import { stateOf } from "../writes/answer.ts"
import { deleteObject } from "../writes/delete.ts"
import { noDeleteOptions } from "../writes/delete-options.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { WorkQueue } from "./work-queue.ts"

const namespaceKind = "v1.Namespace"
const rootCertificate = "kube-root-ca.crt"

/** Finalizers of this controller in `spec.finalizers`. */
const ownFinalizer = "kubernetes"

export class NamespaceController {
  readonly #around: WriteSurroundings
  readonly #certificate: string
  readonly #queue: WorkQueue

  /** `certificate` is the PEM that every namespace is told. */
  constructor(around: WriteSurroundings, certificate: string) {
    this.#around = around
    this.#certificate = certificate
    this.#queue = new WorkQueue(around.clock, (name) => this.#empty(name))
    for (const { change } of around.store.collection(namespaceKind).live.values()) this.#furnish(change.name)
    around.store.observe((collection, record) => this.#observe(collection, record))
  }

  close(): void {
    this.#queue.close()
  }

  #observe({ name: kind, resource }: Collection, { change }: ChangeRecord): void {
    if (kind === namespaceKind) {
      if (change.type === "DELETED") return
      if (change.terminating === true) this.#queue.add(change.name)
      else if (change.type === "ADDED") this.#furnish(change.name)
      return
    }
    if (!resource.namespaced || change.type !== "DELETED") return
    const namespace = this.#around.store.collection(namespaceKind).live.get(change.namespace)?.change
    if (namespace === undefined) return
    if (namespace.terminating === true) this.#queue.add(change.namespace)
    else if (isFurniture(kind, change.name)) this.#furnish(change.namespace)
  }

  #furnish(namespace: string): void {
    this.#create("v1.ServiceAccount", namespace, "default", {})
    this.#create("v1.ConfigMap", namespace, rootCertificate, { data: { "ca.crt": this.#certificate } })
  }

  #create(gvk: string, namespace: string, name: string, members: Fields): void {
    const { store, clock, random } = this.#around
    const collection = store.collection(gvk)
    if (collection.live.has(keyOf(namespace, name))) return
    const metadata = { name, namespace, uid: random.uid(), creationTimestamp: timestamp(clock) }
    store.write(collection, { metadata, ...members })
  }

  #empty(name: string): void {
    const { store } = this.#around
    const collection = store.collection(namespaceKind)
    const existing = collection.live.get(name)
    if (existing?.change.terminating !== true) return
    const left = this.#deleteContents(name)
    const before = stateOf(existing.change)
    if (left.size > 0) {
      const conditions = remaining(child(before, "status"), left, timestamp(this.#around.clock))
      const after: MutableObject = { ...before, status: { ...child(before, "status"), conditions } }
      store.write(collection, after, existing, before)
      return
    }
    const finalizers = texts(child(before, "spec"), "finalizers").filter((finalizer) => finalizer !== ownFinalizer)
    const after: MutableObject = { ...before, spec: finalizers.length === 0 ? {} : { finalizers } }
    const last = finalizers.length === 0 && texts(before.metadata, "finalizers").length === 0
    if (last) store.remove(collection, existing, after)
    else store.write(collection, after, existing, before)
  }

  /** How many objects are left of which kind, with their finalizers. */
  #deleteContents(
    namespace: string,
  ): ReadonlyMap<string, { readonly count: number; readonly finalizers: Set<string> }> {
    const { store, registry } = this.#around
    const left = new Map<string, { count: number; finalizers: Set<string> }>()
    for (const collection of [...store.collections()]) {
      const { resource } = collection
      if (!resource.namespaced || !registry.has(resource.gvk)) continue
      const kind = this.#around.kindOf(resource)
      for (const object of [...collection.live.values()]) {
        if (object.change.namespace !== namespace) continue
        if (object.change.terminating !== true) deleteObject(this.#around, kind, object, noDeleteOptions)
        const still = collection.live.get(keyOf(namespace, object.change.name))
        if (still === undefined) continue
        const entry = left.get(qualifiedName(resource)) ?? { count: 0, finalizers: new Set<string>() }
        entry.count++
        for (const finalizer of texts(stateOf(still.change).metadata, "finalizers")) entry.finalizers.add(finalizer)
        left.set(qualifiedName(resource), entry)
      }
    }
    return left
  }
}

const isFurniture = (kind: string, name: string): boolean =>
  (kind === "v1.ServiceAccount" && name === "default") || (kind === "v1.ConfigMap" && name === rootCertificate)

type Left = ReadonlyMap<string, { readonly count: number; readonly finalizers: ReadonlySet<string> }>

/** The conditions of a namespace that cannot go yet, in the words of the real controller. */
const remaining = (status: Fields | undefined, left: Left, time: string): ReadonlyArray<Fields> => {
  const content = Array.from(left, ([resource, { count }]) => `${resource} has ${count} resource instances`).sort()
  const counts = new Map<string, number>()
  for (const { count, finalizers } of left.values())
    for (const finalizer of finalizers) counts.set(finalizer, (counts.get(finalizer) ?? 0) + count)
  const waits = Array.from(counts, ([finalizer, count]) => `${finalizer} in ${count} resource instances`).sort()
  const known = items(status, "conditions")
  const condition = (type: string, isTrue: boolean, reason: string, message: string): Fields => {
    const value = isTrue ? "True" : "False"
    const old = known.find((candidate) => text(candidate, "type") === type && text(candidate, "status") === value)
    return { type, status: value, lastTransitionTime: old?.lastTransitionTime ?? time, reason, message }
  }
  const discovered = "All resources successfully discovered"
  return [
    condition("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", discovered),
    condition(
      "NamespaceDeletionGroupVersionParsingFailure",
      false,
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    condition(
      "NamespaceDeletionContentFailure",
      false,
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ),
    condition(
      "NamespaceContentRemaining",
      true,
      "SomeResourcesRemain",
      `Some resources are remaining: ${content.join(", ")}`,
    ),
    waits.length === 0
      ? condition(
          "NamespaceFinalizersRemaining",
          false,
          "ContentHasNoFinalizers",
          "All content-preserving finalizers finished",
        )
      : condition(
          "NamespaceFinalizersRemaining",
          true,
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${waits.join(", ")}`,
        ),
  ]
}
