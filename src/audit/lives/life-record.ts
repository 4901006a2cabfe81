/**
 * The record of a cluster's objects while its audit log is read: which exist, in which state, and which states are unknown. It turns what
 * the writes say into the events of a trace.
 *
 * Guaranteed: resource versions of an object only rise, however late an entry comes; an object has one UID and one API version from its first
 * event to its last. An object that existed before the log begins appears with the first write to it; its end alone is no event.
 *
 * Memory: the names of the objects that exist, and of those whose state is unknown.
 */
import {
  builtInResources,
  compareResourceVersions,
  formatGvk,
  type GroupVersionKind,
  parseGvk,
  parseResourceVersion,
} from "../../kube/offline.ts"
import type { Action, JsonObject } from "../../trace/index.ts"
import { type AuditedResource, type AuditedWrite, isWholeObject } from "../shapes/audited-write.ts"
import { type KeptState, type KnownObject, KnownObjects } from "./known-objects.ts"
import { type Gap, Losses, type LossReason } from "./losses.ts"
import { factsOf, isFinished, whyWithoutBody } from "./object-facts.ts"

// The kind of a resource: entries without bodies name only the plural. It is learned from the objects of a log; until then, kinds of Kubernetes
// itself are known. For any other resource its plural stands where the kind would be (`example.com/v1.widgets`), because the kind cannot be
// guessed: `crontabs` is `CronTab`.

/** Kinds of Kubernetes itself, by `group/resource`. */
const builtInKinds: ReadonlyMap<string, string> = new Map(
  [...builtInResources].map(([name, { plural }]) => {
    const { group, kind } = parseGvk(name) ?? { group: "", kind: name }
    return [`${group}/${plural}`, kind]
  }),
)

/** Memory: one entry for each resource of a log. */
class ResourceKinds {
  /** By `group/resource`. */
  readonly #kinds = new Map<string, GroupVersionKind>()

  /** The first kind of a resource stays: that of its objects in the trace. */
  learn({ group, resource }: AuditedResource, gvk: GroupVersionKind): void {
    const key = `${group}/${resource}`
    if (!this.#kinds.has(key)) this.#kinds.set(key, gvk)
  }

  of({ group, version, resource }: AuditedResource): GroupVersionKind {
    const known = this.#kinds.get(`${group}/${resource}`)
    if (known !== undefined) return known
    return { group, version, kind: builtInKinds.get(`${group}/${resource}`) ?? resource }
  }

  /** As a trace writes it. */
  textOf(resource: AuditedResource): string {
    return formatGvk(this.of(resource))
  }
}

/** A change of an object for the trace. */
export interface LifeEvent {
  readonly time: number
  readonly action: Action
  readonly gvk: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
}

/** Where the events go, and the states come from. */
export interface LivesOutput {
  /** Takes an event with the state of its object, and says where that is kept. */
  readonly changed: (event: LifeEvent, object: JsonObject) => KeptState
  /** Takes the end of an object, with the last state that was kept, or `undefined`: its end was not seen. */
  readonly ended: (event: LifeEvent, state: KeptState | undefined) => void
  readonly gap: (gap: Gap, gvk: string) => void
  /** The state as it was kept. */
  readonly stateOf: (state: KeptState) => JsonObject
}

/** What is said of a log besides its events. */
export interface LivesCounts {
  /** Objects that existed before the log begins, or whose creation it lacks: they appear with a later change. */
  found: number
  /** Deletions of objects that the log has not shown. */
  unseenDeletions: number
  /** Changes with an older version than one that was logged before: their objects are as the newer one left them. */
  superseded: number
  /** Objects as clients sent them, by kind. */
  readonly sent: Map<string, number>
  /** Entries that came later than the window for reordering allows; their changes have the time of the one before. */
  late: number
}

/** Takes what the writes of a log say, in the order of time. */
export class LifeRecord {
  readonly counts: LivesCounts = { found: 0, unseenDeletions: 0, superseded: 0, sent: new Map(), late: 0 }
  readonly losses = new Losses()
  readonly kinds = new ResourceKinds()
  readonly known = new KnownObjects()
  /** UID of namespace kube-system, once it was written. */
  clusterUid: string | undefined
  readonly #output: LivesOutput
  readonly #isExcluded: (gvk: GroupVersionKind) => boolean

  /** @param isExcluded kinds of which nothing is wanted. */
  constructor(output: LivesOutput, isExcluded: (gvk: GroupVersionKind) => boolean) {
    this.#output = output
    this.#isExcluded = isExcluded
  }

