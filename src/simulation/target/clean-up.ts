/**
 * Removes what a replay created: everything with its label, and with its namespaces all that is in them, also of a
 * replay that was killed. Resolves only when nothing with the label is left; objects of others are never touched.
 * Repeatable.
 */
import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import {
  type ApiClient,
  type ApiConnection,
  type ApiObject,
  ApiUnreachableError,
  bodyOf,
  type Call,
  ConflictError,
  type Kind,
  kinds,
  NotFoundError,
  pause,
} from "../../kube/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import { replayLabel } from "../objects/target-object.ts"

// The cluster-scoped kinds of a server that can be listed and deleted, each once, in the version that the server prefers.

interface GroupList {
  readonly groups?: ReadonlyArray<{ readonly preferredVersion?: { readonly groupVersion?: string } }>
}

interface ResourceList {
  readonly resources?: ReadonlyArray<{
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs?: ReadonlyArray<string>
  }>
}

/** What a server says about its kinds. */
interface ServedKinds {
  readonly served: ReadonlyArray<Kind>
  /** Group versions whose kinds are not known, such as those of an aggregated API whose server is down, and why. */
  readonly failures: ReadonlyMap<string, string>
}

/** Rejects with the ApiError of the request for the groups, or for the core group. */
const clusterScopedKinds = async (connection: ApiConnection, signal: AbortSignal): Promise<ServedKinds> => {
  const { groups = [] } = await read<GroupList>(connection, "/apis", signal)
  const versions = groups.flatMap(({ preferredVersion }) => preferredVersion?.groupVersion ?? [])
  const failures = new Map<string, string>()
  const core = "/api/v1"
  const lists = await Promise.all(
    [core, ...versions.map((groupVersion) => `/apis/${groupVersion}`)].map(async (path) => {
      try {
        return { path, list: await read<ResourceList>(connection, path, signal) }
      } catch (error) {
        if (path === core) throw error
        failures.set(path, messageOf(error))
        return { path, list: {} }
      }
    }),
  )
  const served = lists.flatMap(({ path, list: { resources = [] } }) =>
    resources
      .filter(({ name, namespaced, verbs = [] }) => !name.includes("/") && !namespaced && isRemovable(verbs))
      .map(({ name, kind }) => ({ gvk: { ...groupVersionOf(path), kind }, plural: name, namespaced: false })),
  )
  return { served, failures }
}

const isRemovable = (verbs: ReadonlyArray<string>): boolean => verbs.includes("list") && verbs.includes("delete")

const groupVersionOf = (path: string): { readonly group: string; readonly version: string } => {
  const [, , first = "", second] = path.split("/")
  return second === undefined ? { group: "", version: first } : { group: first, version: second }
}

const read = async <T>(connection: ApiConnection, path: string, signal: AbortSignal): Promise<T> => {
  const call: Call = { question: { verb: "get", kind: path, namespace: "", name: "" }, method: "GET", path }
  const body = bodyOf<T | null>(call, await connection.call(call, { signal }))
  if (body !== null) return body
  throw new ApiUnreachableError({ ...call.question, failure: "unreadable", detail: "the response is null" })
}

/** Something with the replay's label is still there. */
export class RemovalIncomplete extends Schema.TaggedError<RemovalIncomplete>()("RemovalIncomplete", {
  replay: Schema.String,
  /** `v1.Namespace virtual-shop`, the first few. */
  left: Schema.Array(Schema.String),
  /** How many there are. */
  count: Schema.Number,
  /** s that were waited. */
  afterSeconds: Schema.Number,
  /** What the last deletion that failed was refused with; may be empty. */
  lastFailure: Schema.String,
}) {
  override get message(): string {
    const more = this.count > this.left.length ? ` and ${this.count - this.left.length} more` : ""
    return `not everything that replay ${this.replay} created is gone after ${this.afterSeconds} s: ${this.left.join(", ")}${more}. ${this.lastFailure === "" ? "Finalizers may hold it" : this.lastFailure}; try again with reel replay --clean ${this.replay}`
  }
}

