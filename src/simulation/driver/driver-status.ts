/**
 * The driver's part of the status of its Simulation, by server-side apply: at most one write a second, of the latest
 * state. A definition without these fields, such as SimKube's, or missing permissions cost one line.
 */

import type { Clock } from "../../clock.ts"
import { EventRecorder } from "../../host/index.ts"
import { type ApiClient, type ApiError, ConflictError, pause } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { simulationKind } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { type HookRun, longestHistory, type RepetitionReport, type SimulationProgress } from "../api/status.ts"
import {
  describeHookFailure,
  HookUnrecordable,
  OutputLines,
  recordHookRun,
  runHook,
  runPhase,
} from "../hooks/run-phase.ts"

import { DriverFailure } from "./driver-setting.ts"

/** The field manager of what the driver writes into the status. */
export const driverFieldManager = "kubereel-driver"

/** ms between two writes. */
const intervalMs = 1000

/** Whose status. `onProblem` gets one line for people. */
interface DriverStatusOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after">
  readonly simulation: Simulation
  readonly pod: string
  readonly onProblem: (problem: string) => void
}

/** The status from construction to {@link DriverStatus.close}. */
export class DriverStatus {
  readonly #options: DriverStatusOptions
  #progress: SimulationProgress
  /** Those of earlier repetitions too: what an apply leaves out is removed. */
  #reports: ReadonlyArray<RepetitionReport>
  #isWanted = true
  #isRefused = false
  readonly #ending = new AbortController()
  readonly #writing: Promise<void>

  constructor(options: DriverStatusOptions, repetition: number) {
    this.#options = options
    this.#progress = { repetition, eventsSent: 0 }
    this.#reports = (options.simulation.status?.reports ?? []).filter((each) => each.repetition !== repetition)
    this.#writing = this.#writeAgain()
  }

  /** Written within a second. */
  progressed(progress: SimulationProgress): void {
    this.#progress = progress
    this.#isWanted = true
  }

  /** The end of the repetition: written at once, and nothing afterwards. Never rejects. */
  async finished(report: RepetitionReport): Promise<void> {
    const reports = [...this.#reports, report].toSorted((left, right) => left.repetition - right.repetition)
    this.#reports = reports.slice(-longestHistory)
    this.#isWanted = true
    await this.close()
  }

  /** Writes what is still to be written. Never rejects. */
  async close(): Promise<void> {
    this.#ending.abort()
    await this.#writing
    if (this.#isWanted) await this.#write()
  }

  async #writeAgain(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      if (this.#isWanted) await this.#write()
      await pause(this.#options.clock, intervalMs, this.#ending.signal)
    }
  }

  async #write(): Promise<void> {
    this.#isWanted = false
    if (this.#isRefused) return
    const { client, simulation, pod, onProblem } = this.#options
    const { name, uid } = simulation.metadata
    const body = {
      apiVersion: simulation.apiVersion,
      kind: simulation.kind,
      // The UID: another Simulation of that name has a status of its own.
      metadata: { name, uid },
      status: { driverPod: pod, progress: this.#progress, reports: this.#reports },
    }
    const options = { fieldManager: driverFieldManager, force: true, subresource: "status" }
    try {
      const written = await client.apply<Simulation>(simulationKind, { name }, body, options)
      if (written.status?.driverPod !== undefined) return
      this.#isRefused = true
      onProblem(withoutPlace("the API server drops these fields"))
    } catch (error) {
      if (isMomentary(error as ApiError)) return onProblem(`the status was not written this time: ${messageOf(error)}`)
      this.#isRefused = true
      onProblem(withoutPlace(messageOf(error)))
    }
  }
}

const withoutPlace = (reason: string): string =>
  `progress and key figures are not in the status of the Simulation: ${reason}`

/** Of a server that is away or overloaded; anything else will be refused again. */
const isMomentary = (error: ApiError): boolean =>
  error._tag === "ApiUnreachableError" ||
  error._tag === "TooManyRequestsError" ||
  (error._tag === "ApiRefusalError" && error.code >= 500 && !isUndeclaredField(error))

/** An apply has a field that the definition of the kind lacks: with status 500 in many versions of the API server, although another attempt cannot succeed. */
export const isUndeclaredField = (error: ApiError): boolean => /field not declared in schema/.test(error.detail)

// The hooks of one repetition, `preRun` and `postRun`, each at most once. Their runs are in the status, which the controller's hooks share: the list is
// read, changed and written back if it is still the same.

/** What hooks are given, and who hears of them. */
interface DriverHooksOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly repetition: number
  /** Ends a hook that runs. */
  readonly signal: AbortSignal
  /** Gets one line for each line that hooks write, and for problems. */
  readonly log: (line: string) => void
}

type DriverPhase = "preRun" | "postRun"

/** Reporting component of Events; SimKube's. */
const component = "sk-driver"

/** The hooks of one repetition. */
export class DriverHooks {
  readonly #options: DriverHooksOptions
  readonly #events: EventRecorder
  /** The definition of Simulations has no place for runs, or they may not be written. */
  #isUnrecorded = false

