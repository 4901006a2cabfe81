/**
 * The Simulation while it is driven. A watch, so a pause takes effect at once; a deletion is noticed even if another
 * Simulation has the name by then, and a state that cannot be understood is reported and ignored.
 */
import * as Result from "effect/Result"
import type { Clock } from "../../clock.ts"
import {
  AlreadyExistsError,
  type ApiClient,
  type ApiObject,
  ConflictError,
  ForbiddenError,
  type Metadata,
  NotFoundError,
  type ObjectWatch,
  pause,
  unlessNotFound,
  watchObjects,
} from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { simulationKind, simulationLabel, simulationRootKind } from "../api/derived-names.ts"
import { readSimulation, type Simulation } from "../api/simulation.ts"
import { type ReplayRoot, replayLabel } from "../objects/target-object.ts"
import type { RootKeeper } from "../replay/replay-root.ts"
import { unlessExists } from "../target/target-cluster.ts"
import { DriverFailure } from "./driver-setting.ts"

// The SimulationRoot of one repetition, the owner of everything that it creates. The Simulation owns the root, so nothing stays behind if the driver is
// killed: the controller or the garbage collector removes the root.

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
      const creation = client.create<ApiObject>(simulationRootKind, object, { signal }).catch(unusable)
      const uid = (await unlessExists(creation))?.metadata.uid
      if (uid !== undefined) return { apiVersion, kind: gvk.kind, name: metadata.name, uid, blockOwnerDeletion: true }
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

/** @throws AlreadyExistsError as it is, and any other error as a {@link DriverFailure} */
const unusable = (error: unknown): never => {
  if (error instanceof AlreadyExistsError) throw error
  const advice =
    error instanceof ForbiddenError
      ? "; the ServiceAccount of the driver needs the permissions of the ClusterRole kubereel-simulation-driver"
      : ""
  throw new DriverFailure({ problem: `the root of the replay cannot be created: ${messageOf(error)}${advice}` })
}

/** Deletes in the foreground, and waits until the root, and so all that blocks its deletion, is gone. */
const removed = async (
  { client, clock, simulation, replay }: SimulationRootOptions,
  { name, uid }: Pick<Metadata, "name" | "uid">,
  signal: AbortSignal,
): Promise<void> => {
  const startedMs = clock.monotonicMs()
  for (let lastFailure = ""; ; ) {
    try {
      const root = await found(client, name, signal)
      if (root === undefined || root.metadata.uid !== uid) return
      const precondition = uid === undefined ? {} : { uid }
      if (root.metadata.deletionTimestamp === undefined)
        await client.delete(simulationRootKind, { name }, { propagationPolicy: "Foreground", ...precondition, signal })
      lastFailure = ""
    } catch (error) {
      if (!(error instanceof NotFoundError || error instanceof ConflictError)) lastFailure = `: ${messageOf(error)}`
    }
    const afterMs = clock.monotonicMs() - startedMs
    if (afterMs > limitMs || signal.aborted)
      throw new DriverFailure({
        problem: `not everything that was replayed for the Simulation ${simulation.metadata.name} is gone after ${Math.round(afterMs / 1000)} s${lastFailure}; finalizers may hold namespaces or objects with the label ${replayLabel}=${replay}: remove those, and the rest follows`,
      })
    await pause(clock, lookMs, signal)
  }
}

const found = (client: ApiClient, name: string, signal: AbortSignal): Promise<ApiObject | undefined> =>
  unlessNotFound(client.get<ApiObject>(simulationRootKind, { name }, { signal }))

/** Which Simulation, and who hears of it. */
interface SimulationWatchOptions {
  readonly client: ApiClient
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly name: string
  readonly signal: AbortSignal
  /** It has changed; not called for the first state. */
  readonly onChange: (simulation: Simulation) => void
  /** It is being deleted, or gone. Called once, and nothing afterwards. */
  readonly onDeleted: () => void
  /** Gets one line for people for whatever limits the watch. */
  readonly onProblem: (problem: string) => void
}

/** Watches from {@link SimulationWatch.start} to {@link SimulationWatch.stop}. */
export class SimulationWatch {
  readonly #options: SimulationWatchOptions
  readonly #uid: string
  readonly #watch: ObjectWatch
  #latest: Simulation
  #isListed = false
  #isOver = false

  private constructor(options: SimulationWatchOptions, first: Simulation) {
    this.#options = options
    this.#latest = first
    this.#uid = first.metadata.uid ?? ""
    const { client, clock, random, name, onProblem } = options
    this.#watch = watchObjects<ApiObject>(
      client.connection,
      { kind: simulationKind, fieldSelector: `metadata.name=${name}`, clock, random },
      {
        listStarted: () => {
          this.#isListed = false
        },
        listed: (object) => this.#seen(object, false),
        listCompleted: () => {
          if (!this.#isListed) this.#deleted()
        },
        changed: (object, isDeleted) => this.#seen(object, isDeleted),
        readDone: () => undefined,
        progressed: () => undefined,
        historyStarted: () => undefined,
        stateChanged: (state, detail) => {
          if (state === "forbidden") onProblem(`pauses and changes of speed are not noticed: ${detail}`)
        },
        alarm: (detail) => onProblem(`watching the Simulation ${name}: ${detail}`),
      },
    )
    this.#watch.start()
  }

  /** Rejects with {@link DriverFailure} if there is no such Simulation, or it cannot be run, and with an ApiError. */
  static async start(options: SimulationWatchOptions): Promise<SimulationWatch> {
    const { client, name, signal } = options
    let object: ApiObject
    try {
      object = await client.get<ApiObject>(simulationKind, { name }, { signal })
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
      throw new DriverFailure({
        problem: `there is no Simulation ${name} in this cluster: check --sim-name, and that the definitions of reel crd are applied`,
      })
    }
    const read = readSimulation(object)
    if (Result.isFailure(read)) throw new DriverFailure({ problem: read.failure.message })
    if (object.metadata.deletionTimestamp !== undefined) throw new DriverFailure({ problem: beingDeleted(name) })
    return new SimulationWatch(options, read.success)
  }

  get latest(): Simulation {
    return this.#latest
  }

  /** Nothing is called afterwards. */
  stop(): void {
    this.#isOver = true
    this.#watch.stop()
  }

  #seen(object: ApiObject, isDeleted: boolean): void {
    if (this.#isOver) return
    this.#isListed = true
    const { uid, deletionTimestamp, resourceVersion } = object.metadata
    if (isDeleted || uid !== this.#uid || deletionTimestamp !== undefined) return this.#deleted()
    if (resourceVersion === this.#latest.metadata.resourceVersion) return
    const read = readSimulation(object)
    if (Result.isFailure(read)) return this.#options.onProblem(read.failure.message)
    this.#latest = read.success
    this.#options.onChange(read.success)
  }

  #deleted(): void {
    if (this.#isOver) return
    this.stop()
    this.#options.onDeleted()
  }
}

/** One sentence for people. */
export const beingDeleted = (name: string): string => `the Simulation ${name} is being deleted`
