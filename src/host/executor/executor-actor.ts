/**
 * The executor: carries out the requests and delays of all modules, in a thread of its own.
 *
 * What it has taken lives in this life only. A frame is acknowledged when its operations are taken; if this life ends, workers name their
 * outstanding requests to the next one, which answers those it does not know with 503, and repeat their delays.
 */
import * as Effect from "effect/Effect"
import { ApiConnection } from "../../kube/index.ts"
import type { ActorBody, Outbox } from "../../runtime/index.ts"
import {
  completionsMailbox,
  type ExecutorConfig,
  type ExecutorControl,
  type ExecutorReport,
  operationsMailbox,
  type Registration,
} from "./executor-interface.ts"
import { GivenCredentials } from "./given-credentials.ts"
import { type Completion, decodeOperations, encodeCompletions } from "./operation-frames.ts"
import { OperationTable } from "./operation-table.ts"
import { RequestExecutor } from "./request-executor.ts"

interface Module {
  readonly credentials: GivenCredentials
  readonly userAgent: string
}

export const executorBody: ActorBody<ExecutorConfig, ExecutorControl, ExecutorReport> = (context) =>
  Effect.gen(function* () {
    const { clock, config, report } = context
    const modules = new Map<string, Module>()
    const workers = new Map<string, { readonly incarnation: number; readonly sender: CompletionSender }>()

    const requests = new RequestExecutor({
      clock,
      identity: (name) => {
        const module = modules.get(name)
        if (module === undefined) throw new Error(`the module ${name} is not registered`)
        return new ApiConnection({ server: module.credentials, userAgent: module.userAgent })
      },
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => requests.close()))
    const table = new OperationTable({
      clock,
      requests,
      completed: (worker, completion) => workers.get(worker)?.sender.add(completion),
      overrun: (life, maximumOperations) => report({ type: "overrun", ...life, maximumOperations }),
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => table.close()))

    const register = ({ module, endpoint, userAgent, limits }: Registration): void => {
      // A second registration replaces the first, whose connection and timers end with it.
      if (modules.has(module)) remove(module)
      const credentials = new GivenCredentials(endpoint, () => report({ type: "unauthorized", module }))
      modules.set(module, { credentials, userAgent })
      requests.register(module, limits)
    }
    const remove = (module: string): void => {
      table.remove(module)
      requests.remove(module)
      modules.delete(module)
    }
    const forgetWorker = (worker: string): void => {
      table.workerLost(worker)
      workers.get(worker)?.sender.drop()
      workers.delete(worker)
      inbox.detach(worker)
      context.closeOutbox(completionsMailbox(worker))
    }
    for (const registration of config.modules) register(registration)

    const inbox = context.inbox(operationsMailbox, {
      attached: (worker, incarnation) => {
        const before = workers.get(worker)
        if (before !== undefined && before.incarnation !== incarnation) {
          table.workerLost(worker)
          before.sender.drop()
        }
        const sender = before?.sender ?? new CompletionSender(context.outbox(completionsMailbox(worker)))
        workers.set(worker, { incarnation, sender })
        // Operations are not kept across lives, neither of the executor nor of the worker.
        return undefined
      },
      frame: (worker, frame) => {
        table.receive(worker, decodeOperations(frame.payload))
        inbox.acknowledge(worker, frame.incarnation, frame.number)
      },
    })

    return {
      register: (registration) => Effect.sync(() => register(registration)),
      credentials: ({ module, endpoint }) => Effect.sync(() => modules.get(module)?.credentials.give(endpoint)),
      remove: (module) => Effect.sync(() => remove(module)),
      forgetWorker: (worker) => Effect.sync(() => forgetWorker(worker)),
      statistics: () =>
        Effect.sync(() =>
          [...modules.keys()].flatMap((module) => {
            const counts = requests.statistics(module)
            return counts === undefined ? [] : [{ module, ...counts }]
          }),
        ),
    }
  })

/** Bytes of bodies after which a frame is sent: a slab of the mailbox is then not much larger than the largest body. */
const frameBytes = 1024 * 1024

/**
 * Sends completions to one module worker: those of one turn of the event loop in one frame, in frames of about 1 MiB. What waits for a worker that
 * takes none is bounded by the rates of its modules, and by the deadline of the module that keeps it.
 */
class CompletionSender {
  readonly #outbox: Outbox
  #gathered: Completion[] = []
  #bytes = 0
  #isScheduled = false

  constructor(outbox: Outbox) {
    this.#outbox = outbox
  }

  add(completion: Completion): void {
    this.#gathered.push(completion)
    this.#bytes += completion.response?.body.length ?? 0
    if (this.#bytes >= frameBytes) this.flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => {
        this.#isScheduled = false
        this.flush()
      })
    }
  }

  flush(): void {
    if (this.#gathered.length === 0) return
    this.#outbox.send(encodeCompletions(this.#gathered))
    this.#gathered = []
    this.#bytes = 0
  }

  /** The worker has died: what was not sent yet is of no interest to its successor. */
  drop(): void {
    this.#gathered = []
    this.#bytes = 0
  }
}
