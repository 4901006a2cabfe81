/**
 * Takes the writes of an audit log one by one, in the order of time, and tells the record of objects what each of them changes: the object that the response
 * has, or the part of it that the request names.
 */
import type { GroupVersionKind } from "../../kube/offline.ts"
import { isJsonObject, type JsonObject, listIn, memberIn, objectIn, textIn, withMember } from "../../trace/index.ts"
import type { AuditedWrite } from "../shapes/audited-write.ts"
import type { KnownObject } from "./known-objects.ts"
import { LifeRecord, type LivesOutput } from "./life-record.ts"
import type { LossReason } from "./losses.ts"
import {
  asSent,
  bodyOf,
  bound,
  factsOf,
  graceSeconds,
  isFinished,
  isMarked,
  markedAsDeleted,
  outlivesDeletion,
  scaled,
  whyWithoutBody,
  withMetadataOf,
  withStatusOf,
  wouldOutliveDeletion,
} from "./object-facts.ts"

/**
 * Takes the requests that delete objects: what a request leaves of an object, judged by the response where there is one.
 *
 * | response | the object |
 * | --- | --- |
 * | a `Status` | is gone |
 * | the object without finalizers and grace period | is gone; this is its last state |
 * | the object with either | exists on, marked as deleted, until a later write ends it |
 * | the list of a deleted collection | each of its objects, by the state before: one with finalizers or a grace period exists on |
 * | none in the log | by its last known state and the request: the same rules |
 */
class Deletions {
  readonly #record: LifeRecord

  constructor(record: LifeRecord) {
    this.#record = record
  }

  /** Deletes a pod, like a deletion with a grace period. */
  evict(write: AuditedWrite): void {
    const known = this.#record.objectOf(write)
    if (known === undefined) return
    const before = this.#record.stateOf(known)
    const options = objectIn(write.request, "deleteOptions")
    if (!wouldOutliveDeletion(before, options, false)) return this.#record.end(write, known)
    this.#mark(write, known, before, options)
  }

  /** Deletes one object. */
  delete(write: AuditedWrite): void {
    const known = this.#record.objectOf(write)
    const { response, request } = write
    if (response !== undefined && memberIn(response, "kind") !== "Status" && objectIn(response, "metadata"))
      return this.#deleteReturning(write, known, response)
    const deletedUid = textIn(objectIn(response, "details"), "uid")
    if (known === undefined) return this.#record.endUnseen(write, deletedUid, write.namespace, write.name, "")
    if (deletedUid !== "" && this.#record.isOther(known, deletedUid)) {
      this.#record.counts.superseded++
      return
    }
    // A Status is the response for what is gone at once.
    const before = this.#record.stateOf(known)
    const isLast = known.isPending || isMarked(before)
    if (response !== undefined || !wouldOutliveDeletion(before, request, isLast)) return this.#record.end(write, known)
    known.isPending = true
    this.#record.lose(write, write.name, whyWithoutBody(write))
  }

  #deleteReturning(write: AuditedWrite, known: KnownObject | undefined, response: JsonObject): void {
    // An empty object: another deletion of a pod without a grace period was faster.
    if (factsOf(response).name === "") return
    const isPartial = memberIn(response, "kind") === "PartialObjectMetadata"
    if (isPartial && known === undefined) {
      if (!outlivesDeletion(response)) this.#record.finish(write, undefined, response, write.namespace, write.name)
      return
    }
    const object = isPartial && known !== undefined ? withMetadataOf(this.#record.stateOf(known), response) : response
    if (outlivesDeletion(object)) return this.#record.apply(write, object)
    const { uid } = factsOf(object)
    if (this.#record.isOther(known, uid)) {
      this.#record.counts.superseded++
      return
    }
    this.#record.finish(write, known, object, known?.namespace ?? write.namespace, write.name)
  }

  /** Deletes what is in a collection: what the response lists, or all of it. */
  deleteCollection(write: AuditedWrite): void {
    const { response, request } = write
    const items = listIn(response, "items").filter(isJsonObject)
    if (response !== undefined && Array.isArray(memberIn(response, "items"))) {
      const { apiVersion, kind } = factsOf(response)
      for (const item of items) this.#deleteListed(write, withKind(item, apiVersion, kind.replace(/List$/, "")))
      return
    }
    const known = this.#record.known.in(write, write.namespace)
    for (const object of known) {
      const place = { ...write, namespace: object.namespace, name: object.name }
      // Which of them had the labels or fields is not known.
      if (write.isSelection) this.#record.lose(place, object.name, whyWithoutBody(write))
      else this.#deleteUnlisted(place, object, request)
    }
  }

