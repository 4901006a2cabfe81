/**
 * The SimulationRoot of one repetition, the owner of everything that it creates. The Simulation owns the root, so nothing stays behind if the driver is
 * killed: the controller or the garbage collector removes the root.
 */
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { AlreadyExistsError, ConflictError, ForbiddenError, NotFoundError } from "../../kube/client/api-errors.ts"
import type { ApiObject, Metadata } from "../../kube/client/objects.ts"
import { messageOf } from "../../message-of.ts"
import { simulationLabel, simulationRootKind } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { type ReplayRoot, replayLabel } from "../objects/target-object.ts"
import type { RootKeeper } from "../replay/replay-root.ts"
import { DriverFailure } from "./driver-failure.ts"

/** Whose root it is. `signal` ends the creation. */
interface SimulationRootOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly simulation: Simulation
  /** The driver's pod. */
  readonly pod: string
  /** The value of the label of what the repetition creates. */
  readonly replay: string
  readonly signal: AbortSignal
}

/** ms that finalizers and namespaces may take; SimKube's limit as well. */
const limitMs = 300_000
const lookMs = 500

/** `create` returns the same root again once it exists; a second `remove` settles as the first. */
export const simulationRoot = (options: SimulationRootOptions): RootKeeper => {
  const { client, simulation, pod, replay, signal } = options
  const { name: owner, uid: ownerUid = "" } = simulation.metadata
  const metadata: Metadata = {
    name: `${pod}-root`,
    labels: {
      [simulationLabel]: owner,
      [replayLabel]: replay,
      "app.kubernetes.io/name": replay,
      "app.kubernetes.io/managed-by": "kubereel",
    },
    ownerReferences: [
      {
        apiVersion: simulation.apiVersion,
        kind: simulation.kind,
        name: owner,
        uid: ownerUid,
        blockOwnerDeletion: true,
      },
    ],
  }
  let created: ReplayRoot | undefined
  let removal: Promise<void> | undefined

  const create = async (): Promise<ReplayRoot> => {
    const { gvk } = simulationRootKind
    const apiVersion = `${gvk.group}/${gvk.version}`
    const object = { apiVersion, kind: gvk.kind, metadata, spec: {} }
    for (;;) {
      try {
        const { metadata: stored } = await client.create<ApiObject>(simulationRootKind, object, { signal })
        return { apiVersion, kind: gvk.kind, name: metadata.name, uid: stored.uid ?? "", blockOwnerDeletion: true }
      } catch (error) {
        if (!(error instanceof AlreadyExistsError)) throw unusable(error)
      }
      await removeEarlier()
    }
  }

  /** The same pod had created it before: its response was lost, or the pod's container was started again. */
  const removeEarlier = async (): Promise<void> => {
    const earlier = await found(client, metadata.name, signal)
    if (earlier === undefined) return
    if (!(earlier.metadata.ownerReferences ?? []).some(({ uid }) => uid === ownerUid))
      throw new DriverFailure({
        problem: `there is a SimulationRoot ${metadata.name} that does not belong to the Simulation ${owner}: delete it, or let the driver's pod have another name`,
      })
    await removed(options, earlier.metadata, signal)
  }

  const removeOnce = async (ending: AbortSignal): Promise<void> => {
    // Also without an answer to its creation.
    const root = created ?? (await found(client, metadata.name, ending))?.metadata
    if (root !== undefined) await removed(options, root, ending)
  }

  return {
    create: async () => {
      created ??= await create()
      return created
    },
    remove: (removing) => {
      removal ??= removeOnce(removing.signal)
      return removal
    },
  }
}

const unusable = (error: unknown): DriverFailure => {
  const advice =
    error instanceof ForbiddenError
      ? "; the ServiceAccount of the driver needs the permissions of the ClusterRole kubereel-simulation-driver"
      : ""
  return new DriverFailure({ problem: `the root of the replay cannot be created: ${messageOf(error)}${advice}` })
}

/** Deletes in the foreground, and waits until the root, and so all that blocks its deletion, is gone. */
const removed = async (
  { client, clock, simulation, replay }: SimulationRootOptions,
  { name, uid }: Pick<Metadata, "name" | "uid">,
  signal: AbortSignal,
): Promise<void> => {
  const startedMs = clock.monotonicMs()
  for (let lastFailure = ""; ; ) {
    const root = await found(client, name, signal)
    if (root === undefined || root.metadata.uid !== uid) return
    if (root.metadata.deletionTimestamp === undefined) {
      try {
        const precondition = uid === undefined ? {} : { uid }
        await client.delete(simulationRootKind, { name }, { propagationPolicy: "Foreground", ...precondition, signal })
        lastFailure = ""
      } catch (error) {
        if (!(error instanceof NotFoundError || error instanceof ConflictError)) lastFailure = `: ${messageOf(error)}`
      }
    }
    const afterMs = clock.monotonicMs() - startedMs
    if (afterMs > limitMs || signal.aborted)
      throw new DriverFailure({
        problem: `not everything that was replayed for the Simulation ${simulation.metadata.name} is gone after ${Math.round(afterMs / 1000)} s${lastFailure}; finalizers may hold namespaces or objects with the label ${replayLabel}=${replay}: remove those, and the rest follows`,
      })
    await new Promise<void>((resolve) => clock.after(lookMs, resolve))
  }
}

const found = async (client: ApiClient, name: string, signal: AbortSignal): Promise<ApiObject | undefined> => {
  try {
    return await client.get<ApiObject>(simulationRootKind, { name }, { signal })
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}
