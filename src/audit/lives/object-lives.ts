/**
 * Takes the writes of an audit log one by one, in the order of time, and tells the record of objects what each of them changes: the object that the response
 * has, or the part of it that the request names.
 */
import type { GroupVersionKind } from "../../kube/gvk.ts"
import type { AuditedWrite } from "../shapes/audited-write.ts"
import { member, objectMember, textMember } from "../shapes/json-fields.ts"
import { Deletions } from "./deletions.ts"
import { asSent, bound, scaled, withMetadataOf, withStatusOf } from "./derived-objects.ts"
import { LifeRecord, type LivesOutput } from "./life-record.ts"
import type { LossReason } from "./losses.ts"
import { isFinished } from "./object-facts.ts"
import { bodyOf, whyWithoutBody } from "./written-body.ts"

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
      const name = textMember(objectMember(write.request, "metadata"), "name")
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
    if (scale === undefined || member(scale, "kind") !== "Scale")
      return this.record.lose(write, write.name, whyWithoutBody(write))
    this.record.derive(write, (before) => scaled(before, scale))
  }
}

/** Events are one resource in two groups: the namespace controller deletes in the one what was made in the other. */
const asStored = (write: AuditedWrite): AuditedWrite =>
  write.group === "events.k8s.io" && write.resource === "events" ? { ...write, group: "" } : write
