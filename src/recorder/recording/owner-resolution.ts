/**
 * The owner-resolver within a recording: linked with the store, spawned when the first owner is named that is not recorded, given
 * credentials, and queried before an export.
 *
 * Most recordings contain the kinds that own their objects and never need it: its thread costs 15 MB. Its failures affect nothing else: if
 * it keeps crashing, it is restarted for ever, and exports then name the owners that are unknown.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import {
  defaultLookUpLimits,
  type OwnerResolverConfig,
  type OwnerResolverReport,
  ownerAnswersMailbox,
  ownerQuestionsMailbox,
  ownerResolverDefinition,
  ownerResolverName,
  type Settled,
} from "../../actors/index.ts"
import type { CredentialRefresh } from "../../kube/index.ts"
import type { CallError, Supervisor } from "../../runtime/index.ts"
import type { RecordedStore } from "./recorded-store.ts"
import type { RecordingBase } from "./recording-base.ts"

type Resolver = Supervisor<OwnerResolverConfig, typeof ownerResolverDefinition.control, OwnerResolverReport>

/** ms beyond its deadline after which the resolver counts as not responding. */
const graceMs = 1000
/** ms for the store to report whether any owner was named. */
const storeMs = 5000

/** Spawns the owner-resolver when the store says that an owner was named. */
export const openOwners = (base: RecordingBase, store: RecordedStore, credentials: CredentialRefresh) =>
  Effect.gen(function* () {
    const owners = new OwnerResolution(base, store, credentials)
    const spawned = Effect.map(Deferred.await(store.ownersNamed), () => {
      if (!base.system.isStopping) owners.needed()
    })
    yield* Effect.forkScoped(spawned)
    return owners
  })

export class OwnerResolution {
  readonly #base: RecordingBase
  readonly #store: RecordedStore
  readonly #credentials: CredentialRefresh
  #resolver: Resolver | undefined

  constructor(base: RecordingBase, store: RecordedStore, credentials: CredentialRefresh) {
    this.#base = base
    this.#store = store
    this.#credentials = credentials
    // Questions flow against the direction of the data: when everything stops, those that are left are not waited for.
    base.system.link(ownerQuestionsMailbox, store.actor, { name: ownerResolverName }, "upstream")
    base.system.link(ownerAnswersMailbox, { name: ownerResolverName }, store.actor)
  }

  /** `undefined` until an owner is named that is not recorded. */
  get resolver(): Resolver | undefined {
    return this.#resolver
  }

  /** Call when an owner was named that is not recorded. */
  needed(): Resolver {
    this.#resolver ??= this.#spawn()
    return this.#resolver
  }

  #spawn(): Resolver {
    const { directory, kinds, notify, restart, runPromise, senders, system, told, userAgent, worker } = this.#base
    const resolver = system.spawn({
      definition: ownerResolverDefinition,
      name: ownerResolverName,
      start: worker("owner-resolver"),
      config: async () => ({
        ...{ directory, userAgent, limits: defaultLookUpLimits },
        endpoint: await senders.credentialsOf(ownerResolverName, this.#credentials),
        recordedKinds: kinds.plan.expected.recordedKinds,
      }),
      // The store numbers its lives, because it stores the owners that they look up.
      incarnation: () => runPromise(this.#store.nextIncarnation(ownerResolverName)),
      restart: { ...restart, maximumCrashes: Number.POSITIVE_INFINITY },
      onStateChange: told(ownerResolverName),
      onReport: (report) => {
        if (report.type === "unauthorized") this.#credentials.refresh()
        else notify({ type: "owners", trouble: report.detail })
      },
    })
    senders.add(resolver)
    return resolver
  }

  /**
   * Tells the resolver that the recorded kinds have changed. One that does not receive the call is ending; its next life starts with the new kinds.
   */
  kindsChanged(): void {
    const resolver = this.#resolver
    if (resolver === undefined) return
    // A resolver that is starting may have read its configuration already. By the time it runs, the kinds may have changed again.
    const told = Effect.andThen(
      resolver.running(),
      Effect.suspend(() => resolver.call("recordedKinds", this.#base.kinds.plan.expected.recordedKinds)),
    )
    this.#base.run(told.pipe(Effect.timeoutOrElse({ duration: storeMs, orElse: () => Effect.void }), Effect.ignore))
  }

  /** Waits until every owner in the recording is known, or for `deadlineMs`; returns the owners that are still unknown. Never fails. */
  settle(deadlineMs: number): Effect.Effect<Settled> {
    return Effect.gen({ self: this }, function* () {
      const isNeeded =
        this.#resolver !== undefined || (yield* this.#store.actor.call("asksForOwners", undefined, storeMs))
      if (!isNeeded) return { unknown: 0, first: [] }
      if (this.#resolver === undefined && this.#base.system.isStopping) {
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
