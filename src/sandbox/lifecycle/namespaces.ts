/**
 * The lifecycle of Namespaces: each gets its default ServiceAccount and the ConfigMap with the cluster's certificate as
 * soon as it exists; one that is being deleted is emptied kind by kind, and removed when it is empty. Objects with
 * finalizers block that, and its conditions report them.
 */

import { type ChangeRecord, keyOf, type Resource } from "../../apiserver/index.ts"
import type { WorkQueue } from "../../host/index.ts"
import { child, items, text, texts } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import { Refusal } from "../store/refusal.ts"
import { timestamp } from "../store/stamps.ts"
import { trackCreation } from "../writes/field-owners.ts"
import { type DeleteOptions, noDeleteOptions } from "../writes/request/write-options.ts"
import type { WritableKind, WriteSurroundings } from "../writes/surroundings.ts"
import { deleteObject } from "../writes/verbs/delete.ts"
import { admitDeletion } from "../writes/webhook-points.ts"
import { controllerManager, deferredWork, writeAsController } from "./controller-write.ts"

const namespaceKind = "v1.Namespace"
const rootCertificate = "kube-root-ca.crt"

const certificateDescription =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal " +
  "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."

/** Finalizers of this controller in `spec.finalizers`. */
const ownFinalizer = "kubernetes"

export class NamespaceController {
  readonly #around: WriteSurroundings
  readonly #certificate: string
  readonly #queue: WorkQueue

  /** `certificate` is the PEM that is published in every namespace. */
  constructor(around: WriteSurroundings, certificate: string) {
    this.#around = around
    this.#certificate = certificate
    this.#queue = deferredWork(around, (own, name) => this.#empty(own, name))
    for (const { change } of around.store.collection(namespaceKind).live.values()) this.#furnish(change.name)
    around.store.observe((collection, record) => this.#observe(collection, record))
  }

  close(): void {
    void this.#queue.close()
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
    const annotations = { "kubernetes.io/description": certificateDescription }
    this.#create("v1.ConfigMap", namespace, rootCertificate, { data: { "ca.crt": this.#certificate } }, { annotations })
  }

  #create(gvk: string, namespace: string, name: string, members: Fields, described: Fields = {}): void {
    const { store, clock, random, kindOf } = this.#around
    const collection = store.collection(gvk)
    if (collection.live.has(keyOf(namespace, name))) return
    const object: MutableObject = { metadata: { name, namespace, ...described }, ...members }
    object.metadata.managedFields = trackCreation(this.#around, kindOf(collection.resource), object, controllerManager)
    Object.assign(object.metadata, { uid: random.uid(), creationTimestamp: timestamp(clock) })
    store.write(collection, object)
  }

  /** `around`: of this attempt; webhooks may be asked about what it deletes. */
  #empty(around: WriteSurroundings, name: string): void {
    const collection = this.#around.store.collection(namespaceKind)
    const existing = collection.live.get(name)
    if (existing?.change.terminating !== true) return
    const { left, refusal } = this.#deleteContents(around, name)
    this.#report(collection, existing, left)
    if (refusal !== undefined) throw refusal
    if (left.size === 0) this.#finalize(collection, name)
  }

  /** Reports in the conditions what is left, even if nothing is: a client's finalizer may still block the namespace. */
  #report(collection: Collection, live: LiveObject, left: Left): void {
    const before = stateOf(live.change)
    const conditions = remaining(child(before, "status"), left, timestamp(this.#around.clock))
    const after = { ...before, metadata: { ...before.metadata }, status: { ...child(before, "status"), conditions } }
    writeAsController(this.#around, { collection, live, before, after, subresource: "status" })
  }

  #finalize(collection: Collection, name: string): void {
    const live = collection.live.get(name)
    if (live === undefined) return
    const before = stateOf(live.change)
    const finalizers = texts(child(before, "spec"), "finalizers").filter((finalizer) => finalizer !== ownFinalizer)
    const isLast = finalizers.length === 0 && texts(before.metadata, "finalizers").length === 0
    // Watchers see the state that was stored, with the finalizer.
    if (isLast) return void this.#around.store.remove(collection, live)
    const spec = finalizers.length === 0 ? {} : { finalizers }
    const after = { ...before, metadata: { ...before.metadata }, spec }
    writeAsController(this.#around, { collection, live, before, after, subresource: "finalize" })
  }

  /** Returns how many objects of each kind are left, with their finalizers, and the first refusal of a webhook. */
  #deleteContents(
    around: WriteSurroundings,
    namespace: string,
  ): { readonly left: Left; readonly refusal: Refusal | undefined } {
    const { store, registry } = this.#around
    const left = new Map<string, { count: number; finalizers: Set<string> }>()
    let refusal: Refusal | undefined
    const admit = (kind: WritableKind, stored: MutableObject): void =>
      admitDeletion(around, kind, stored, "", inBackground, [])
    for (const collection of [...store.collections()]) {
      const { resource } = collection
      if (!resource.namespaced || !registry.has(resource.gvk)) continue
      const kind = this.#around.kindOf(resource)
      for (const object of [...collection.live.values()]) {
        if (object.change.namespace !== namespace) continue
        try {
          if (object.change.terminating !== true)
            deleteObject(around, kind, object, inBackground, (stored) => admit(kind, stored))
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          refusal ??= error
        }
        const still = collection.live.get(keyOf(namespace, object.change.name))
        if (still === undefined) continue
        const entry = left.get(groupedName(resource)) ?? { count: 0, finalizers: new Set<string>() }
        entry.count++
        for (const finalizer of texts(stateOf(still.change).metadata, "finalizers")) entry.finalizers.add(finalizer)
        left.set(groupedName(resource), entry)
      }
    }
    return { left, refusal }
  }
}

/** Plural and group with a dot between them, even if the group is empty. */
const groupedName = ({ plural, gvk }: Resource): string => `${plural}.${gvk.group}`

const isFurniture = (kind: string, name: string): boolean =>
  (kind === "v1.ServiceAccount" && name === "default") || (kind === "v1.ConfigMap" && name === rootCertificate)

const inBackground: DeleteOptions = { ...noDeleteOptions, propagation: "Background" }

type Left = ReadonlyMap<string, { readonly count: number; readonly finalizers: ReadonlySet<string> }>

/** The conditions of a namespace that cannot be removed yet, in the real controller's words. */
const remaining = (status: Fields | undefined, left: Left, time: string): ReadonlyArray<Fields> => {
  const content = Array.from(left, ([resource, { count }]) => `${resource} has ${count} resource instances`).sort()
  const isEmpty = left.size === 0
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
    isEmpty
      ? condition("NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed")
      : condition(
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