  #deleteListed(write: AuditedWrite, before: JsonObject): void {
    const { name, namespace, uid } = factsOf(before)
    const place = { ...write, namespace, name }
    const known = this.#record.known.get(write, namespace, name)
    // Deleted between the list and the response.
    if (known === undefined && this.#record.known.wasDeleted(uid)) return
    if (this.#record.isOther(known, uid)) {
      this.#record.counts.superseded++
      return
    }
    if (!wouldOutliveDeletion(before, write.request, false))
      return this.#record.finish(place, known, before, namespace, name)
    // The list may be newer than what is known.
    this.#record.apply(place, before)
    const listed = this.#record.objectOf(place)
    if (listed !== undefined) this.#mark(place, listed, before, write.request)
  }

  #deleteUnlisted(write: AuditedWrite, known: KnownObject, request: JsonObject | undefined): void {
    const before = this.#record.stateOf(known)
    if (wouldOutliveDeletion(before, request, false)) this.#mark(write, known, before, request)
    else this.#record.end(write, known)
  }

  /** The object exists on after its deletion, which its state then says. */
  #mark(write: AuditedWrite, known: KnownObject, before: JsonObject, options: JsonObject | undefined): void {
    const asked = memberIn(options, "gracePeriodSeconds")
    const usual = graceSeconds(before)
    const grace = usual > 0 && typeof asked === "number" ? asked : usual
    if (!known.isPending && !isMarked(before))
      this.#record.keep(write, known, known, markedAsDeleted(before, write.time, grace))
    known.isPending = true
  }
}

/** Items of lists of built-in kinds have neither. */
const withKind = (item: JsonObject, apiVersion: string, kind: string): JsonObject =>
  withMember(withMember(item, "apiVersion", apiVersion), "kind", kind)

/** The lives of a cluster's objects out of the writes of its audit log. */
export class ObjectLives {
  readonly record: LifeRecord
  readonly #deletions: Deletions
  #time = Number.NEGATIVE_INFINITY

  /** @param isExcluded kinds of which nothing is wanted. */
  constructor(output: LivesOutput, isExcluded: (gvk: GroupVersionKind) => boolean) {
    this.record = new LifeRecord(output, isExcluded)
    this.#deletions = new Deletions(this.record)
  }

  add(given: AuditedWrite): void {
    const isLate = given.time < this.#time
    if (isLate) this.record.counts.late++
    const write = asStored(isLate ? { ...given, time: this.#time } : given)
    this.#time = write.time
    if (this.record.excludes(write)) return
    // Before pods had a subresource for it, bindings were a collection of their own.
    if (write.group === "" && write.resource === "bindings") {
      const name = textIn(objectIn(write.request, "metadata"), "name")
      return this.#bind({ ...write, resource: "pods", name })
    }
    if (write.subresource === "binding") return this.#bind(write)
    if (write.subresource === "scale") return this.#scale(write)
    if (write.subresource === "eviction") return this.#deletions.evict(write)
    if (write.verb === "delete") return this.#deletions.delete(write)
    if (write.verb === "deletecollection") return this.#deletions.deleteCollection(write)
    this.#change(write)
  }

  /** The log has ended. @param time µs since the Unix epoch of its last entry. */
  end(time: number): void {
    this.record.close(Math.max(time, this.#time))
  }

  #change(write: AuditedWrite): void {
    const body = bodyOf(write)
    switch (body.tag) {
      case "object":
        return this.record.apply(write, body.object)
      case "sent":
        return this.record.applySent(write, asSent(body.object, write.namespace, body.name))
      case "metadata":
        if (this.record.objectOf(write) === undefined && isFinished(body.partial))
          return this.record.finish(write, undefined, body.partial, write.namespace, write.name)
        return this.record.derive(write, (before) => withMetadataOf(before, body.partial))
      case "sent-status":
        return this.record.derive(write, (before) => withStatusOf(before, body.sent))
      case "nothing":
        return
      case "unknown":
        return this.#changeWithoutBody(write, body.reason)
    }
  }

  /** The namespace controller's last write to a namespace removes it. */
  #changeWithoutBody(write: AuditedWrite, reason: LossReason): void {
    const known = this.record.objectOf(write)
    if (known?.isPending === true && write.subresource === "finalize") this.record.end(write, known)
    else this.record.lose(write, write.name, reason)
  }

  #bind(write: AuditedWrite): void {
    if (write.request === undefined) return this.record.lose(write, write.name, whyWithoutBody(write))
    this.record.derive(write, (pod) => bound(pod, write.request))
  }

  #scale(write: AuditedWrite): void {
    const scale = write.response ?? (write.verb === "update" ? write.request : undefined)
    if (scale === undefined || memberIn(scale, "kind") !== "Scale")
      return this.record.lose(write, write.name, whyWithoutBody(write))
    this.record.derive(write, (before) => scaled(before, scale))
  }
}

/** Events are one resource in two groups: the namespace controller deletes in the one what was made in the other. */
const asStored = (write: AuditedWrite): AuditedWrite =>
  write.group === "events.k8s.io" && write.resource === "events" ? { ...write, group: "" } : write
