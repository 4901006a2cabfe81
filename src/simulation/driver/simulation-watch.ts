/**
 * The Simulation while it is driven: its present state, and what changes. A watch, so a pause takes effect at once; what was decided before the driver
 * started is in the object itself.
 *
 * Guaranteed: after an interruption of the watch the latest state is delivered; a deletion is noticed, even if another Simulation has the name by then. A state
 * that cannot be understood is reported and ignored.
 */
import * as Result from "effect/Result"
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { NotFoundError } from "../../kube/client/api-errors.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { type ObjectWatch, watchObjects } from "../../kube/client/watch-objects.ts"
import { simulationKind } from "../api/derived-names.ts"
import { readSimulation, type Simulation } from "../api/simulation.ts"
import { DriverFailure } from "./driver-failure.ts"

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
