/**
 * The hooks that this process runs, besides its reconciles: pauses, deletions and the Lease must not wait for them.
 * At most one phase of a Simulation runs at a time; each run is in the status before its process starts. When the
 * controller's term ends, all processes are ended.
 */

import type { Clock } from "../../clock.ts"
import type { ControllerCluster } from "../../host/index.ts"
import { messageOf } from "../../message-of.ts"
import { nameOfKind } from "../api/derived-names.ts"
import type { Hook, Simulation } from "../api/simulation.ts"
import { describeHookFailure, recordHookRun, runHook, runPhase } from "../hooks/run-phase.ts"
import { NotDone } from "./problems.ts"
import type { Announcement } from "./state/decide.ts"

type ControllerPhase = "preStart" | "postStop"

/** What hooks are given, and who hears of them. */
interface HookRunsOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly onOutput: (simulation: string, chunk: Buffer) => void
  /** A phase has ended, however: the Simulation has to be looked at again. */
  readonly onEnd: (simulation: string) => void
  readonly onTrouble: (detail: string) => void
}

/** `cluster`: its signal ends the hooks. */
interface PhaseRequest {
  readonly simulation: Simulation
  readonly phase: ControllerPhase
  readonly hooks: ReadonlyArray<Hook>
  readonly cluster: ControllerCluster
  readonly announce: (announcement: Announcement) => void
}

interface Running {
  readonly phase: ControllerPhase
  readonly abort: AbortController
  readonly ended: Promise<void>
}

/** ms after which hooks that could not be recorded are tried again. */
const recordAgainMs = 5000

/** Of one process. */
export class HookRuns {
  readonly #options: HookRunsOptions
  /** By UID. */
  readonly #running = new Map<string, Running>()
  /** By UID: why hooks could not be recorded, and until when they are not tried again. */
  readonly #unrecorded = new Map<string, { readonly message: string; readonly untilMs: number }>()
  #isClosing = false

  constructor(options: HookRunsOptions) {
    this.#options = options
  }

  phaseOf(uid: string): ControllerPhase | undefined {
    return this.#running.get(uid)?.phase
  }

  /**
   * Nothing happens if hooks of the Simulation are running already, or this is being closed. Throws {@link NotDone} for some seconds after hooks could
   * not be recorded, so that this is said, repeated with a back-off, and given up in time.
   */
  start(request: PhaseRequest): void {
    const { metadata } = request.simulation
    const uid = metadata.uid ?? ""
    if (this.#isClosing || this.#running.has(uid)) return
    const failure = this.#unrecorded.get(uid)
    if (failure !== undefined && this.#options.clock.monotonicMs() < failure.untilMs)
      throw new NotDone("transient", "HooksNotRecorded", failure.message)
    this.#unrecorded.delete(uid)
    const abort = new AbortController()
    const ended = this.#run(request, AbortSignal.any([abort.signal, request.cluster.signal])).finally(() => {
      this.#running.delete(uid)
      this.#options.onEnd(metadata.name)
    })
    this.#running.set(uid, { phase: request.phase, abort, ended })
  }

  /** Ends the process that runs for the Simulation; the rest of its phase is not run. */
  stop(uid: string): void {
    this.#running.get(uid)?.abort.abort()
  }

  /** Starts nothing more, and resolves when all have ended: by themselves within `limitMs`, or because they were ended then. */
  async close(limitMs: number): Promise<void> {
    this.#isClosing = true
    const timer = this.#options.clock.after(limitMs, () => {
      for (const { abort } of this.#running.values()) abort.abort()
    })
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    timer.cancel()
  }

  /** Never rejects. */
  async #run({ simulation, phase, hooks, cluster, announce }: PhaseRequest, signal: AbortSignal): Promise<void> {
    const { environment, clock, onOutput, onTrouble } = this.#options
    const { name, uid } = simulation.metadata
    const type = phase === "preStart" ? "PreStart" : "PostStop"
    const action = `${type}HookExecuted`
    try {
      // What the caller observed may be older than the end of the last run, which would then count as interrupted.
      const { status } = await cluster.getLive<Simulation>(nameOfKind.simulation, { name })
      const failure = await runPhase({
        phase,
        repetition: undefined,
        hooks,
        earlier: status?.hooks ?? [],
        record: (run) => {
          const read = () => cluster.getLive<Simulation>(nameOfKind.simulation, simulation.metadata)
          const write = (latest: Simulation, patch: object) =>
            cluster.patch<Simulation>(latest, "merge", patch, "status")
          return recordHookRun({ uid, read, write, clock, run, signal })
        },
        run: (hook) =>
          runHook(hook, {
            simulation,
            environment,
            timers: clock,
            signal,
            onOutput: (chunk) => onOutput(name, chunk),
          }),
        now: () => cluster.now(),
      })
      announce(
        failure === undefined
          ? { type: "Normal", reason: `${type}HooksSucceeded`, action, message: `${hooks.length} hooks have run` }
          : { type: "Warning", reason: `${type}HookFailed`, action, message: describeHookFailure(failure) },
      )
    } catch (error) {
      // The end of the term: the next one finds the hook begun, and takes it for interrupted.
      if (cluster.signal.aborted) return
      const message = `the ${phase} hooks could not be recorded: ${messageOf(error)}`
      this.#unrecorded.set(simulation.metadata.uid ?? "", { message, untilMs: clock.monotonicMs() + recordAgainMs })
      onTrouble(`${name}: ${message}`)
    }
  }
}
