/**
 * The owner-resolver within a recording: linked with the store, spawned with the first owner that nobody records, given
 * credentials, and asked before an export.
 *
 * Most recordings hold the kinds that own their objects, and never need it: its thread costs 15 MB. It harms nobody by failing:
 * one that keeps crashing is started again for ever, and exports then say which owners are unknown.
 */
import * as Effect from "effect/Effect"
import { ownerAnswersMailbox, ownerQuestionsMailbox, ownerResolverName } from "../actors/names.ts"
import {
  type OwnerResolverConfig,
  type OwnerResolverReport,
  ownerResolverDefinition,
  type Settled,
} from "../actors/owner-resolver/definition.ts"
import { defaultLookUpLimits } from "../actors/owner-resolver/look-up-queue.ts"
import type { storeDefinition } from "../actors/store/definition.ts"
import type { ActorSystem } from "../runtime/actor-system.ts"
import type { CallError } from "../runtime/errors.ts"
import type { ActorSpec, RestartPolicy, Supervisor } from "../runtime/supervisor.ts"

type Spec = ActorSpec<OwnerResolverConfig, typeof ownerResolverDefinition.control, OwnerResolverReport>
type Resolver = Supervisor<OwnerResolverConfig, typeof ownerResolverDefinition.control, OwnerResolverReport>
type Store = Pick<Supervisor<never, typeof storeDefinition.control, never>, "name" | "call">

interface OwnerResolutionOptions extends Pick<Spec, "start" | "onStateChange" | "onReport"> {
  readonly restart: RestartPolicy
  /** How to talk to the API server at the moment. */
  readonly endpoint: () => Promise<OwnerResolverConfig["endpoint"]>
  readonly directory: string
  readonly userAgent: string
  /** Kinds all of whose objects are recorded: never asked for. */
  readonly recordedKinds: ReadonlyArray<string>
  /** The store numbers its lives, because it stores what they learn. */
  readonly nextIncarnation: (name: string) => Promise<number>
}

/** ms beyond its deadline after which the resolver counts as not answering. */
const graceMs = 1000
/** ms for the store to say whether anybody was named. */
const storeMs = 5000

export class OwnerResolution {
  readonly #system: ActorSystem
  readonly #store: Store
  readonly #options: OwnerResolutionOptions
  #recordedKinds: ReadonlyArray<string>
  #resolver: Resolver | undefined

  constructor(system: ActorSystem, store: Store, options: OwnerResolutionOptions) {
    this.#system = system
    this.#store = store
    this.#options = options
    this.#recordedKinds = options.recordedKinds
    // Questions are answers back to what feeds it: when all stops, nobody waits for the ones that are left.
    system.link(ownerQuestionsMailbox, store, { name: ownerResolverName }, "upstream")
    system.link(ownerAnswersMailbox, { name: ownerResolverName }, store)
  }

  /** `undefined` until an owner was named that is not recorded. */
  get resolver(): Resolver | undefined {
    return this.#resolver
  }

  /** An owner was named that is not recorded. */
  needed(): Resolver {
    const { endpoint, directory, userAgent, recordedKinds: _, nextIncarnation, restart, ...spec } = this.#options
    this.#resolver ??= this.#system.spawn({
      ...spec,
      definition: ownerResolverDefinition,
      name: ownerResolverName,
      config: async () => ({
        directory,
        endpoint: await endpoint(),
        userAgent,
        recordedKinds: this.#recordedKinds,
        limits: defaultLookUpLimits,
      }),
      incarnation: () => nextIncarnation(ownerResolverName),
      restart: { ...restart, maximumCrashes: Number.POSITIVE_INFINITY },
    })
    return this.#resolver
  }

  /** Other kinds are recorded whole from here on. A life that cannot be told now is one that ends; the next one knows. */
  recordKinds(recordedKinds: ReadonlyArray<string>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#recordedKinds = recordedKinds
      const resolver = this.#resolver
      if (resolver === undefined) return Effect.void
      // One that starts has perhaps read its configuration already. By then they may have changed once more.
      return Effect.andThen(
        resolver.running(),
        Effect.suspend(() => resolver.call("recordedKinds", this.#recordedKinds)),
      ).pipe(Effect.timeoutOrElse({ duration: storeMs, orElse: () => Effect.void }), Effect.ignore)
    })
  }

  /** Waits until every owner in the recording is known, or for `deadlineMs`; answers what is still unknown. Never fails. */
  settle(deadlineMs: number): Effect.Effect<Settled> {
    return Effect.gen({ self: this }, function* () {
      const isNeeded = this.#resolver !== undefined || (yield* this.#store.call("asksForOwners", undefined, storeMs))
      if (!isNeeded) return { unknown: 0, first: [] }
      if (this.#resolver === undefined && this.#system.isStopping) {
        return { unknown: 1, first: [{ gvk: ownerResolverName, namespace: "", name: "the recorder is stopping" }] }
      }
      const resolver = this.needed()
      // The first question has only just made it start.
      yield* resolver
        .running()
        .pipe(Effect.timeoutOrElse({ duration: deadlineMs + graceMs, orElse: () => Effect.void }))
      return yield* resolver.call("settle", { deadlineMs }, deadlineMs + graceMs)
    }).pipe(
      Effect.catch((error: CallError) =>
        // Nobody knows how many: one stands for all, with the reason where a name would be.
        Effect.succeed({ unknown: 1, first: [{ gvk: ownerResolverName, namespace: "", name: error.message }] }),
      ),
    )
  }
}
