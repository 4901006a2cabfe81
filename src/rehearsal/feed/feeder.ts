/**
 * Brings recorded changes into the sandbox of a rehearsal, past admission and validation: production has accepted them.
 *
 * Guaranteed: an object that no controller has changed is exactly as recorded, but for its resourceVersion; versions are in the order of the
 * changes. What a controller has changed is merged with ({@link mergeRecorded}). An object that is recorded again under another UID
 * replaces the one before. Namespaces exist before the objects in them, and kinds before their objects.
 */
import type { Clock } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import { isSame, type LoadedObject, type Sandbox } from "../../sandbox/index.ts"
import type { TraceChange } from "../../simulation/index.ts"
import type { SeededRandomness } from "../clock/virtual-clock.ts"
import { type FeedDecision, guessedKind, type Members, type RecordedChange } from "./feed-rule.ts"
import { mergeRecorded } from "./recorded-merge.ts"

/**
 * What became of a change. `unchanged`: the sandbox is so already. `deleting`: a finalizer of a controller holds the object. `left-out`: it is
 * the controllers' own work, or its object does not exist here. `left-out-deletion`: of an object that a controller makes, whose owner was
 * still there, so that a controller has deleted it, or somebody else.
 */
export type FedAs = "created" | "updated" | "deleted" | "deleting" | "unchanged" | "left-out" | "left-out-deletion"

interface FeederOptions {
  readonly sandbox: Sandbox
  readonly clock: Clock
  readonly random: SeededRandomness
  readonly decision: FeedDecision
  /** Whether owned objects are deleted with the recorded ones as long as their owner is there, which no garbage collector does. Default false. */
  readonly feedsDeletions?: boolean | undefined
  /** Called for each recorded change of what the controllers may meet or make. `isWhole`: others decide all of it. */
  readonly recorded?: ((change: TraceChange, isWhole: boolean) => void) | undefined
}

export class Feeder {
  readonly #options: FeederOptions
  /** The last recorded states, by place. */
  readonly #recorded = new Map<string, Uint8Array>()
  /** UIDs of objects whose end is recorded, so that no garbage collector may decide it. */
  readonly #history = new Set<string>()
  readonly kinds = new Set<string>()

  constructor(options: FeederOptions) {
    this.#options = options
  }

  /** Whether the end of the object is history's matter. */
  isOfHistory(uid: string): boolean {
    return this.#history.has(uid)
  }

  /** An object of the state at the start: all of it, since a controller that starts finds what it did before. */
  seed(change: TraceChange): FedAs {
    const { gvk } = change
    const { object } = this.#next(change)
    const { decision, recorded } = this.#options
    if (object === undefined || decision.scopeOf({ ...change, object, before: undefined }) === "none") return "left-out"
    recorded?.(change, !decision.isOwn(gvk, object))
    this.#load(gvk, change, object)
    return "created"
  }

  feed(change: TraceChange): FedAs {
    const recorded = this.#next(change)
    const { gvk, namespace, name } = change
    const { decision, sandbox } = this.#options
    const { object, before } = recorded
    const isPeoples = object === undefined && before !== undefined && this.#hasOwner(before, namespace)
    const scope = isPeoples && this.#options.feedsDeletions === true ? "all" : decision.scopeOf(recorded)
    if (scope === "none") return "left-out"
    this.#options.recorded?.(change, scope === "all")
    const existing = sandbox.serves(gvk) ? (sandbox.get(gvk, namespace, name) as Members | undefined) : undefined
    if (scope === "status") {
      if (object === undefined) return isPeoples ? "left-out-deletion" : "left-out"
      if (existing === undefined) return "left-out"
      return this.#store(gvk, existing, mergeRecorded(writtenByOthers(before), writtenByOthers(object), existing))
    }
    if (object === undefined) return existing === undefined ? "unchanged" : this.#delete(change, existing)
    if (existing === undefined) {
      this.#load(gvk, change, this.#withoutOwnStatus(gvk, object, {}))
      return "created"
    }
    return this.#update(change, { object, before, existing })
  }