  /** Whether nothing is wanted of the kind that is written to. */
  excludes(write: AuditedWrite): boolean {
    return this.#isExcluded(this.kinds.of(write))
  }

  /** The object that a write names, if it exists. */
  objectOf(write: AuditedWrite): KnownObject | undefined {
    return this.known.get(write, write.namespace, write.name)
  }

  /** Its last state. */
  stateOf({ state }: KnownObject): JsonObject {
    return this.#output.stateOf(state)
  }

  /** Whether an object of a log has another UID than the one that exists under its name: then it is about a former or a later one. */
  isOther(known: KnownObject | undefined, uid: string): boolean {
    return known !== undefined && known.uid !== "" && uid !== known.uid
  }

  /** The whole object, as the server has it after the write. */
  apply(write: AuditedWrite, object: JsonObject): void {
    const place = this.#placeOf(write, object)
    if (place === undefined) return
    const { facts, gvk, namespace, name } = place
    let known = this.known.get(write, namespace, name)
    if (known !== undefined && known.gvk !== gvk) return this.lose({ ...write, namespace }, name, "other-version")
    const isOther = this.isOther(known, facts.uid)
    const order = known === undefined ? 1 : compared(facts.resourceVersion, known.resourceVersion)
    if (order < 0 || (known === undefined && this.known.wasDeleted(facts.uid))) {
      this.counts.superseded++
      return
    }
    if (known !== undefined && isOther) {
      this.#vanish(write, known, facts.resourceVersion)
      known = undefined
    }
    if (isFinished(object)) return this.finish(write, known, object, namespace, name)
    // A write that changed nothing.
    if (order !== 0) this.keep(write, known, { ...facts, gvk, namespace, name }, object)
    this.recover({ ...write, namespace }, name, facts.resourceVersion)
  }

  /** The object as the client sent it; the server has filled in the rest. */
  applySent(write: AuditedWrite, object: JsonObject): void {
    const place = this.#placeOf(write, object)
    if (place === undefined) return
    const { facts, gvk, namespace, name } = place
    const known = this.known.get(write, namespace, name)
    if (known !== undefined && known.gvk !== gvk) return this.lose({ ...write, namespace }, name, "other-version")
    this.counts.sent.set(gvk, (this.counts.sent.get(gvk) ?? 0) + 1)
    const resourceVersion = known?.resourceVersion ?? ""
    this.keep(write, known, { ...facts, resourceVersion, gvk, namespace, name }, object)
    this.recover({ ...write, namespace }, name, "")
  }

  /** A change of the object as it was last known. It stays as uncertain as it was. */
  derive(write: AuditedWrite, change: (before: JsonObject) => JsonObject | undefined): void {
    const known = this.objectOf(write)
    if (known === undefined) return this.lose(write, write.name, "unseen-object")
    const object = change(this.stateOf(known))
    if (object === undefined) return this.lose(write, write.name, whyWithoutBody(write))
    const { uid, resourceVersion } = factsOf(object)
    if (this.isOther(known, uid) || compared(resourceVersion, known.resourceVersion) < 0) {
      this.counts.superseded++
      return
    }
    if (isFinished(object)) this.finish(write, known, object, known.namespace, known.name)
    else this.keep(write, known, { ...known, resourceVersion: resourceVersion || known.resourceVersion }, object)
  }

  /** The end of an object whose last state the log has. One that was not there before has no event. */
  finish(
    write: AuditedWrite,
    known: KnownObject | undefined,
    object: JsonObject,
    namespace: string,
    name: string,
  ): void {
    const { apiVersion, kind, uid, resourceVersion } = factsOf(object)
    if (known === undefined) return this.endUnseen(write, uid, namespace, name, resourceVersion)
    // In another API version it is not a state of the object in the trace.
    if (`${apiVersion}.${kind}` !== known.gvk) return this.end(write, known)
    const version = compared(resourceVersion, known.resourceVersion) < 0 ? known.resourceVersion : resourceVersion
    const event: LifeEvent = { ...eventOf(known, write.time), action: "deleted", resourceVersion: version }
    this.#endInstances(write, name)
    this.#output.changed(event, object)
    this.#forget(write, known, version)
  }

  /** The end of an object that does not exist as far as the record knows: it was not shown before, or is deleted a second time. */
  endUnseen(write: AuditedWrite, uid: string, namespace: string, name: string, resourceVersion: string): void {
    this.#endInstances(write, name)
    if (uid === "" || !this.known.wasDeleted(uid)) this.counts.unseenDeletions++
    if (uid !== "") this.known.remember(uid)
    this.recover({ ...write, namespace }, name, resourceVersion)
  }

