/**
 * The owner-resolver within a recording: linked with the store, spawned when the first owner is named that is not recorded, given
 * credentials, and queried before an export.
 *
 * Most recordings contain the kinds that own their objects and never need it: its thread costs 15 MB. Its failures affect nothing else: if
 * it keeps crashing, it is restarted for ever, and exports then name the owners that are unknown.
 */
import * as Effect from "effect/Effect"
import { ownerAnswersMailbox, ownerQuestionsMailbox, ownerResolverName } from "../../actors/names.ts"
import {
  type OwnerResolverConfig,
  type OwnerResolverReport,
  ownerResolverDefinition,
  type Settled,
} from "../../actors/owner-resolver/definition.ts"
import { defaultLookUpLimits } from "../../actors/owner-resolver/look-up-queue.ts"
import type { storeDefinition } from "../../actors/store/definition.ts"
import type { ActorSystem } from "../../runtime/actor-system.ts"
import type { CallError } from "../../runtime/errors.ts"
import type { ActorSpec, RestartPolicy, Supervisor } from "../../runtime/supervisor.ts"

type Spec = ActorSpec<OwnerResolverConfig, typeof ownerResolverDefinition.control, OwnerResolverReport>
type Resolver = Supervisor<OwnerResolverConfig, typeof ownerResolverDefinition.control, OwnerResolverReport>
type Store = Pick<Supervisor<never, typeof storeDefinition.control, never>, "name" | "call">

interface OwnerResolutionOptions extends Pick<Spec, "start" | "onStateChange" | "onReport"> {
  readonly restart: RestartPolicy
  /** The current address and credentials of the API server. */
  readonly endpoint: () => Promise<OwnerResolverConfig["endpoint"]>
  readonly directory: string
  readonly userAgent: string
  /** Kinds whose objects are all recorded: their owners are never looked up. */
  readonly recordedKinds: ReadonlyArray<string>
  /** The store numbers the resolver's lives, because it stores the owners that they look up. */
  readonly nextIncarnation: (name: string) => Promise<number>
}

/** ms beyond its deadline after which the resolver counts as not responding. */
const graceMs = 1000
/** ms for the store to report whether any owner was named. */
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
    // Questions flow against the direction of the data: when everything stops, no one waits for those that are left.
    system.link(ownerQuestionsMailbox, store, { name: ownerResolverName }, "upstream")
    system.link(ownerAnswersMailbox, { name: ownerResolverName }, store)
  }

  /** `undefined` until an owner is named that is not recorded. */
  get resolver(): Resolver | undefined {
    return this.#resolver
  }

  /** Call when an owner was named that is not recorded. */
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

  /**
   * Sets the kinds that are recorded whole. A resolver that does not receive the call is ending; its next life starts with the new kinds.
   */
  recordKinds(recordedKinds: ReadonlyArray<string>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#recordedKinds = recordedKinds
      const resolver = this.#resolver
      if (resolver === undefined) return Effect.void
      // A resolver that is starting may have read its configuration already. By the time it runs, the kinds may have changed again.
      return Effect.andThen(
        resolver.running(),
        Effect.suspend(() => resolver.call("recordedKinds", this.#recordedKinds)),
      ).pipe(Effect.timeoutOrElse({ duration: storeMs, orElse: () => Effect.void }), Effect.ignore)
    })
  }

  /** Waits until every owner in the recording is known, or for `deadlineMs`; returns the owners that are still unknown. Never fails. */
  settle(deadlineMs: number): Effect.Effect<Settled> {
    return Effect.gen({ self: this }, function* () {
      const isNeeded = this.#resolver !== undefined || (yield* this.#store.call("asksForOwners", undefined, storeMs))
      if (!isNeeded) return { unknown: 0, first: [] }
      if (this.#resolver === undefined && this.#system.isStopping) {
        return { unknown: 1, first: [{ gvk: ownerResolverName, namespace: "", name: "the recorder is stopping" }] }
      }
      const resolver = this.needed()
      // It may just have been spawned above.
      yield* resolver
        .running()
        .pipe(Effect.timeoutOrElse({ duration: deadlineMs + graceMs, orElse: () => Effect.void }))
      return yield* resolver.call("settle", { deadlineMs }, deadlineMs + graceMs)
    }).pipe(
      Effect.catch((error: CallError) =>
        // The number is unknown, so one entry represents all owners; its name is the reason.
        Effect.succeed({ unknown: 1, first: [{ gvk: ownerResolverName, namespace: "", name: error.message }] }),
      ),
    )
  }
}
