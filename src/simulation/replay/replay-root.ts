/** The namespace to which everything that a replay creates belongs, and the check that the target is not the cluster that was recorded. */
import { randomUUID } from "node:crypto"
import * as Schema from "effect/Schema"
import {
  type ApiClient,
  type ApiObject,
  ApiUnreachableError,
  ForbiddenError,
  kinds,
  UnauthorizedError,
  unlessNotFound,
} from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { isRefusedCertificate } from "../../recorder/index.ts"
import { type ReplayRoot, replayLabel, rootNamespace } from "../objects/target-object.ts"
import { type CleanUpOptions, cleanUp, RemovalUnchecked } from "../target/clean-up.ts"
import { unlessExists } from "../target/target-cluster.ts"

// Why a replay cannot start, or ends before the end of its trace.

/** A replay of that name exists in the target. */
export class ReplayExists extends Schema.TaggedError<ReplayExists>()("ReplayExists", {
  replay: Schema.String,
}) {
  override get message(): string {
    return `the target has a replay named ${this.replay}: another one is running under that name, or was not cleaned up. Choose another --name, or remove it with reel replay --clean ${this.replay}`
  }
}

/** The target did not accept the first object, the namespace to which all others belong. */
export class TargetUnusable extends Schema.TaggedError<TargetUnusable>()("TargetUnusable", {
  detail: Schema.String,
  /** Whether a permission is missing. */
  isForbidden: Schema.Boolean,
  /** Whether the target does not accept the credentials; `detail` is then its reason alone. */
  isUnauthorized: Schema.Boolean,
}) {
  override get message(): string {
    return `cannot replay into this cluster: ${this.detail}`
  }
}

/** The target is the cluster whose trace it is. */
export class RecordedCluster extends Schema.TaggedError<RecordedCluster>()("RecordedCluster", {
  /** UID of namespace kube-system. */
  clusterUid: Schema.String,
}) {
  override get message(): string {
    return "the trace was recorded in this very cluster; name another one, or add --into-recorded-cluster if that is what you want"
  }
}

/** Most sentences that a message has; a dry run has all. */
const mostTold = 5

/** Known before anything was created: the target will refuse changes of the trace. */
export class TargetLacks extends Schema.TaggedError<TargetLacks>()("TargetLacks", {
  /** One sentence each: kinds that it does not serve, names that it cannot have, … */
  refused: Schema.Array(Schema.String),
  /** The same for permissions. */
  forbidden: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const all = [...this.refused, ...this.forbidden]
    const more = all.length > mostTold ? `; and ${all.length - mostTold} more, see --dry-run` : ""
    return `the cluster cannot take this trace: ${all.slice(0, mostTold).join("; ")}${more}. Nothing was created. --partial replays what it can take`
  }
}

const instant = (micros: number): string => new Date(micros / 1000).toISOString()

/** What was requested is before or after the trace. */
export class OutsideTrace extends Schema.TaggedError<OutsideTrace>()("OutsideTrace", {
  /** µs since the Unix epoch. */
  start: Schema.Number,
  end: Schema.Number,
}) {
  override get message(): string {
    return `the trace is from ${instant(this.start)} to ${instant(this.end)}; --from and --to must overlap it`
  }
}

/** Creates the root of a replay, and removes what belongs to it. */
export interface RootKeeper {
  /** Rejects with {@link ReplayExists} or {@link TargetUnusable}; then nothing is left. Called before anything else is created. */
  readonly create: () => Promise<ReplayRoot>
  /**
   * Resolves when nothing that belongs to the replay is left. Rejects with RemovalIncomplete, RemovalUnchecked or an ApiError. `signal` ends it, and
   * `onProgress` gets the number of objects that are left, as far as it is known.
   */
  readonly remove: (options: Pick<CleanUpOptions, "signal" | "onProgress">) => Promise<void>
}

/** A namespace as the root; what has the label of the replay is removed, whether or not the garbage collector runs. */
export const namespaceRoot = ({
  client,
  clock,
  replay,
}: Pick<CleanUpOptions, "client" | "clock" | "replay">): RootKeeper => ({
  create: () => createRoot(client, replay),
  remove: async (options) => {
    const { unchecked } = await cleanUp({ client, clock, replay, ...options })
    if (unchecked.length > 0) throw new RemovalUnchecked({ replay, unchecked })
  },
})

/** Tells the root of one run from that of another of the same name. */
const runAnnotation = "kubereel.dev/run"

/**
 * Creates the root of a replay. A creation whose response is lost is repeated, and then finds its own namespace. Rejects with
 * {@link ReplayExists} or {@link TargetUnusable}.
 */
const createRoot = async (client: ApiClient, replay: string): Promise<ReplayRoot> => {
  const run = randomUUID()
  const metadata = {
    name: rootNamespace(replay),
    labels: { [replayLabel]: replay },
    annotations: { [runAnnotation]: run },
  }
  try {
    const creation = client.create<ApiObject>(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata })
    const root = (await unlessExists(creation)) ?? (await client.get<ApiObject>(kinds.namespaces, metadata))
    if (root.metadata.annotations?.[runAnnotation] !== run) throw new ReplayExists({ replay })
    return { apiVersion: "v1", kind: "Namespace", name: metadata.name, uid: root.metadata.uid ?? "" }
  } catch (error) {
    if (error instanceof ReplayExists) throw error
    // Its response may be what is missing.
    if (!(error instanceof ForbiddenError)) await client.delete(kinds.namespaces, metadata).catch(() => undefined)
    throw unusable(error)
  }
}

/**
 * A UID of namespace kube-system identifies a cluster. Rejects with {@link RecordedCluster} if the target has this one, and with
 * {@link TargetUnusable} if the target does not say.
 */
export const refuseCluster = async (client: ApiClient, clusterUid: string): Promise<void> => {
  const system = await unlessNotFound(client.get<ApiObject>(kinds.namespaces, { name: "kube-system" })).catch(
    (error: unknown) => Promise.reject(unusable(error)),
  )
  if (system?.metadata.uid === clusterUid) throw new RecordedCluster({ clusterUid })
}

const unusable = (error: unknown): TargetUnusable => {
  const isUnauthorized =
    error instanceof UnauthorizedError || (error instanceof ApiUnreachableError && isRefusedCertificate(error.detail))
  const detail = isUnauthorized ? error.detail : messageOf(error)
  return new TargetUnusable({ detail, isForbidden: error instanceof ForbiddenError, isUnauthorized })
}