  /** The end of an object whose last state is the one that is known. */
  end(write: AuditedWrite, known: KnownObject): void {
    this.#endInstances(write, known.name)
    this.#output.ended({ ...eventOf(known, write.time), action: "deleted" }, known.state)
    this.#forget(write, known, known.resourceVersion)
  }

  /** Another object has its name, so it was deleted without an entry in the log. */
  #vanish(write: AuditedWrite, known: KnownObject, resourceVersion: string): void {
    this.#endInstances(write, known.name)
    this.#output.ended({ ...eventOf(known, write.time), action: "vanished", resourceVersion }, undefined)
    this.#forget(write, known, resourceVersion)
  }

  /**
   * The objects of a CustomResourceDefinition, which is called `PLURAL.GROUP`, are deleted with it by the API server itself, which logs nothing of them. When
   * it ends they are gone.
   */
  #endInstances(write: AuditedWrite, name: string): void {
    if (write.group !== "apiextensions.k8s.io" || write.resource !== "customresourcedefinitions") return
    const [resource = "", ...group] = name.split(".")
    const instances = { ...write, group: group.join("."), resource }
    for (const known of this.known.in(instances, "")) {
      this.#output.ended({ ...eventOf(known, write.time), action: "deleted" }, known.state)
      this.#forget(instances, known, known.resourceVersion)
    }
    for (const gap of this.losses.endedOf(instances, write.time)) this.#gap(gap)
  }

  #forget(resource: AuditedWrite, known: KnownObject, version: string): void {
    this.known.remove(resource, known)
    this.recover({ ...resource, namespace: known.namespace }, known.name, version)
  }

  /** A new state of an object, or a new object. */
  keep(
    write: AuditedWrite,
    known: KnownObject | undefined,
    { uid, gvk, namespace, name, resourceVersion }: Omit<LifeEvent, "time" | "action">,
    object: JsonObject,
  ): void {
    const event = { time: write.time, gvk, namespace, name, resourceVersion, uid: known?.uid ?? uid }
    const state = this.#output.changed({ ...event, action: "applied" }, object)
    if (known !== undefined) {
      known.resourceVersion = resourceVersion
      known.state = state
      return
    }
    const isNew = (write.verb === "create" && isWholeObject(write.subresource)) || write.isCreation
    if (!isNew) this.counts.found++
    this.known.add(write, { gvk, namespace, name, uid, resourceVersion, state, isPending: false })
  }

  /** `undefined`: of a kind of which nothing is wanted, or an object whose kind is none, which is a loss. */
  #placeOf(write: AuditedWrite, object: JsonObject) {
    const facts = factsOf(object)
    const gvk = parseGvk(`${facts.apiVersion}.${facts.kind}`)
    if (gvk === undefined) this.lose(write, write.name, "no-object")
    if (gvk === undefined || this.#isExcluded(gvk)) return undefined
    this.kinds.learn(write, gvk)
    if (facts.kind === "Namespace" && facts.name === "kube-system" && facts.uid !== "") this.clusterUid = facts.uid
    const { namespace, name } = facts
    return { facts, gvk: formatGvk(gvk), namespace, name }
  }

  /** The state of the object that a write left is not in the log. */
  lose(write: AuditedWrite, name: string, reason: LossReason): void {
    const version = this.known.get(write, write.namespace, name)?.resourceVersion ?? ""
    this.losses.lost(write, name, reason, write.time, version)
  }

  /** The state of the object is known, or it is gone. */
  recover(write: AuditedWrite, name: string, version: string): void {
    const gap = this.losses.recovered(write, name, write.time, version)
    if (gap !== undefined) this.#gap(gap)
  }

  /** The log has ended. @param time µs since the Unix epoch of its last entry. */
  close(time: number): void {
    for (const gap of this.losses.ended(time)) this.#gap(gap)
  }

  #gap(gap: Gap): void {
    this.#output.gap(gap, this.kinds.textOf(gap.resource))
  }
}

const eventOf = (
  { gvk, uid, namespace, name, resourceVersion }: KnownObject,
  time: number,
): Omit<LifeEvent, "action"> => ({ time, gvk, uid, namespace, name, resourceVersion })

/** Negative if the first version is older; 1 if they cannot be compared. */
const compared = (one: string, other: string): number => {
  const [first, second] = [parseResourceVersion(one), parseResourceVersion(other)]
  return first === undefined || second === undefined ? 1 : compareResourceVersions(first, second)
}
