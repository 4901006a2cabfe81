/** The body of a module worker: its mailboxes, and how a file becomes a guest. */
import { randomFillSync } from "node:crypto"
import * as Effect from "effect/Effect"
import { messageOf } from "../../../message-of.ts"
import type { ActorBody } from "../../../runtime/actor.ts"
import { completionsMailbox, operationsMailbox } from "../../executor/actor/definition.ts"
import { OperationSender } from "../../executor/actor/operation-sender.ts"
import type { CompiledGuest } from "../../guest/compiled-guest.ts"
import { decodeGuestImage, encodeGuestImage } from "../../guest/guest-image.ts"
import { GuestInstance } from "../../guest/guest-instance.ts"
import { deliveriesMailbox } from "../../hub/definition.ts"
import { readDeliveries } from "../../hub/deliveries.ts"
import { EntryMark } from "../entry-mark.ts"
import {
  type Assignment,
  ModuleStays,
  type ModuleWorkerConfig,
  type ModuleWorkerControl,
  type ModuleWorkerReport,
} from "./definition.ts"
import { imageFile } from "./image-files.ts"
import type { MakeGuest } from "./module-runner.ts"
import { ModuleWorker } from "./module-worker.ts"
import { RunnerTable } from "./runner-table.ts"
import { subscriptionNumbers } from "./subscription-numbers.ts"

export const moduleWorkerBody: ActorBody<ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock, name } = context
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
      nextSubscription: subscriptionNumbers(config.subscriptions),
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
      hold: ({ module, incarnation }) => moving(() => worker.hold(module, incarnation)),
      depart: ({ module, incarnation, rows }) => moving(() => worker.depart(module, incarnation, rows)),
      resume: ({ module, incarnation }) => Effect.sync(() => worker.resume(module, incarnation)),
      statistics: () => Effect.sync(() => worker.statistics()),
    }
  })

const moving = <Value>(step: () => Promise<Value>): Effect.Effect<Value, ModuleStays> =>
  Effect.tryPromise({ try: step, catch: (cause) => new ModuleStays({ reason: messageOf(cause) }) })

/** Makes instances of the module. */
const makerOf = (
  { module, compiled, env, maximumMemoryBytes }: Assignment,
  report: (report: ModuleWorkerReport) => void,
  clock: ConstructorParameters<typeof GuestInstance>[1]["clock"],
): MakeGuest => {
  const code = compiled as CompiledGuest
  return (calls, image) => {
    const guest = new GuestInstance(code, {
      host: { ...calls, log: (stream, line) => report({ type: "log", module, stream, line }) },
      env,
      clock,
      random: (bytes) => void randomFillSync(bytes),
      maximumMemoryBytes,
      ...(image !== undefined && { image: decodeGuestImage(image) }),
    })
    return {
      start: () => guest.start(),
      wakeFuture: (id, value) => guest.wakeFuture(id, value),
      wakeStream: (id, value) => guest.wakeStream(id, value),
      get memoryBytes() {
        return guest.memoryBytes
      },
      image: () => encodeGuestImage(guest.image()),
    }
  }
}
