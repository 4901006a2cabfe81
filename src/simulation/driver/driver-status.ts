/**
 * The driver's part of the status of its Simulation: the pod, the progress, and the key figures of the repetitions, written by server-side apply.
 *
 * Guaranteed: at most one write a second while it runs, of the latest state; nobody waits for it, except for the last one. A definition of Simulations
 * without these fields, such as SimKube's, or missing permissions cost one line, and then nothing is written any more.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { ApiError } from "../../kube/client/api-errors.ts"
import { messageOf } from "../../message-of.ts"
import { simulationKind } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { longestHistory, type RepetitionReport, type SimulationProgress } from "../api/status.ts"

/** The field manager of what the driver writes into the status. */
export const driverFieldManager = "kubereel-driver"

/** ms between two writes. */
const intervalMs = 1000

/** Whose status. `onProblem` gets one line for people. */
interface DriverStatusOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
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
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #lastMs = Number.NEGATIVE_INFINITY
  #isWanted = false
  #isRefused = false

  constructor(options: DriverStatusOptions, repetition: number) {
    this.#options = options
    this.#progress = { repetition, eventsSent: 0 }
    this.#reports = (options.simulation.status?.reports ?? []).filter((each) => each.repetition !== repetition)
    this.#want()
  }

  /** Written within a second. */
  progressed(progress: SimulationProgress): void {
    this.#progress = progress
    this.#want()
  }

  /** Written at once; resolves when it was. Never rejects. */
  async finished(report: RepetitionReport): Promise<void> {
    this.#reports = [...this.#reports, report].toSorted((left, right) => left.repetition - right.repetition)
    this.#reports = this.#reports.slice(-longestHistory)
    this.#isWanted = true
    await this.#flush()
  }

  /** Writes what is still to be written. Never rejects. */
  async close(): Promise<void> {
    await this.#flush()
  }

  #want(): void {
    this.#isWanted = true
    if (this.#isRefused || this.#timer !== undefined || this.#sending !== undefined) return
    const { clock } = this.#options
    const waitMs = Math.max(0, this.#lastMs + intervalMs - clock.monotonicMs())
    this.#timer = clock.after(waitMs, () => {
      this.#timer = undefined
      void this.#send()
    })
  }

  async #flush(): Promise<void> {
    this.#cancelTimer()
    while (this.#sending !== undefined) await this.#sending
    this.#cancelTimer()
    if (this.#isWanted && !this.#isRefused) await this.#send()
  }

  #cancelTimer(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #send(): Promise<void> {
    this.#isWanted = false
    this.#lastMs = this.#options.clock.monotonicMs()
    this.#sending = this.#write().finally(() => {
      this.#sending = undefined
      if (this.#isWanted) this.#want()
    })
    return this.#sending
  }

  async #write(): Promise<void> {
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
export const isMomentary = (error: ApiError): boolean =>
  error._tag === "ApiUnreachableError" ||
  error._tag === "TooManyRequestsError" ||
  (error._tag === "ApiRefusalError" && error.code >= 500 && !isUndeclaredField(error))

/** An apply has a field that the definition of the kind lacks: with status 500 in many versions of the API server, although another attempt cannot succeed. */
export const isUndeclaredField = (error: ApiError): boolean => /field not declared in schema/.test(error.detail)
