/**
 * Turns the changes of a trace into writes of the target: decides what is left out, rewrites objects, and remembers what the target has been
 * given, so that a state that changes nothing is not written again.
 */

import { hash } from "node:crypto"
import {
  exactJsonIn,
  formatExactJson,
  isBuiltInKind,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  kindWithoutVersion,
  readTrackedObjects,
} from "../../trace/index.ts"
import {
  type RecordedKinds,
  reasonByKind,
  reasonNotToReplay,
  type SeededKinds,
  statusBody,
} from "../objects/not-replayed.ts"
import { listIn } from "../objects/pod-templates.ts"
import { isReferredTo } from "../objects/renamed-references.ts"

import {
  type Rewriting,
  type TargetObject,
  type TargetPlace,
  targetObject,
  targetPlace,
  withOwners,
} from "../objects/target-object.ts"
import type { ReplayOptions } from "./replay-options.ts"
import type { TraceChange } from "./trace-changes.ts"

// Custom kinds with something that looks like a pod template, of which the trace says nothing: their pods are not placed on virtual
// nodes, which people should know. Only the first objects of each kind are searched.

const mostSearched = 20
/** Nesting that is searched; templates of operators are at depths of 2 to 5. */
const deepest = 8

/** Collects such kinds for one replay; at most 20 objects of a kind are searched. */
export class UnknownTemplates {
  readonly #searched = new Map<string, number>()
  /** By kind: the place of the template that was found first. */
  readonly #found = new Map<string, string>()