  constructor(options: DriverHooksOptions) {
    this.#options = options
    const { client, clock, log } = options
    this.#events = new EventRecorder({ api: client, clock, now: () => this.#now(), trouble: log })
  }

  /** Runs the hooks of a phase. Rejects with {@link DriverFailure} for a hook that has failed. */
  async run(phase: DriverPhase, simulation: Simulation): Promise<void> {
    const hooks = simulation.spec.hooks?.[`${phase}Hooks`] ?? []
    if (hooks.length === 0) return
    const { client, clock, environment, repetition, signal, log } = this.#options
    const { name } = simulation.metadata
    const { status } = await client.get<Simulation>(simulationKind, { name }, { signal })
    const lines = new OutputLines((source, line) => log(`${source} hook: ${line}`))
    const failure = await runPhase({
      phase,
      repetition,
      hooks,
      earlier: status?.hooks ?? [],
      record: (run) => this.#record(simulation, run),
      run: (hook) =>
        runHook(hook, { simulation, environment, timers: clock, signal, onOutput: (chunk) => lines.add(phase, chunk) }),
      now: () => this.#now(),
    })
    lines.end()
    const type = phase === "preRun" ? "PreRun" : "PostRun"
    const event =
      failure === undefined
        ? { type: "Normal" as const, reason: `${type}HooksSucceeded`, message: `repetition ${repetition}` }
        : { type: "Warning" as const, reason: `${type}HookFailed`, message: describeHookFailure(failure) }
    this.#events.record({ component }, { object: simulation, ...event })
    if (failure !== undefined) throw new DriverFailure({ problem: describeHookFailure(failure) })
  }

  /** Resolves when the Events have been sent. */
  close(): Promise<void> {
    return this.#events.drained()
  }

  #now(): string {
    return new Date(this.#options.clock.wallMicros() / 1000).toISOString().replace(/\.\d+Z$/, "Z")
  }

  /**
   * Without their start in the status hooks might run twice; where there is no place for it, as in SimKube's definition, or the server refuses it for good,
   * they run all the same.
   */
  async #record({ metadata }: Simulation, run: HookRun): Promise<void> {
    const { client, clock, signal, log } = this.#options
    if (this.#isUnrecorded) return
    const { name, uid } = metadata
    const options = { subresource: "status", fieldManager: driverFieldManager }
    try {
      await recordHookRun({
        uid,
        read: () => unlessRefused(client.get<Simulation>(simulationKind, { name })),
        write: (_, patch) => unlessRefused(client.patch<Simulation>(simulationKind, { name }, "merge", patch, options)),
        clock,
        run,
        signal,
      })
    } catch (error) {
      if (!(error instanceof HookUnrecordable)) throw error
      this.#isUnrecorded = true
      log(`runs of hooks are not in the status of the Simulation: ${messageOf(error)}`)
    }
  }
}

/** Rejects with {@link HookUnrecordable} if another attempt would be refused again. */
const unlessRefused = async <T>(asked: Promise<T>): Promise<T> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ConflictError || isMomentary(error as ApiError)) throw error
    throw new HookUnrecordable(messageOf(error))
  }
}
