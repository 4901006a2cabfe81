/** The body of a module worker: its mailboxes, and how a file becomes a guest. */
import { randomFillSync } from "node:crypto"
import * as Effect from "effect/Effect"
import type { Clock } from "../../../clock.ts"
import type { ActorBody } from "../../../runtime/index.ts"
import { completionsMailbox, operationsMailbox } from "../../executor/executor-interface.ts"
import { OperationSender } from "../../executor/operation-sender.ts"
import { GuestInstance } from "../../guest/guest-instance.ts"
import type { OperationHost } from "../../guest/guest-operations.ts"
import { readDeliveries } from "../../hub/deliveries.ts"
import { deliveriesMailbox } from "../../hub/hub-interface.ts"
import { EntryMark } from "./entry-mark.ts"
import type { Guest } from "./module-runner.ts"
import { ModuleWorker } from "./module-worker.ts"
import type {
  Assignment,
  ModuleWorkerConfig,
  ModuleWorkerControl,
  ModuleWorkerReport,
} from "./module-worker-interface.ts"

export const moduleWorkerBody: ActorBody<ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock, name } = context
    const lastSubscription = new Int32Array(config.lastSubscription)
    const operations = new OperationSender(context.outbox(operationsMailbox), clock, (completion) =>
      worker.complete(completion),
    )
    const worker = new ModuleWorker({
      clock,
      soon: setImmediate,
      operations,
      report: context.report,
      mark: new EntryMark(config.entryMark),
      // After 2^32 they begin anew.
      nextSubscription: () => (Atomics.add(lastSubscription, 0, 1) + 1) >>> 0,
    })
    const deliveries = context.inbox(deliveriesMailbox(name), {
      attached: () => undefined,
      frame: (sender, { incarnation, number, payload }) => {
        worker.deliver(readDeliveries(payload))
        deliveries.acknowledge(sender, incarnation, number)
      },
    })
    const completions = context.inbox(completionsMailbox(name), {
      attached: (_, incarnation) => {
        operations.attached(incarnation)
        return undefined
      },
      frame: (sender, { incarnation, number, payload }) => {
        operations.receive(payload)
        completions.acknowledge(sender, incarnation, number)
      },
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => worker.close()))
    return {
      load: (assignment) => Effect.sync(() => worker.load(assignment, makerOf(assignment, context.report, clock))),
      release: ({ module, incarnation }) => Effect.sync(() => worker.release(module, incarnation)),
      endWatch: ({ subscription, code, reason, message }) =>
        Effect.sync(() => worker.endWatch(subscription, code, reason, message)),
      statistics: () => Effect.sync(() => worker.statistics()),
    }
  })

const makerOf =
  (
    { module, compiled, env, maximumMemoryBytes }: Assignment,
    report: (report: ModuleWorkerReport) => void,
    clock: Clock,
  ) =>
  (calls: OperationHost): Guest =>
    new GuestInstance(compiled, {
      host: { ...calls, log: (stream, line) => report({ type: "log", module, stream, line }) },
      env,
      clock,
      random: (bytes) => void randomFillSync(bytes),
      maximumMemoryBytes,
    })
