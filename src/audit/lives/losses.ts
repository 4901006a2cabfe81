/**
 * Changes that a log tells of without the object they led to. After a lost change the trace's copy of the object is
 * stale, until the log shows the whole object or its deletion. While any object of a kind and namespace is in that
 * state, the trace has a gap.
 *
 * Memory: the names of the objects that are in that state.
 */
import type { GapEvent } from "../../trace/index.ts"
import type { AuditedResource } from "../shapes/audited-write.ts"

/** Why the object after a change is unknown, in words that follow "changes". */
const lossReasons = {
  "metadata-level": "logged at level Metadata",
  "patch-at-request-level": "made by patches, which level Request logs without their results",
  "generated-name": "that created objects whose names the server made, logged at level Request",
  truncated: "whose entries were too long for the log",
  "no-object": "whose entries have no whole object",
  "other-version": "made in another API version than that of the object in the trace",
  "unseen-object": "of a part of an object that the log had not shown before",
} as const

/** One of them. */
export type LossReason = keyof typeof lossReasons

/** Numbers of lost changes by reason. */
export type LossCounts = ReadonlyMap<LossReason, number>

/** A resource in a namespace, the place of a gap. */
interface LossPlace extends AuditedResource {
  readonly namespace: string
}

interface OpenGap {
  readonly place: LossPlace
  readonly fromTime: number
  readonly fromVersion: string
  readonly reasons: Map<LossReason, number>
  /** Names of the objects whose state is unknown. The empty string: objects whose names are unknown too. */
  readonly objects: Set<string>
}

/** A gap, but for what a trace needs to number and name it. */
export type Gap = Omit<GapEvent, "type" | "sequence" | "gvk"> & { readonly resource: AuditedResource }

/** Counts losses and keeps the gaps that are open. */
export class Losses {
  /** By `group/resource`. */
  readonly #counts = new Map<
    string,
    { readonly resource: AuditedResource; readonly reasons: Map<LossReason, number> }
  >()
  readonly #open = new Map<string, OpenGap>()

  /** @param version the last known one of the object; empty: none. */
  lost(lost: LossPlace, name: string, reason: LossReason, time: number, version: string): void {
    const { group, resource, namespace } = lost
    // The change itself has more, such as its request and its response, which must not be kept.
    const place = { group, version: lost.version, resource, namespace }
    const key = `${group}/${resource}`
    const counted = this.#counts.get(key) ?? { resource: place, reasons: new Map() }
    this.#counts.set(key, counted)
    increase(counted.reasons, reason)
    const gapKey = `${key} ${namespace}`
    const gap = this.#open.get(gapKey) ?? {
      ...{ place, fromTime: time, fromVersion: version, reasons: new Map(), objects: new Set<string>() },
    }
    this.#open.set(gapKey, gap)
    increase(gap.reasons, reason)
    gap.objects.add(name)
  }

  /** The whole object is known again, or gone. Returns the gap that ends with that. */
  recovered({ group, resource, namespace }: LossPlace, name: string, time: number, version: string): Gap | undefined {
    const key = `${group}/${resource} ${namespace}`
    const gap = this.#open.get(key)
    if (gap === undefined || !gap.objects.delete(name) || gap.objects.size > 0) return undefined
    this.#open.delete(key)
    return closed(gap, time, version)
  }

  /** No object of the resource exists any more: the gaps that end with that. */
  *endedOf({ group, resource }: AuditedResource, time: number): Generator<Gap> {
    for (const [key, gap] of [...this.#open])
      if (key.startsWith(`${group}/${resource} `)) {
        this.#open.delete(key)
        yield closed(gap, time, "")
      }
  }

  /** The gaps that the end of the log leaves open: they include its last moment. */
  *ended(time: number): Generator<Gap> {
    for (const gap of this.#open.values()) yield { ...closed(gap, time, ""), toTime: time + 1 }
    this.#open.clear()
  }

  /** Of all changes, by resource. */
  get counts(): Iterable<{ readonly resource: AuditedResource; readonly reasons: LossCounts }> {
    return this.#counts.values()
  }
}

const increase = (counts: Map<LossReason, number>, reason: LossReason): void => {
  counts.set(reason, (counts.get(reason) ?? 0) + 1)
}

const closed = ({ place, fromTime, fromVersion, reasons }: OpenGap, time: number, toVersion: string): Gap => ({
  ...{ time, namespace: place.namespace, fromVersion, toVersion, fromTime, toTime: time, resource: place },
  reason: "unlogged",
  detail: `the audit log has no objects for ${describeLosses(reasons)}`,
})

/** `3 changes logged at level Metadata; 1 change …` */
export const describeLosses = (reasons: LossCounts): string =>
  [...reasons]
    .map(([reason, count]) => `${count} ${count === 1 ? "change" : "changes"} ${lossReasons[reason]}`)
    .join("; ")
