/**
 * Which recorded changes are history for the controllers of a rehearsal, and which are their own doing, that they must not meet again.
 *
 * By default these are left out:
 * - Objects that a controller makes: of a kind that it `owns`, with a controlling owner of the kind that it is `for`. Only what others write
 *   into them is fed, as long as the rehearsal has an object of that name: their status, and the node of a Pod.
 * - Status of the objects that it is `for`, member by member, as far as it is its own: the recorded managedFields name it, or there are none and
 *   it declares that it writes the status.
 * - Its own finalizer, and Events that name it as their source.
 * - What controls the API server itself: webhooks and policies of admission, which would call out of the sandbox.
 */

import type { Resource } from "../../apiserver/index.ts"
import { isRecord } from "../../is-record.ts"
import { parseGvk } from "../../kube/offline.ts"
import { ResourceNames } from "../../trace/index.ts"

export type Members = Readonly<Record<string, unknown>>

/** A kind that a controller is for. */
export interface Subject {
  /** `slinky.dev/v1.SimplePod` */
  readonly kind: string
  /** Kinds of which it makes objects for each of that kind. */
  readonly owns: ReadonlyArray<string>
}

/** What is known of a controller that takes part. */
export interface OwnWork {
  readonly name: string
  /** Empty for a module that does not say. */
  readonly subjects: ReadonlyArray<Subject>
  readonly finalizer?: string | undefined
  /** Whether it declares that it writes the status of the objects that it is for. */
  readonly writesStatus: boolean
  /** Field managers under which it wrote in the recorded cluster. */
  readonly managers: ReadonlySet<string>
}

/** A recorded change of one object. */
export interface RecordedChange {
  /** µs since the Unix epoch. */
  readonly time: number
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
  /** The recorded state; `undefined`: it was deleted. */
  readonly object: Members | undefined
  /** The recorded state before; `undefined`: there was none, or it is not known. */
  readonly before: Members | undefined
}

/** `all` of a change; only the `status` of the object, if it exists, and the node of a Pod; or `none` of it. */
export type FeedScope = "all" | "status" | "none"

/** `others`: what the controllers did not do themselves. `all`: everything. A function decides first; `undefined`: as by `others`. */
export type FeedRule = "others" | "all" | ((change: RecordedChange) => FeedScope | undefined)

/** Requests of the sandbox would leave it, or be refused by rules that it does not have. */
const ofApiServer = new Set(["admissionregistration.k8s.io", "apiregistration.k8s.io"])

export class FeedDecision {
  readonly #rule: FeedRule
  readonly #workers: ReadonlyArray<OwnWork>
  readonly ownFinalizers: ReadonlySet<string>

  constructor(rule: FeedRule, workers: ReadonlyArray<OwnWork>) {
    this.#rule = rule
    this.#workers = workers
    this.ownFinalizers = new Set(
      rule === "all" ? [] : workers.flatMap(({ finalizer }) => (finalizer === undefined ? [] : [finalizer])),
    )
  }

  /** How much of a change is fed. */
  scopeOf(change: RecordedChange): FeedScope {
    const { gvk, object = change.before } = change
    if (ofApiServer.has(parseGvk(gvk)?.group ?? "")) return "none"
    if (this.#rule === "all") return "all"
    const chosen = this.#rule === "others" ? undefined : this.#rule(change)
    if (chosen !== undefined) return chosen
    if (object === undefined) return "all"
    if (this.#isOwnEvent(gvk, object)) return "none"
    return this.isOwn(gvk, object) ? "status" : "all"
  }

  /** Whether one of the controllers makes the object. */
  isOwn(gvk: string, object: Members): boolean {
    const references = isRecord(object.metadata) ? object.metadata.ownerReferences : undefined
    if (!Array.isArray(references)) return false
    const owner = references.filter(isRecord).find(({ controller }) => controller === true)
    if (owner === undefined) return false
    const ownerKind = `${String(owner.apiVersion)}.${String(owner.kind)}`
    return this.#workers.some(({ subjects }) =>
      subjects.some(({ kind, owns }) => isSame(kind, ownerKind) && owns.some((owned) => isSame(owned, gvk))),
    )
  }

  /** The members of the status that a controller wrote itself; `all` of them, if that is all that is known. */
  ownStatus(gvk: string, object: Members): ReadonlySet<string> | "all" {
    const own = new Set<string>()
    if (this.#rule === "all") return own
    for (const worker of this.#workers) {
      if (!worker.subjects.some(({ kind }) => isSame(kind, gvk))) continue
      const entries = isRecord(object.metadata) ? object.metadata.managedFields : undefined
      if (Array.isArray(entries)) for (const member of statusOf(entries, worker.managers)) own.add(member)
      else if (worker.writesStatus) return "all"
    }
    return own
  }

  #isOwnEvent(gvk: string, object: Members): boolean {
    if (withoutVersion(gvk) !== "/Event" && withoutVersion(gvk) !== "events.k8s.io/Event") return false
    const component = isRecord(object.source) ? object.source.component : undefined
    return this.#workers.some(
      ({ managers }) => managers.has(String(component)) || managers.has(String(object.reportingComponent)),
    )
  }
}

/** An owner keeps the version that its controller used then. */
const withoutVersion = (gvk: string): string => {
  const { group, kind } = parseGvk(gvk) ?? { group: "", kind: gvk }
  return `${group}/${kind}`
}

const isSame = (gvk: string, other: string): boolean => withoutVersion(gvk) === withoutVersion(other)

/** Top members of the status that the managers own, by `managedFields`. */
function* statusOf(entries: ReadonlyArray<unknown>, managers: ReadonlySet<string>): Generator<string, void> {
  for (const entry of entries) {
    if (!isRecord(entry) || !managers.has(String(entry.manager))) continue
    const fields = isRecord(entry.fieldsV1) ? entry.fieldsV1["f:status"] : undefined
    if (isRecord(fields))
      for (const member of Object.keys(fields)) if (member.startsWith("f:")) yield member.slice("f:".length)
  }
}

const names = new ResourceNames()

/** `undefined` if the text is not a kind. */
export const guessedKind = (gvk: string, isNamespaced: boolean): Resource | undefined => {
  const parsed = parseGvk(gvk)
  const plural = names.of(gvk)?.resource
  if (parsed === undefined || plural === undefined) return undefined
  return { gvk: parsed, plural, namespaced: isNamespaced, subresources: ["status"], custom: true }
}
