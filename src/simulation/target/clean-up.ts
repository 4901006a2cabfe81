/**
 * Removes what a replay created: everything with its label, of every cluster-scoped kind that the target serves, and with its namespaces
 * all that is in them. Needs no knowledge of the run, so it also cleans up after one that was killed.
 *
 * Guaranteed: resolves only when nothing with the label is left; objects of others are never touched. Repeatable.
 */
import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { NotFoundError } from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { formatGvk } from "../../kube/gvk.ts"
import type { Kind } from "../../kube/kind.ts"
import { replayLabel } from "../objects/target-object.ts"
import { clusterScopedKinds } from "./cluster-scoped-kinds.ts"

/** Something with the replay's label is still there. */
export class CleanUpIncomplete extends Schema.TaggedError<CleanUpIncomplete>()("CleanUpIncomplete", {
  replay: Schema.String,
  /** `v1.Namespace virtual-shop`, the first few. */
  left: Schema.Array(Schema.String),
  /** How many there are. */
  count: Schema.Number,
  /** s that were waited. */
  afterSeconds: Schema.Number,
}) {
  override get message(): string {
    const more = this.count > this.left.length ? ` and ${this.count - this.left.length} more` : ""
    return `not everything that replay ${this.replay} created is gone after ${this.afterSeconds} s: ${this.left.join(", ")}${more}. Finalizers may hold it; try again with reel replay --clean ${this.replay}`
  }
}

export interface CleanUpOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly replay: string
  readonly signal: AbortSignal
  /** Called with the number of labelled objects that are left. */
  readonly onProgress?: (left: number) => void
}

/** What was removed, by kind. */
export interface CleanUpSummary {
  readonly removed: number
}

/** ms that finalizers and namespaces may take; SimKube's limit as well. */
const limitMs = 300_000
const lookMs = 500
const mostNamed = 5

interface Found {
  readonly kind: Kind
  readonly object: ApiObject
}

/** Rejects with {@link CleanUpIncomplete}, or with the ApiError of a request. */
export const cleanUp = async (options: CleanUpOptions): Promise<CleanUpSummary> => {
  const { client, clock, replay, signal, onProgress } = options
  const served = await clusterScopedKinds(client.connection)
  // Definitions last: with one, the server deletes all objects of its kind.
  const ordered = served.toSorted((left, right) => rankOf(left) - rankOf(right))
  const startedMs = clock.monotonicMs()
  const deleted = new Set<string>()
  for (;;) {
    const found = await labelled(client, ordered, replay, signal)
    onProgress?.(found.length)
    if (found.length === 0) return { removed: deleted.size }
    for (const { kind, object } of found) {
      const uid = object.metadata.uid ?? ""
      if (deleted.has(uid)) continue
      deleted.add(uid)
      if (object.metadata.deletionTimestamp === undefined) await remove(client, kind, object, signal)
    }
    const afterMs = clock.monotonicMs() - startedMs
    if (afterMs > limitMs) {
      const left = found.map(({ kind, object }) => `${formatGvk(kind.gvk)} ${object.metadata.name}`)
      const facts = { left: left.slice(0, mostNamed), count: left.length, afterSeconds: Math.round(afterMs / 1000) }
      throw new CleanUpIncomplete({ replay, ...facts })
    }
    await new Promise<void>((resolve) => clock.after(lookMs, resolve))
  }
}

const rankOf = ({ gvk }: Kind): number =>
  gvk.kind === "CustomResourceDefinition" ? 2 : gvk.kind === kinds.namespaces.gvk.kind ? 1 : 0

const labelled = async (
  client: ApiClient,
  served: ReadonlyArray<Kind>,
  replay: string,
  signal: AbortSignal,
): Promise<ReadonlyArray<Found>> => {
  const options = { labelSelector: `${replayLabel}=${replay}`, signal }
  const lists = await Promise.all(
    served.map(async (kind) => {
      try {
        const { items } = await client.list<ApiObject>(kind, options)
        return items.map((object) => ({ kind, object }))
      } catch (error) {
        // A kind may disappear with its definition.
        if (error instanceof NotFoundError) return []
        throw error
      }
    }),
  )
  return lists.flat()
}

const remove = async (client: ApiClient, kind: Kind, { metadata }: ApiObject, signal: AbortSignal): Promise<void> => {
  try {
    const uid = metadata.uid === undefined ? {} : { uid: metadata.uid }
    await client.delete(kind, metadata, { propagationPolicy: "Background", ...uid, signal })
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
  }
}
