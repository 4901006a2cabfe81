/** One module of a dispatcher: what it is, where it is, and what has become of it. The dispatcher alone changes it. */
import type { Timer } from "../../clock.ts"
import type { CompiledGuest } from "../guest/compiled-guest.ts"
import type { ModuleLifecycle } from "./module-lifecycle.ts"
import type { ModuleStatus } from "./module-status.ts"
import { BusyWindow, busyMemory } from "./placing/busy-time.ts"
import type { Assignment, InstanceStatistics } from "./worker/definition.ts"
import type { WorkerPlace } from "./worker-place.ts"

/** A module to run; it is registered with the executor already. */
export interface ModuleSpec {
  /** Unique in the host. */
  readonly name: string
  /** Path of the WebAssembly file, which is read at each start. */
  readonly file: string
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
  /** Bytes of linear memory. */
  readonly maximumMemoryBytes: number
  /** ms that one call may take. */
  readonly deadlineMs: number
  /** Where it keeps its checkpoint. Absent: it keeps none. */
  readonly checkpointDirectory?: string | undefined
}

export class DispatchedModule {
  readonly spec: ModuleSpec
  /** Its number in entry marks: unique among the modules of the host. */
  readonly slot: number
  readonly lifecycle: ModuleLifecycle
  readonly busy: BusyWindow
  place: WorkerPlace | undefined
  /** Of the back-off before its next start. */
  retry: Timer | undefined
  /** Its first load; never rejects. */
  firstLoad: Promise<void> | undefined
  /** Why its file is no module that can run. */
  refusal: string | undefined
  missed = 0
  moves = 0
  /** What its present instance runs, once it has been loaded. */
  running: { readonly incarnation: number; readonly compiled: CompiledGuest } | undefined
  isMoving = false
  /** The end of the last instance at its worker. */
  released: Promise<unknown> = Promise.resolve()
  readonly #busyMemory = busyMemory()

  /** `busyWindowMs`: over which its share of a worker's time is measured. */
  constructor(spec: ModuleSpec, slot: number, lifecycle: ModuleLifecycle, busyWindowMs: number) {
    this.spec = spec
    this.slot = slot
    this.lifecycle = lifecycle
    this.busy = new BusyWindow(this.#busyMemory, busyWindowMs)
  }

  get name(): string {
    return this.spec.name
  }

  /** Whether that life of it still goes on. */
  isIn(incarnation: number): boolean {
    return this.lifecycle.phase === "running" && this.lifecycle.incarnation === incarnation
  }

  /** Whether its instance can be moved: it is loaded, does not move already, and no thread has the file of its checkpoint open. */
  get isMovable(): boolean {
    const isLoaded = this.running?.incarnation === this.lifecycle.incarnation
    return isLoaded && !this.isMoving && this.spec.checkpointDirectory === undefined
  }

  /** What a worker needs to run it. */
  assignment(incarnation: number, compiled: CompiledGuest): Assignment {
    const { name, env, maximumMemoryBytes, checkpointDirectory } = this.spec
    const busy = this.#busyMemory
    return { module: name, incarnation, slot: this.slot, compiled, env, maximumMemoryBytes, checkpointDirectory, busy }
  }

  /** `instance`: what its worker says, if it does. */
  status(instance: InstanceStatistics | undefined): ModuleStatus {
    const { name, lifecycle, refusal, place, missed, moves } = this
    return {
      name,
      phase: refusal === undefined ? lifecycle.phase : "refused",
      reason: refusal ?? lifecycle.reason,
      restarts: lifecycle.restarts,
      isAlone: lifecycle.isAlone,
      worker: place?.name,
      missed,
      moves,
      ...(instance?.incarnation === lifecycle.incarnation && { instance }),
    }
  }
}
