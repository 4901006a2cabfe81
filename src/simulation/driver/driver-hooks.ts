/**
 * The hooks of one repetition, `preRun` and `postRun`, each at most once. Their runs are in the status, which the controller's hooks share: the list is
 * read, changed and written back if it is still the same.
 */
import { StringDecoder } from "node:string_decoder"
import type { Clock } from "../../clock.ts"
import { EventRecorder } from "../../host/controller/access/event-recorder.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { type ApiError, ConflictError } from "../../kube/client/api-errors.ts"
import { messageOf } from "../../message-of.ts"
import { simulationKind } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { type HookRun, longestHistory } from "../api/status.ts"
import { runHook } from "../hooks/run-hook.ts"
import { describeHookFailure, isRunOf, runPhase } from "../hooks/run-phase.ts"
import { DriverFailure } from "./driver-failure.ts"
import { driverFieldManager, isMomentary } from "./driver-status.ts"

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

/** Attempts to write a run while the controller writes the same status; more than a few in a row are unheard of. */
const attempts = 20

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
    const lines = new Lines((line) => log(`${phase} hook: ${line}`))
    const failure = await runPhase({
      phase,
      repetition,
      hooks,
      earlier: status?.hooks ?? [],
      record: (run) => this.#record(name, run),
      run: (hook) =>
        runHook(hook, { simulation, environment, timers: clock, signal, onOutput: (chunk) => lines.add(chunk) }),
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

  async #record(name: string, run: HookRun): Promise<void> {
    const { client, log } = this.#options
    if (this.#isUnrecorded) return
    for (let attempt = 1; ; attempt++) {
      try {
        const { metadata, status } = await client.get<Simulation>(simulationKind, { name })
        const patch = {
          metadata: { resourceVersion: metadata.resourceVersion },
          status: { hooks: withRun(status?.hooks ?? [], run) },
        }
        const options = { subresource: "status", fieldManager: driverFieldManager }
        const written = await client.patch<Simulation>(simulationKind, { name }, "merge", patch, options)
        if (written.status?.hooks !== undefined) return
        this.#isUnrecorded = true
        return log("runs of hooks are not in the status of the Simulation: the API server drops them")
      } catch (error) {
        if (error instanceof ConflictError && attempt < attempts) continue
        // Without its start in the status a hook might be run twice.
        if (isMomentary(error as ApiError)) throw error
        this.#isUnrecorded = true
        return log(`runs of hooks are not in the status of the Simulation: ${messageOf(error)}`)
      }
    }
  }
}

/** The list with a run in the place of its earlier state, without the oldest runs beyond the limit. */
const withRun = (runs: ReadonlyArray<HookRun>, run: HookRun): ReadonlyArray<HookRun> => {
  const { phase, index, repetition } = run
  const at = runs.findIndex((each) => isRunOf(each, { phase, index, repetition }))
  return (at < 0 ? [...runs, run] : runs.with(at, run)).slice(-longestHistory)
}

/** Cuts what a program writes into lines. */
class Lines {
  readonly #decoder = new StringDecoder("utf8")
  readonly #onLine: (line: string) => void
  #rest = ""

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n")
    // A program that never ends a line must not fill the memory.
    this.#rest = (lines.pop() ?? "").slice(-longestLine)
    for (const line of lines) this.#onLine(line)
  }

  end(): void {
    if (this.#rest !== "") this.#onLine(this.#rest)
    this.#rest = ""
  }
}

/** Characters of a line of the log. */
const longestLine = 16_384
