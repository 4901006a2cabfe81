/**
 * Recognises a write that the logs have twice: in files that overlap, from collectors that deliver at least once, in a file under two names. The writes come in
 * the order of time, and both entries have the same time, so memory is the writes of one microsecond.
 */
import type { AuditedWrite } from "../audited-write.ts"

export class RepeatedWrites {
  #time = Number.NEGATIVE_INFINITY
  readonly #seen = new Set<string>()

  /** Whether it is the one of an earlier call. A write without an ID never is. */
  has({ time, id, verb, resource, subresource, namespace, name }: AuditedWrite): boolean {
    if (id === "") return false
    if (time !== this.#time) this.#seen.clear()
    this.#time = time
    const key = `${id} ${verb} ${resource} ${subresource} ${namespace} ${name}`
    const isRepeated = this.#seen.has(key)
    this.#seen.add(key)
    return isRepeated
  }
}
