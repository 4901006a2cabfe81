/**
 * The executor: carries out the requests and delays of all modules, in a thread of its own.
 *
 * What it has taken lives in this life only. A frame is acknowledged when its operations are taken; if this life ends, workers name their
 * outstanding requests to the next one, which answers those it does not know with 503, and repeat their delays.
 */
import * as Effect from "effect/Effect"
import { ApiConnection } from "../../../kube/client/api-connection.ts"
import type { ApiEndpoint } from "../../../kube/endpoint.ts"
import type { ActorBody } from "../../../runtime/actor.ts"
import { decodeOperations } from "../operation-frames.ts"
import { OperationTable } from "../operation-table.ts"
import { RequestExecutor } from "../request-executor.ts"
import { CompletionSender } from "./completion-sender.ts"
import {
  completionsMailbox,
  type ExecutorConfig,
  type ExecutorControl,
  type ExecutorReport,
  operationsMailbox,
  type Registration,
} from "./definition.ts"
import { GivenCredentials } from "./given-credentials.ts"

interface Module {
  readonly credentials: GivenCredentials
  readonly userAgent: string
}

export const executorBody: ActorBody<ExecutorConfig, ExecutorControl, ExecutorReport> = (context) =>
  Effect.gen(function* () {
    const { clock, config, report } = context
    const modules = new Map<string, Module>()
    const workers = new Map<string, { readonly incarnation: number; readonly sender: CompletionSender }>()
    /** Modules that are paused because of their worker. */
    const paused = new Map<string, string>()

    const requests = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new RequestExecutor({
            clock,
            ...(config.maximumConcurrent !== undefined && { maximumConcurrent: config.maximumConcurrent }),
            identity: (name) => {
              const { credentials, userAgent } = modules.get(name) as Module
              return new ApiConnection({ server: credentials, userAgent })
            },
          }),
      ),
      (open) => Effect.sync(() => open.close()),
    )
    const table = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new OperationTable({
            clock,
            requests,
            completed: (worker, completion) => workers.get(worker)?.sender.add(completion),
            overrun: (life, maximumOperations) => report({ type: "overrun", ...life, maximumOperations }),
          }),
      ),
      (open) => Effect.sync(() => open.close()),
    )

    /** Holds back the modules of a worker whose mailbox is full, so that no more than their running requests are added to it. */
    const balance = (worker: string): void => {
      if (workers.get(worker)?.sender.isWritable === false) {
        for (const module of table.modulesOf(worker)) {
          paused.set(module, worker)
          requests.setPaused(module, true)
        }
        return
      }
      for (const [module, by] of paused) {
        if (by !== worker) continue
        paused.delete(module)
        requests.setPaused(module, false)
      }
    }

    const register = ({ module, endpoint, userAgent, limits }: Registration): void => {
      const present = modules.get(module)
      if (present === undefined) {
        const credentials = new GivenCredentials(endpoint as ApiEndpoint, () =>
          report({ type: "unauthorized", module }),
        )
        modules.set(module, { credentials, userAgent })
      } else present.credentials.give(endpoint as ApiEndpoint)
      try {
        requests.register(module, limits)
      } catch (cause) {
        if (present === undefined) modules.delete(module)
        throw cause
      }
    }
    const remove = (module: string): void => {
      table.remove(module)
      requests.remove(module)
      modules.delete(module)
      paused.delete(module)
    }
    const forgetWorker = (worker: string): void => {
      table.workerLost(worker)
      workers.get(worker)?.sender.drop()
      workers.delete(worker)
      // Modules that were paused for it may run elsewhere by now.
      balance(worker)
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
        const outbox = context.outbox(completionsMailbox(worker))
        const sender = before?.sender ?? new CompletionSender(outbox, () => balance(worker))
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
      credentials: ({ module, endpoint }) =>
        Effect.sync(() => modules.get(module)?.credentials.give(endpoint as ApiEndpoint)),
      remove: (module) => Effect.sync(() => remove(module)),
      forgetWorker: (worker) => Effect.sync(() => forgetWorker(worker)),
      statistics: () =>
        Effect.sync(() =>
          [...modules.keys()].flatMap((module) => {
            const counts = requests.statistics(module)
            return counts === undefined ? [] : [{ module, ...counts, ...table.statistics(module) }]
          }),
        ),
    }
  })