  /** Whether the recorded controlling owner of an object is there, and stays. */
  #hasOwner(object: Members, namespace: string): boolean {
    const references = metadataOf(object).ownerReferences
    const owner = Array.isArray(references)
      ? references.filter(isRecord).find((one) => one.controller === true)
      : undefined
    if (owner === undefined) return false
    const gvk = `${String(owner.apiVersion)}.${String(owner.kind)}`
    const name = String(owner.name)
    const found = [namespace, ""].map((place) => parsedAs(gvk, this.#recorded.get(`${gvk} ${place}/${name}`)))
    const { uid, deletionTimestamp } = metadataOf(found.find((one) => one !== undefined) ?? {})
    return uid !== undefined && uid === owner.uid && deletionTimestamp === undefined
  }

  #next(change: TraceChange): RecordedChange {
    const { time, gvk, namespace, name, object: bytes } = change
    const place = `${gvk} ${namespace}/${name}`
    const last = this.#recorded.get(place)
    if (bytes === undefined) this.#recorded.delete(place)
    else this.#recorded.set(place, bytes)
    this.kinds.add(gvk)
    return { time, gvk, namespace, name, object: parsedAs(gvk, bytes), before: parsedAs(gvk, last) }
  }

  #update(
    change: TraceChange,
    states: { readonly object: Members; readonly before: Members | undefined; readonly existing: Members },
  ): FedAs {
    const { gvk } = change
    const { existing } = states
    const uid = metadataOf(existing).uid
    const complete = this.#complete(change, states.object, String(uid))
    if (this.#history.has(String(uid)) && complete.metadata.uid !== uid) {
      // Another object has the name by now.
      this.#load(gvk, change, this.#withoutOwnStatus(gvk, states.object, {}))
      return "created"
    }
    const object = this.#asOthersWrote(gvk, complete, existing)
    const before = this.#asOthersWrote(gvk, states.before ?? {}, existing)
    if (complete.metadata.uid === uid && isSame(content(before), content(existing))) {
      if (
        isSame(content(object), content(existing)) &&
        metadataOf(object).generation === metadataOf(existing).generation
      )
        return "unchanged"
      this.#put(gvk, object)
      return "updated"
    }
    return this.#store(gvk, existing, mergeRecorded(content(before), content(object), existing))
  }

  /** A finalizer that a controller of the rehearsal has set is removed by it alone. */
  #delete({ gvk, namespace, name }: TraceChange, existing: Members): FedAs {
    const { sandbox, clock, decision } = this.#options
    const { finalizers = [], deletionTimestamp, ...metadata } = metadataOf(existing)
    const isHeld = Array.isArray(finalizers) && finalizers.some((one) => decision.ownFinalizers.has(String(one)))
    if (!isHeld) {
      sandbox.delete(gvk, namespace, name)
      return "deleted"
    }
    if (deletionTimestamp !== undefined) return "unchanged"
    const marked = { ...metadata, finalizers, deletionTimestamp: timestamp(clock), deletionGracePeriodSeconds: 0 }
    this.#put(gvk, { ...existing, metadata: marked })
    return "deleting"
  }

  #store(gvk: string, existing: Members, merged: unknown): FedAs {
    if (!isRecord(merged) || isSame(merged, existing)) return "unchanged"
    const { generation } = metadataOf(existing)
    const isNewSpec = typeof generation === "number" && !isSame(merged.spec, existing.spec)
    const metadata = { ...metadataOf(merged), ...(isNewSpec && { generation: generation + 1 }) }
    this.#put(gvk, { ...merged, metadata })
    return "updated"
  }

  #load(gvk: string, { namespace, name }: TraceChange, given: Members): void {
    this.#makeRoom(gvk, namespace)
    const object = this.#complete({ namespace, name }, given)
    if (!this.#options.decision.isOwn(gvk, given)) this.#history.add(object.metadata.uid)
    this.#put(gvk, object)
  }

  /** With a UID: one that was recorded, or that {@link Feeder.#complete} has made. */
  #put(gvk: string, object: Members): void {
    this.#options.sandbox.load(gvk, object as unknown as LoadedObject)
  }

  /** The kind and the namespace. */
  #makeRoom(gvk: string, namespace: string): void {
    const { sandbox } = this.#options
    if (!sandbox.serves(gvk)) {
      const resource = guessedKind(gvk, namespace !== "")
      if (resource !== undefined) sandbox.register(resource)
    }
    if (namespace === "" || sandbox.get("v1.Namespace", "", namespace) !== undefined) return
    sandbox.put("v1.Namespace", {
      metadata: { name: namespace, labels: { "kubernetes.io/metadata.name": namespace } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    })
  }

  /** With the members that a sanitised trace does not have. `uid`: for want of a recorded one. */
  #complete({ namespace, name }: Pick<TraceChange, "namespace" | "name">, object: Members, uid?: string) {
    const { random, clock } = this.#options
    const { resourceVersion: _version, ...given } = metadataOf(object)
    const owners = given.ownerReferences
    const metadata = {
      ...given,
      name,
      ...(namespace !== "" && { namespace }),
      uid: String(given.uid ?? uid ?? random.uid()),
      creationTimestamp: given.creationTimestamp ?? timestamp(clock),
      ...(given.generation === undefined && object.spec !== undefined && { generation: 1 }),
      ...(Array.isArray(owners) && {
        ownerReferences: owners.filter(isRecord).map((one) => this.#owner(one, namespace)),
      }),
    }
    return { ...object, metadata }
  }

  /** With the owner's UID, which a sanitised trace does not have. */
  #owner(reference: Members, namespace: string): Members {
    if (typeof reference.uid === "string") return reference
    const { sandbox, random } = this.#options
    const gvk = `${String(reference.apiVersion)}.${String(reference.kind)}`
    const name = String(reference.name)
    const found = sandbox.serves(gvk) ? sandbox.get(gvk, namespace, name) : undefined
    return { ...reference, uid: found?.metadata.uid ?? random.uid() }
  }

  /** The state with what controllers of the rehearsal decide taken from the present one, so that it is no change. */
  #asOthersWrote(gvk: string, recorded: Members, existing: Members): Members {
    const { ownFinalizers } = this.#options.decision
    const listOf = (object: Members): ReadonlyArray<unknown> => {
      const { finalizers } = metadataOf(object)
      return Array.isArray(finalizers) ? finalizers : []
    }
    const finalizers = [
      ...listOf(recorded).filter((one) => !ownFinalizers.has(String(one))),
      ...listOf(existing).filter((one) => ownFinalizers.has(String(one))),
    ]
    const { finalizers: _finalizers, ...metadata } = metadataOf(recorded)
    const all = { ...recorded, metadata: { ...metadata, ...(finalizers.length > 0 && { finalizers }) } }
    return this.#withoutOwnStatus(gvk, all, existing)
  }

  /** With the controllers' own members of the status as `existing` has them. */
  #withoutOwnStatus(gvk: string, recorded: Members, existing: Members): Members {
    const own = this.#options.decision.ownStatus(gvk, recorded)
    if (own !== "all" && own.size === 0) return recorded
    const { status, ...others } = recorded
    const [theirs, present] = [isRecord(status) ? status : {}, isRecord(existing.status) ? existing.status : {}]
    const isOwn = (member: string): boolean => own === "all" || own.has(member)
    const merged = Object.fromEntries([
      ...Object.entries(theirs).filter(([member]) => !isOwn(member)),
      ...Object.entries(present).filter(([member]) => isOwn(member)),
    ])
    return Object.keys(merged).length === 0 ? others : { ...others, status: merged }
  }
}

