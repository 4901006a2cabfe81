/** The body of a script thread: its mailbox and its calls. */
import * as Effect from "effect/Effect"
import type { ApiEndpoint } from "../../../kube/endpoint.ts"
import type { ActorBody } from "../../../runtime/actor.ts"
import { EntryMark } from "../../dispatcher/entry-mark.ts"
import { deliveriesMailbox } from "../../hub/definition.ts"
import { readDeliveries } from "../../hub/deliveries.ts"
import type { ScriptThreadConfig, ScriptThreadControl, ScriptThreadReport } from "./definition.ts"
import { ScriptRefused } from "./load-script.ts"
import { Pulse } from "./pulse.ts"
import { ScriptThread } from "./script-thread.ts"

export const scriptThreadBody: ActorBody<ScriptThreadConfig, ScriptThreadControl, ScriptThreadReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock, name, report } = context
    const pulse = new Pulse(new EntryMark(config.entryMark), clock)
    const scripts = new ScriptThread({
      clock,
      random: Math.random,
      report,
      pulse,
      lastSubscription: config.lastSubscription,
    })
    const deliveries = context.inbox(deliveriesMailbox(name), {
      attached: () => undefined,
      frame: (sender, { incarnation, number, payload }) => {
        scripts.deliver(readDeliveries(payload))
        deliveries.acknowledge(sender, incarnation, number)
      },
    })
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => scripts.close()).pipe(Effect.ensuring(Effect.sync(() => pulse.stop()))),
    )
    return {
      start: (assignment) =>
        Effect.tryPromise({
          try: (signal) => scripts.start(assignment, signal),
          catch: (cause) => {
            if (cause instanceof ScriptRefused) return cause
            throw cause
          },
        }),
      stop: (module) => Effect.promise(() => scripts.stop(module)),
      credentials: ({ module, endpoint }) => Effect.sync(() => scripts.credentials(module, endpoint as ApiEndpoint)),
      settle: ({ question, refusal }) => Effect.sync(() => scripts.settle(question, refusal)),
      endWatch: ({ subscription, reason }) => Effect.sync(() => scripts.endWatch(subscription, reason)),
      ping: () => Effect.void,
      statistics: () => Effect.sync(() => scripts.statistics()),
    }
  })
