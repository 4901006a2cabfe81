/** The body of a module worker: its mailboxes, and how a file becomes a guest. */
import { randomFillSync } from "node:crypto"
import * as Effect from "effect/Effect"
import type { Clock } from "../../../clock.ts"
import type { ActorBody } from "../../../runtime/actor.ts"
import { completionsMailbox, operationsMailbox } from "../../executor/actor/definition.ts"
import { OperationSender } from "../../executor/actor/operation-sender.ts"
import type { CompiledGuest } from "../../guest/compiled-guest.ts"
import { GuestInstance } from "../../guest/guest-instance.ts"
import { deliveriesMailbox } from "../../hub/definition.ts"
import { readDeliveries } from "../../hub/deliveries.ts"
import { EntryMark } from "../entry-mark.ts"
import type { Assignment, ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport } from "./definition.ts"
import { imageFile } from "./image-files.ts"
import type { MakeGuest } from "./module-runner.ts"
import { ModuleWorker } from "./module-worker.ts"
import { RunnerTable } from "./runner-table.ts"

export const moduleWorkerBody: ActorBody<ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock, name } = context
    const lastSubscription = new Int32Array(config.lastSubscription)
    const table = new RunnerTable({
      clock,
      soon: setImmediate,
      unloadAfterMs: config.unloadAfterMs,
      afterRound: () => worker.afterRound(),
    })
    const operations = new OperationSender(context.outbox(operationsMailbox), clock, (completion) =>
      worker.complete(completion),
    )
    const worker = new ModuleWorker({
      clock,
      table,
      operations,
      report: context.report,
      mark: new EntryMark(config.entryMark),
      // After 2^32 they begin anew.
      nextSubscription: () => (Atomics.add(lastSubscription, 0, 1) + 1) >>> 0,
      images: (assignment) => imageFile(config.imageDirectory, assignment),
    })
    const deliveries = context.inbox(deliveriesMailbox(name), {
      attached: () => undefined,
      frame: (sender, { incarnation, number, payload }) => {
        worker.deliver(readDeliveries(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)))
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
    yield* Effect.addFinalizer(() => Effect.sync(() => table.close()))
    return {
      load: (assignment) => Effect.sync(() => worker.load(assignment, makerOf(assignment, context.report, clock))),
      release: ({ module, incarnation }) => Effect.sync(() => worker.release(module, incarnation)),
      endWatch: ({ subscription, code, reason, message }) =>
        Effect.sync(() => worker.endWatch(subscription, code, reason, message)),
      statistics: () => Effect.sync(() => worker.statistics()),
    }
  })

/** Makes instances of the module. */
const makerOf =
  (
    { module, compiled, env, maximumMemoryBytes }: Assignment,
    report: (report: ModuleWorkerReport) => void,
    clock: Clock,
  ): MakeGuest =>
  (calls, image) =>
    new GuestInstance(compiled as CompiledGuest, {
      host: { ...calls, log: (stream, line) => report({ type: "log", module, stream, line }) },
      env,
      clock,
      random: (bytes) => void randomFillSync(bytes),
      maximumMemoryBytes,
      ...(image !== undefined && { image }),
    })
