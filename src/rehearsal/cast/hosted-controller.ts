/** A controller in TypeScript as a participant of a rehearsal: run as in production, on the rehearsal's clock and sandbox. */
import {
  type DefinedController,
  type ReconciledRun,
  type RunningControllers,
  runControllers,
} from "../../host/controllers.ts"
import { type AdmissionCall, type AdmissionTerms, admissionTermsOf, type ReviewRequest } from "../../host/index.ts"
import { messageOf } from "../../message-of.ts"
import type { OwnWork } from "../feed/feed-rule.ts"
import type { ReconcileEntry } from "../journal/journal.ts"
import { lastingWatches, type Participant, type Stage } from "./participant.ts"

export class HostedController implements Participant {
  readonly name: string
  readonly work: OwnWork
  readonly terms: AdmissionTerms | undefined
  readonly #controller: DefinedController
  #running: RunningControllers | undefined
  #activity = 0
  #wakeUps = 0

  /** `managers`: further field managers under which the controller wrote in the recorded cluster. */
  constructor(controller: DefinedController, managers: ReadonlyArray<string> = []) {
    const { name, finalizer, writes } = controller
    this.#controller = controller
    this.terms = admissionTermsOf(controller)
    this.name = name
    this.work = {
      name,
      subjects: [{ kind: controller.for.kind, owns: controller.owns.map(({ kind }) => kind) }],
      finalizer: finalizer?.name,
      writesStatus: writes.some(({ kind }) => kind === `${controller.for.kind}/status`),
      managers: new Set([name, ...managers]),
    }
  }

  get activity(): number {
    const [statistics] = this.#running?.statistics() ?? []
    return this.#activity + (statistics === undefined ? 0 : statistics.adds + statistics.runs + statistics.retries)
  }

  get busy(): ReadonlyArray<string> {
    const [statistics] = this.#running?.statistics() ?? []
    return statistics === undefined || statistics.depth === 0 ? [] : [`${this.name} (${statistics.depth} keys)`]
  }

  get wakeUps(): number {
    return this.#wakeUps
  }

  get failure(): undefined {
    return undefined
  }

  async start({ transport, clock, random, note }: Stage): Promise<void> {
    this.#running = await runControllers([this.#controller], {
      server: transport,
      admission: "review",
      clock,
      random: random.next,
      watchPolicy: lastingWatches,
      onReconciled: (run) => {
        this.#activity++
        this.#wakeUps++
        note(entryOf(run))
      },
      onTrouble: (detail) => {
        this.#activity++
        note({ type: "trouble", controller: this.name, detail: firstLine(detail) })
      },
    })
  }

  async review(call: AdmissionCall, request: ReviewRequest): Promise<object> {
    return (await this.#running?.review(this.name, call, request)) ?? {}
  }

  async close(): Promise<void> {
    await this.#running?.close()
  }
}

const entryOf = ({ controller, key, outcome, durationMs, error, requeueAfterMs }: ReconciledRun): ReconcileEntry => ({
  type: "reconcile",
  controller,
  key,
  outcome,
  durationMs,
  ...(error !== undefined && { error: messageOf(error) }),
  ...(requeueAfterMs !== undefined && { requeueAfterMs }),
})

/** A stack has paths of the machine, which have no place in a journal that two machines compare. */
const firstLine = (detail: string): string => detail.split("\n", 1)[0] ?? ""
