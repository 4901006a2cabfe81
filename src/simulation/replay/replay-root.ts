/** The namespace to which everything that a replay creates belongs, and the check that the target is not the cluster that was recorded. */
import { randomUUID } from "node:crypto"
import type { ApiClient } from "../../kube/client/api-client.ts"
import {
  AlreadyExistsError,
  ApiUnreachableError,
  ForbiddenError,
  NotFoundError,
  UnauthorizedError,
} from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { messageOf } from "../../message-of.ts"
import { isRefusedCertificate } from "../../recorder/status/trouble-advice.ts"
import { type ReplayRoot, replayLabel, rootNamespace } from "../objects/target-object.ts"
import { type CleanUpOptions, cleanUp, RemovalUnchecked } from "../target/clean-up.ts"
import { RecordedCluster, ReplayExists, TargetUnusable } from "./errors.ts"

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
    const root = await createOrFind(client, { apiVersion: "v1", kind: "Namespace", metadata })
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
  let uid: string | undefined
  try {
    uid = (await client.get<ApiObject>(kinds.namespaces, { name: "kube-system" })).metadata.uid
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw unusable(error)
  }
  if (uid === clusterUid) throw new RecordedCluster({ clusterUid })
}

const unusable = (error: unknown): TargetUnusable => {
  const isUnauthorized =
    error instanceof UnauthorizedError || (error instanceof ApiUnreachableError && isRefusedCertificate(error.detail))
  const detail = isUnauthorized ? error.detail : messageOf(error)
  return new TargetUnusable({ detail, isForbidden: error instanceof ForbiddenError, isUnauthorized })
}

const createOrFind = async (client: ApiClient, object: ApiObject): Promise<ApiObject> => {
  try {
    return await client.create<ApiObject>(kinds.namespaces, object)
  } catch (error) {
    if (error instanceof AlreadyExistsError) return await client.get<ApiObject>(kinds.namespaces, object.metadata)
    throw error
  }
}
