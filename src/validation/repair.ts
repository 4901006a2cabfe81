/**
 * A trace without what was found: each fix removes a missing reference from every state of its object, so that checking the result
 * finds nothing that has a fix. Everything else stays: the order, the times, the deletions, the lives of pods.
 *
 * SimKube's index has a hash of each object's last spec; those of changed objects are computed again.
 */
import type { ItemFilter } from "../trace/formats/owned-items.ts"
import { simkubeHash } from "../trace/formats/simkube/hash/simkube-hash.ts"
import { namespacedName } from "../trace/formats/simkube/simkube-trace.ts"
import { formatExactJson, type JsonObject } from "../trace/json/exact-json.ts"
import type { TraceItem } from "../trace/trace-item.ts"
import { type Findings, findingKey } from "./findings.ts"
import { rules } from "./rules.ts"
import { StateReader, type ValidationOptions } from "./trace-validation.ts"

/** What was changed so far. */
export interface RepairCounts {
  /** States with at least one removal. */
  states: number
}

/** The repair, as a filter of a conversion. `findings` are those of the same trace, without a limit. */
export const repairing = (findings: Findings, options: ValidationOptions, counts: RepairCounts): ItemFilter => {
  const reader = new StateReader(options)
  /** Hashes of the last specs of objects that were changed. */
  const hashes = new Map<string, bigint>()
  const repaired = (item: TraceItem): TraceItem => {
    reader.configure(item)
    if (item.type === "index") {
      const hash = hashes.get(`${item.gvk}\n${item.name}`)
      return hash === undefined ? item : { ...item, hash }
    }
    if (item.type !== "event" || item.event.type !== "object" || item.event.action !== "applied") return item
    const { gvk, namespace, name } = item.event
    const traced = reader.read(item.event)
    if (traced === undefined) return item
    let object: JsonObject = traced.object
    for (const rule of rules)
      object =
        rule.fix?.apply({ ...traced, object }, (kind, missing) =>
          findings.has(rule, findingKey({ gvk, namespace, name }, kind, missing)),
        ) ?? object
    const key = `${gvk}\n${namespacedName(namespace, name)}`
    // The index has the hash of the last spec, which need not be one that changed.
    if (object.spec !== traced.object.spec || hashes.has(key)) hashes.set(key, simkubeHash(object.spec))
    if (object === traced.object) return item
    counts.states++
    return { ...item, event: { ...item.event, object: Buffer.from(formatExactJson(object)) } }
  }
  return { filtered: repaired, warnings: [] }
}