/** With the apiVersion and the kind, which items of lists do not carry. */
const parsedAs = (gvk: string, bytes: Uint8Array | undefined): Members | undefined => {
  const type = parseGvk(gvk)
  if (bytes === undefined || type === undefined) return undefined
  return { ...JSON.parse(Buffer.from(bytes).toString()), apiVersion: apiVersionOf(type), kind: type.kind }
}

const metadataOf = ({ metadata }: Members): Members => (isRecord(metadata) ? metadata : {})

/** What others than an object's controller write into it. */
const writtenByOthers = (object: Members | undefined): Members => {
  const spec = isRecord(object?.spec) ? object.spec : {}
  return {
    ...(object?.status !== undefined && { status: object.status }),
    ...(typeof spec.nodeName === "string" && { spec: { nodeName: spec.nodeName } }),
  }
}

/** Without identity and versions, which are the sandbox's matter once states are merged. */
const content = (object: Members): Members => ({
  ...object,
  metadata: Object.fromEntries(Object.entries(metadataOf(object)).filter(([member]) => !ofIdentity.has(member))),
})

const ofIdentity = new Set(["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"])

const timestamp = (clock: Clock): string =>
  `${new Date(Math.floor(clock.wallMicros() / 1000)).toISOString().slice(0, 19)}Z`
