/**
 * The hub as an actor: one worker for all watches of a controller host.
 *
 * It keeps nothing that outlives it. After a crash its next life has no subscriptions: receivers subscribe anew when its state is
 * `running` again, with `after` for those that need no list; the first list of a life has nothing to resume from, so they get `expired`.
 */
import * as Effect from "effect/Effect"
import { HttpClient } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import type { ActorBody } from "../../runtime/index.ts"
import { DeliveryOutlet } from "./delivery-outlet.ts"
import { deliveriesMailbox, type HubConfig, type HubControl, type HubReport } from "./hub-interface.ts"
import { InvalidSubscription } from "./hub-selection.ts"
import { WatchHub } from "./watch-hub.ts"

const largestNumber = 0xffff_ffff
/** Bytes that wait in a mailbox without credit. Few: they are not folded. */
const bufferBytes = 256 * 1024

export const hubBody: ActorBody<HubConfig, HubControl, HubReport> = (context) =>
  Effect.gen(function* () {
    const { endpoint, userAgent, windowBytes = 1024 * 1024, ...options } = context.config
    const client = new HttpClient(endpoint, { userAgent })
    yield* Effect.addFinalizer(() => Effect.sync(() => client.close()))
    const listener = {
      stateChanged: (selection, state, detail) => context.report({ type: "state", selection, state, detail }),
      alarm: (detail) => context.report({ type: "alarm", detail }),
      unauthorized: () => context.report({ type: "unauthorized" }),
    } satisfies ConstructorParameters<typeof WatchHub>[0]["listener"]
    const hub = new WatchHub({ ...options, transport: client, clock: context.clock, random: Math.random, listener })
    // Before the client.
    yield* Effect.addFinalizer(() => Effect.sync(() => hub.stop()))
    const outlets = new Map<string, DeliveryOutlet>()
    const outletOf = (receiver: string): DeliveryOutlet => {
      const outlet =
        outlets.get(receiver) ??
        new DeliveryOutlet(context.outbox(deliveriesMailbox(receiver), { windowBytes, bufferBytes }))
      outlets.set(receiver, outlet)
      return outlet
    }

    return {
      credentials: (fresh) =>
        Effect.sync(() => {
          client.updateEndpoint(fresh)
          hub.retryNow()
        }),
      subscribe: ({ receiver, id, gvk, ...request }) =>
        Effect.try({
          try: () => {
            const refuse = (member: string, problem: string): never => {
              throw new InvalidSubscription({ member, problem })
            }
            const kind = parseGvk(gvk) ?? refuse("gvk", `${JSON.stringify(gvk)} is not GROUP/VERSION.KIND`)
            const outlet = outletOf(receiver)
            if (!Number.isInteger(id) || id < 0 || id > largestNumber)
              refuse("id", `${id} is not an integer of 32 bits`)
            if (outlet.has(id)) refuse("id", `${receiver} has a subscription ${id} already`)
            const available = (): void => outlet.available(id)
            outlet.add(id, hub.subscribe({ ...request, id: `${receiver} ${id}`, kind }, { available }))
          },
          catch: (cause) => {
            if (cause instanceof InvalidSubscription) return cause
            throw cause
          },
        }),
      unsubscribe: ({ receiver, id }) => Effect.sync(() => outlets.get(receiver)?.remove(id)),
      pause: ({ receiver, id, isPaused }) => Effect.sync(() => outlets.get(receiver)?.setPaused(id, isPaused)),
      release: ({ receiver }) => Effect.sync(() => outlets.get(receiver)?.clear()),
      forget: ({ receiver }) =>
        Effect.sync(() => {
          outlets.get(receiver)?.clear()
          outlets.delete(receiver)
          context.closeOutbox(deliveriesMailbox(receiver))
        }),
      statistics: () => Effect.sync(() => hub.statistics()),
    }
  })
