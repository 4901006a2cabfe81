/**
 * The owner-resolver within a recording: spawned, linked with the store, given credentials, and asked before an export.
 *
 * It harms nobody by failing: one that keeps crashing is started again for ever, and exports then say which owners are unknown.
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
import type { ActorSystem } from "../runtime/actor-system.ts"
import type { ActorSpec, RestartPolicy } from "../runtime/supervisor.ts"

type Spec = ActorSpec<OwnerResolverConfig, typeof ownerResolverDefinition.control, OwnerResolverReport>

export interface OwnerResolution extends Pick<Spec, "start" | "onStateChange" | "onReport"> {
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

export const spawnOwnerResolver = (system: ActorSystem, store: { readonly name: string }, options: OwnerResolution) => {
  const { endpoint, directory, userAgent, recordedKinds, nextIncarnation, restart, ...spec } = options
  const resolver = system.spawn({
    ...spec,
    definition: ownerResolverDefinition,
    name: ownerResolverName,
    config: async () => ({
      directory,
      endpoint: await endpoint(),
      userAgent,
      recordedKinds,
      limits: defaultLookUpLimits,
    }),
    incarnation: () => nextIncarnation(ownerResolverName),
    restart: { ...restart, maximumCrashes: Number.POSITIVE_INFINITY },
  })
  // Questions are answers back to what feeds it: when all stops, nobody waits for the ones that are left.
  system.link(ownerQuestionsMailbox, store, resolver, "upstream")
  system.link(ownerAnswersMailbox, resolver, store)

  /** Waits until every owner in the recording is known, or for `deadlineMs`; answers what is still unknown. Never fails. */
  const settleOwners = (deadlineMs: number): Effect.Effect<Settled> =>
    resolver.call("settle", { deadlineMs }, deadlineMs + graceMs).pipe(
      Effect.catch((error) =>
        // Nobody knows how many: one stands for all, with the reason where a name would be.
        Effect.succeed({ unknown: 1, first: [{ gvk: ownerResolverName, namespace: "", name: error.message }] }),
      ),
    )
  return { resolver, settleOwners }
}