  /** An object of a kind of which no template path is known. */
  search(gvk: string, object: JsonObject): void {
    const searched = this.#searched.get(gvk) ?? 0
    if (searched === mostSearched || this.#found.has(gvk) || isBuiltInKind(gvk)) return
    this.#searched.set(gvk, searched + 1)
    const path = templateBelow(object, "", 0)
    if (path !== undefined) this.#found.set(gvk, path)
  }

  /** For people, one sentence for each kind. */
  get warnings(): ReadonlyArray<string> {
    return [...this.#found].map(
      ([gvk, path]) =>
        `${gvk} seems to have a pod template at "${path}", of which the trace says nothing: its pods are not placed on virtual nodes`,
    )
  }
}

const templateBelow = (value: JsonValue, path: string, depth: number): string | undefined => {
  if (depth > deepest) return undefined
  if (Array.isArray(value)) {
    for (const element of listIn(value)) {
      const found = templateBelow(element, `${path}/*`, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  if (isTemplate(value)) return path
  for (const [key, member] of Object.entries(value)) {
    if (depth === 0 && (key === "status" || key === "metadata")) continue
    const token = key.replaceAll("~", "~0").replaceAll("/", "~1")
    const found = templateBelow(member, `${path}/${token}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const isTemplate = ({ spec }: JsonObject): boolean => {
  const [container] = isJsonObject(spec) ? listIn(spec.containers) : []
  return isJsonObject(container) && typeof container.name === "string" && typeof container.image === "string"
}

/** What to do about one change. */
export type PlannedWrite =
  | { readonly tag: "skip"; readonly reason: string }
  /** It cannot be written. `place`: where it would be; no cluster may be able to have it. */
  | { readonly tag: "refuse"; readonly place: TargetPlace; readonly reason: string; readonly message: string }
  | {
      readonly tag: "apply"
      readonly place: TargetPlace
      /** Keys of objects that have to be written before, besides this one. */
      readonly after: ReadonlyArray<string>
      /** JSON; called when those have been written. */
      readonly body: () => string
      /** Characters of the body, but for UIDs of owners: the memory that the write holds while it waits. */
      readonly length: number
      /** Whether the body names all owners: those that come later in the trace have no UID yet. */
      readonly isComplete: () => boolean
      /** JSON that sets its status afterwards; `undefined`: it is left to the target. */
      readonly status: string | undefined
    }
  | { readonly tag: "delete"; readonly place: TargetPlace }

type Body = Pick<Extract<PlannedWrite, { tag: "apply" }>, "body" | "isComplete">

/** In a scope of its own, so that the text is all that a waiting write holds: as an object it takes three times the memory. */
const plainBody = (text: string): Body => ({ body: () => text, isComplete: () => true })

/** Names an object of the target among the keys of writes. */
export const keyOf = ({ gvk, namespace, name }: TargetPlace): string => `${gvk} ${namespace}/${name}`

const namespaceKind = "v1.Namespace"
const clusterRole = "rbac.authorization.k8s.io/v1.ClusterRole"

/**
 * Plans the writes of one run: it has to get every change, in the order of the trace, once. Memory: keys, hashes and UIDs of the objects
 * that exist, no bodies.
 */
export class ChangesToWrites {
  readonly #rewriting: Rewriting
  readonly #included: ReadonlySet<string>
  readonly #seeded: SeededKinds
  readonly #onUndefinedKind: ReplayOptions["onUndefinedKind"]
  readonly #kinds = new Set<string>()
  readonly #templatePaths = new Map<string, ReadonlyArray<string>>()
  /** Objects that exist in the trace at this moment and are replayed, by their key in the target: a hash of their last body. */
  readonly #present = new Map<string, string>()
  readonly #unknownTemplates = new UnknownTemplates()
  /** UIDs that the target has given. */
  readonly #uids = new Map<string, string>()
  /**
   * Cluster-scoped objects that were ever replayed: what names one keeps its new name after it was deleted. Only of kinds that others name, of
   * which a cluster has few; of others, such as CertificateSigningRequests, a long trace has ever more.
   */
  readonly #everReplayed = new Set<string>()
  /** Definitions of custom kinds in the trace, by `group/kind`. */
  readonly #definitions = new Map<string, string>()
  /** Custom kinds with objects to be written: whether these are in namespaces. */
  readonly #custom = new Map<string, boolean>()

  /**
   * @param included kinds without version that are replayed although they usually are not
   * @param seeded kinds whose objects get their status at the start
   * @param onUndefinedKind as {@link ReplayOptions.onUndefinedKind}
   */
  constructor(
    rewriting: Omit<Rewriting, "templatePaths" | "isReplayed">,
    included: ReadonlySet<string>,
    seeded: SeededKinds = new Set(),
    onUndefinedKind?: ReplayOptions["onUndefinedKind"],
  ) {
    this.#onUndefinedKind = onUndefinedKind
    this.#included = included
    this.#seeded = seeded
    this.#rewriting = {
      ...rewriting,
      templatePaths: (gvk) => this.#templatePaths.get(gvk),
      isReplayed: (gvk, name) => this.#isReplayed(gvk, name),
    }
  }

  /** Custom kinds that were planned to be written, and that the trace so far does not define: whether their objects are in namespaces. */
  get undefinedKinds(): ReadonlyMap<string, boolean> {
    return new Map([...this.#custom].filter(([gvk]) => !this.defines(gvk)))
  }

  /** For people: what will be different from what they may expect. */
  get warnings(): ReadonlyArray<string> {
    return this.#unknownTemplates.warnings
  }

  /** Kinds that the trace says it has. */
  expectKinds(gvks: Iterable<string>): void {
    for (const gvk of gvks) this.#kinds.add(gvk)
  }

  /** SimKube's configuration: kinds, and where custom ones have pod templates. Ignored if it cannot be read. */
  configure(config: Uint8Array): void {
    const value = exactJsonIn(config)
    const tracked = readTrackedObjects(isJsonObject(value) ? value.trackedObjects : undefined) ?? new Map()
    for (const [gvk, { podSpecTemplatePaths }] of tracked) {
      this.#kinds.add(gvk)
      // Its path for ReplicaSets is wrong and cannot be changed (W-20).
      if (podSpecTemplatePaths.length > 0 && gvk !== "apps/v1.ReplicaSet")
        this.#templatePaths.set(gvk, podSpecTemplatePaths)
    }
  }

  /** Announces objects that exist at the start, so that references between them are kept whatever their order. */
  expect(changes: ReadonlyArray<TraceChange>): void {
    for (const { gvk, namespace, name } of changes) {
      this.#kinds.add(gvk)
      const place = targetPlace(gvk, namespace, name, this.#rewriting)
      if (place === undefined) continue
      this.#present.set(keyOf(place), "")
      this.#noteReplayed(place)
    }
  }

  /** Kinds that the trace has, as far as is known. */
  get kinds(): ReadonlySet<string> {
    return this.#kinds
  }

  /** `isSeed`: the object exists at the start. */
  plan(change: TraceChange, isSeed = false): PlannedWrite {
    const { gvk, namespace, name } = change
    this.#kinds.add(gvk)
    const place = targetPlace(gvk, namespace, name, this.#rewriting)
    if (place === undefined) {
      const message = `${namespace === "" ? name : namespace} would have more than 63 characters with the prefix; choose a shorter --namespace-prefix`
      const impossible = { gvk, namespace: namespace && `${this.#rewriting.namespacePrefix}-${namespace}`, name }
      return { tag: "refuse", place: impossible, reason: "NameTooLong", message }
    }
    return change.object === undefined
      ? this.#planDeletion(change, place)
      : this.#planApply(change, place, change.object, isSeed)
  }

  /** The target has accepted an object. */
  written(place: TargetPlace, uid: string): void {
    this.#uids.set(keyOf(place), uid)
  }

  /** The target has not accepted a state: the next one is sent even if it is the same. */
  notWritten(place: TargetPlace): void {
    const key = keyOf(place)
    if (this.#present.has(key)) this.#present.set(key, "")
  }

  /** A deletion is about to be sent: an object of that name will have another UID. */
  deleting(place: TargetPlace): void {
    this.#uids.delete(keyOf(place))
  }

  /** Whether the trace so far defines this custom kind. */
  defines(gvk: string): boolean {
    return this.#definitions.has(kindWithoutVersion(gvk))
  }

  #planDeletion({ gvk, name }: TraceChange, place: TargetPlace): PlannedWrite {
    const key = keyOf(place)
    // Its last state, and with it its owners, is no longer known; whatever was not replayed is not deleted either.
    const reason = reasonNotToReplay(gvk, undefined, name, this.#recordedKinds)
    if (reason !== undefined) return { tag: "skip", reason }
    if (!this.#present.delete(key)) return { tag: "skip", reason: "deleted, but never replayed" }
    return { tag: "delete", place }
  }

  #planApply(
    { gvk, namespace, name }: TraceChange,
    place: TargetPlace,
    bytes: Uint8Array,
    isSeed: boolean,
  ): PlannedWrite {
    const key = keyOf(place)
    const object = exactJsonIn(bytes)
    if (!isJsonObject(object)) return { tag: "refuse", place, reason: "Unreadable", message: "its JSON cannot be read" }
    const reason = reasonNotToReplay(gvk, object, name, this.#recordedKinds)
    if (reason !== undefined) {
      // One that was replayed before, such as a bare pod that is adopted, is deleted when the trace deletes it.
      if (this.#present.get(key) === "") this.#present.delete(key)
      return { tag: "skip", reason }
    }
    const isInTrace = (owner: string, at: string, ownerName: string): boolean => {
      const ownerPlace = targetPlace(owner, at, ownerName, this.#rewriting)
      return ownerPlace !== undefined && this.#present.has(keyOf(ownerPlace))
    }
    const target = targetObject(object, place, namespace, this.#rewriting, isInTrace)
    const text = formatExactJson(target.body)
    const owners = target.owners.map((owner) => keyOf(owner.place))
    const state = hash("sha1", `${owners.join()}\n${text}`, "base64")
    if (this.#present.get(key) === state) return { tag: "skip", reason: "changes nothing that is replayed" }
    this.#present.set(key, state)
    this.#noteReplayed(place)
    this.#noteDefinition(target)
    if (!isBuiltInKind(gvk) && !this.#custom.has(gvk)) {
      const isNamespaced = namespace !== ""
      this.#custom.set(gvk, isNamespaced)
      if (!this.defines(gvk)) this.#onUndefinedKind?.(gvk, isNamespaced)
    }
    if (!this.#templatePaths.has(gvk)) this.#unknownTemplates.search(gvk, object)
    const status = isSeed ? statusBody(object, place, this.#seeded) : undefined
    return {
      tag: "apply",
      place,
      after: this.#dependencies(target, owners),
      length: text.length,
      ...(owners.length === 0 ? plainBody(text) : this.#ownedBody(target, owners)),
      status: status === undefined ? undefined : formatExactJson(status),
    }
  }

  #ownedBody(target: TargetObject, owners: ReadonlyArray<string>): Body {
    return {
      body: () => formatExactJson(withOwners(target, (owner) => this.#uids.get(keyOf(owner)))),
      isComplete: () => owners.every((owner) => this.#uids.has(owner)),
    }
  }

  #dependencies({ place, body }: TargetObject, owners: ReadonlyArray<string>): ReadonlyArray<string> {
    const { gvk, namespace } = place
    const after = [...owners]
    if (namespace !== "") after.push(keyOf({ gvk: namespaceKind, namespace: "", name: namespace }))
    const definition = this.#definitions.get(kindWithoutVersion(gvk))
    if (definition !== undefined) after.push(definition)
    const { spec } = body
    // Admission rejects a pod without them.
    if (gvk === "v1.Pod" && isJsonObject(spec)) {
      const { serviceAccountName, priorityClassName } = spec
      if (typeof serviceAccountName === "string")
        after.push(keyOf({ gvk: "v1.ServiceAccount", namespace, name: serviceAccountName }))
      if (typeof priorityClassName === "string")
        after.push(keyOf({ gvk: "scheduling.k8s.io/v1.PriorityClass", namespace: "", name: priorityClassName }))
    }
    return after
  }

  /** Of a CustomResourceDefinition: objects of its kind are written after it. */
  #noteDefinition({ place, body: { spec } }: TargetObject): void {
    if (place.gvk.endsWith(".CustomResourceDefinition") && isJsonObject(spec) && isJsonObject(spec.names))
      this.#definitions.set(`${String(spec.group)}/${String(spec.names.kind)}`, keyOf(place))
  }

  #noteReplayed(place: TargetPlace): void {
    if (place.namespace === "" && isReferredTo(place.gvk)) this.#everReplayed.add(keyOf(place))
  }

  /** A binding may come before its role; what names a class is accepted only after it. */
  #isReplayed(gvk: string, name: string): boolean {
    if (gvk === clusterRole) return this.#kinds.has(gvk)
    if (reasonByKind(gvk, this.#included) !== undefined) return false
    const place = targetPlace(gvk, "", name, this.#rewriting)
    return place !== undefined && this.#everReplayed.has(keyOf(place))
  }

  get #recordedKinds(): RecordedKinds {
    return { has: (gvk) => this.#kinds.has(gvk), included: this.#included }
  }
}