/** Everything that was found is removed, but some kinds could not be listed. */
export class RemovalUnchecked extends Schema.TaggedError<RemovalUnchecked>()("RemovalUnchecked", {
  replay: Schema.String,
  /** One sentence for each. */
  unchecked: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `everything of replay ${this.replay} that was found is removed, but not all kinds could be checked: ${this.unchecked.join("; ")}`
  }
}

/** Which replay is removed. `signal` ends the removal, which then rejects. */
export interface CleanUpOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly replay: string
  readonly signal: AbortSignal
  /** Called with the number of labelled objects that are left. */
  readonly onProgress?: (left: number) => void
}

/** What was done once nothing with the label is left. */
interface CleanUpSummary {
  /** Labelled objects; what was in the namespaces among them is not counted. */
  readonly removed: number
  /** What could not be looked at, and why: an aggregated API whose server is down must not keep everything else in the target. */
  readonly unchecked: ReadonlyArray<string>
}

/** ms that finalizers and namespaces may take; SimKube's limit as well. */
const limitMs = 300_000
const lookMs = 500
const mostNamed = 5

interface Found {
  readonly kind: Kind
  readonly object: ApiObject
}

/** Rejects with {@link RemovalIncomplete}, or with an ApiError if namespaces cannot be listed. */
export const cleanUp = async (options: CleanUpOptions): Promise<CleanUpSummary> => {
  const { client, clock, replay, signal, onProgress } = options
  const { served, failures } = await clusterScopedKinds(client.connection, signal)
  // Definitions last: with one, the server deletes all objects of its kind.
  const ordered = served.toSorted((left, right) => rankOf(left) - rankOf(right))
  const startedMs = clock.monotonicMs()
  const deleted = new Set<string>()
  for (;;) {
    const unchecked = new Map(failures)
    const found = await labelled(client, ordered, replay, signal, unchecked)
    onProgress?.(found.length)
    if (found.length === 0) return { removed: deleted.size, unchecked: [...unchecked.values()] }
    let lastFailure = ""
    for (const { kind, object } of found) {
      const uid = object.metadata.uid ?? ""
      if (object.metadata.deletionTimestamp === undefined)
        lastFailure = (await remove(client, kind, object, signal)) ?? lastFailure
      deleted.add(uid)
    }
    const afterMs = clock.monotonicMs() - startedMs
    if (afterMs > limitMs || signal.aborted) {
      const left = found.map(({ kind, object }) => `${formatGvk(kind.gvk)} ${object.metadata.name}`)
      const facts = { left: left.slice(0, mostNamed), count: left.length, afterSeconds: Math.round(afterMs / 1000) }
      throw new RemovalIncomplete({ replay, ...facts, lastFailure })
    }
    await pause(clock, lookMs, signal)
  }
}

const rankOf = ({ gvk }: Kind): number =>
  gvk.kind === "CustomResourceDefinition" ? 2 : gvk.kind === kinds.namespaces.gvk.kind ? 1 : 0

/** Adds to `unchecked` the kinds that could not be listed. */
const labelled = async (
  client: ApiClient,
  served: ReadonlyArray<Kind>,
  replay: string,
  signal: AbortSignal,
  unchecked: Map<string, string>,
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
        if (kind.gvk.kind === kinds.namespaces.gvk.kind) throw error
        unchecked.set(formatGvk(kind.gvk), messageOf(error))
        return []
      }
    }),
  )
  return lists.flat()
}

/** Returns why it failed, if it did; it is tried again while the object is found. */
const remove = async (
  client: ApiClient,
  kind: Kind,
  { metadata }: ApiObject,
  signal: AbortSignal,
): Promise<string | undefined> => {
  try {
    const uid = metadata.uid === undefined ? {} : { uid: metadata.uid }
    await client.delete(kind, metadata, { propagationPolicy: "Background", ...uid, signal })
    return undefined
  } catch (error) {
    return error instanceof NotFoundError || error instanceof ConflictError ? undefined : messageOf(error)
  }
}
