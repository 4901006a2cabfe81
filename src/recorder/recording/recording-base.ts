/** What all parts of a recording share: its options, its actor system, and the fibers that call-backs of actors start. */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Schema from "effect/Schema"
import { type KindDefinition, type RetentionSettings, watcherName } from "../../actors/index.ts"
import { type Clock, systemClock } from "../../clock.ts"
import {
  type ApiEndpoint,
  type CredentialRefresh,
  defaultWatchPolicy,
  type EndpointSource,
  type WatchPolicy,
} from "../../kube/index.ts"
import {
  type ActorGaveUp,
  ActorSystem,
  type CallError,
  defaultRestartPolicy,
  type MemoryBound,
  memoryBound,
  type RestartPolicy,
  workerThread,
} from "../../runtime/index.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"
import { memoryLimitsOf, type WorkerRole } from "../memory/memory-shares.ts"
import type { RecorderNotice } from "../notices/recorder-notice.ts"
import type { ListCompression } from "../watchers/list-manners.ts"
import { defaultSharing, type SharingPolicy } from "../watchers/placement.ts"
import type { ArchiveSettings } from "./archiving.ts"
import { PatientWrites } from "./patient-writes.ts"
import { RecordedKinds } from "./recorded-kinds.ts"
import { workerEntry } from "./worker-entries.ts"

// The actors that talk to the API server and send the store what they read: the watchers, and the owner-resolver.

interface Sender {
  readonly name: string
  readonly incarnation: number
  kill(reason: string): Promise<void>
  call(method: "credentials", endpoint: ApiEndpoint): Effect.Effect<unknown, CallError>
}

class Senders {
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #senders = new Map<string, Sender>()
  /** By actor, the credentials that it has. One that was starting when they changed gets them after its next 401. */
  readonly #handed = new Map<string, ApiEndpoint>()

  constructor(run: (effect: Effect.Effect<void>) => void) {
    this.#run = run
  }

  add(sender: Sender): void {
    this.#senders.set(sender.name, sender)
  }

  remove(name: string): void {
    this.#senders.delete(name)
    this.#handed.delete(name)
  }

  /** Ends every life: what the store acknowledged is lost, and they start again from what is recorded. */
  restart(reason: string): void {
    for (const sender of this.#senders.values()) void sender.kill(reason)
  }

  /** Ends the life of a sender, if it is still that one. This counts as a crash, so that one that always sends what is rejected is stopped. */
  refuse(name: string, incarnation: number, reason: string): void {
    const sender = this.#senders.get(name)
    if (sender?.incarnation === incarnation) void sender.kill(reason)
  }

  /** Hands these to every actor that has others. One that is not running gets the current ones when it starts. */
  handOver(endpoint: ApiEndpoint): void {
    for (const sender of this.#senders.values()) {
      const { name } = sender
      if (this.#handed.get(name) === endpoint) continue
      const taken = sender.call("credentials", endpoint).pipe(Effect.map(() => this.#handed.set(name, endpoint)))
      this.#run(Effect.ignore(taken))
    }
  }

  /** The credentials for the next life of an actor. */
  async credentialsOf(name: string, credentials: Pick<CredentialRefresh, "current">): Promise<ApiEndpoint> {
    const endpoint = await credentials.current()
    this.#handed.set(name, endpoint)
    return endpoint
  }
}

/** What the actors of a recorder are started with. */
export interface RecorderActorsOptions {
  readonly kinds: ReadonlyArray<TrackedKind>
  /** `K/N` if the recording is one of several of its cluster. */
  readonly shard?: string
  readonly directory: string
  readonly fsync: "interval" | "always"
  /** NAMESPACE/NAME of the Lease that this recorder holds. Default: none. */
  readonly lease?: string
  /** Where the recording is archived. Default: nowhere. */
  readonly archive?: ArchiveSettings
  /** How much is kept. Default: everything. */
  readonly retention?: RetentionSettings
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly notify: (notice: RecorderNotice) => void
  /** Look up owners that are not recorded. Default true. */
  readonly looksUpOwners?: boolean
  /** Report each recorded event, for the debug log. Default off. */
  readonly reportEvents?: boolean
  /** File with the key for redacted values. Default: one in the directory, which is made if a kind has redacted values. */
  readonly redactKeyFile?: string
  readonly policy?: WatchPolicy
  /** Default `auto`. */
  readonly listCompression?: ListCompression
  /** Which watchers share a worker. Default `defaultSharing`. */
  readonly sharing?: SharingPolicy
  /** Called with each definition of a kind that is seen to change. Default: nothing is done. */
  readonly onDefinition?: (definition: KindDefinition) => void
  /** µs since the Unix epoch at which a kind was last known not to be installed. Default: its first list begins its recording. */
  readonly unseenSince?: (gvk: string) => number | undefined
  /** How often actors may crash. Default: 5 times in 10 min. */
  readonly restart?: RestartPolicy
  readonly clock?: Clock
  /** Memory of all threads together. Default: the limit of the container, or of the machine. */
  readonly memory?: MemoryBound
  /** File of a role's worker code. Default: the bundles of this package. */
  readonly entry?: (role: WorkerRole) => URL
}

/** The files of the recording were removed or moved while it was being written. */
export class RecordingGone extends Schema.TaggedError<RecordingGone>()("RecordingGone", {
  message: Schema.String,
}) {}

/** For people. `shard`: `K/N`. */
export const partText = (shard: string | undefined): string => (shard ? `shard ${shard}` : "a whole cluster")

export const shardRefused = (directory: string, recorded: string | undefined, given: string | undefined) =>
  new ShardRefused({ directory, ...(recorded && { recorded }), ...(given && { given }) })

/** The recording is of another shard of its cluster, or of all of it. */
export class ShardRefused extends Schema.TaggedError<ShardRefused>()("ShardRefused", {
  directory: Schema.String,
  /** `K/N`; absent: all of the cluster. */
  recorded: Schema.optionalKey(Schema.String),
  given: Schema.optionalKey(Schema.String),
}) {
  override get message(): string {
    return `the recording in ${this.directory} is of ${partText(this.recorded)} and cannot be continued as ${partText(this.given)}: give another --data-dir, and another --archive-to if the number of shards has changed`
  }
}

/** The store could not be opened or keeps failing: nothing can be recorded. */
export type RecorderEnd = ActorGaveUp | RecordingGone | ShardRefused

/** How a recording was closed. */
export interface RecorderClose {
  /** Events committed in the store's last life; `undefined` if it was not closed in order. */
  readonly events: number | undefined
  /** Kinds whose last received events could not be written. The server may still have them. */
  readonly unwritten: ReadonlyArray<string>
}

export type RecordingBase = Effect.Success<ReturnType<typeof openBase>>

export const openBase = (given: RecorderActorsOptions) =>
  Effect.gen(function* () {
    const options = {
      ...{ clock: systemClock, entry: workerEntry, restart: defaultRestartPolicy, policy: defaultWatchPolicy },
      ...{ sharing: defaultSharing, looksUpOwners: true, reportEvents: false },
      ...given,
    }
    const { clock, entry } = options
    // Acquired before the actor system, so that it outlives it: writes that a stopping actor still waits for are settled by the store and
    // not cut off.
    const fibers = yield* FiberSet.make<unknown, unknown>()
    const run = yield* FiberSet.runtime(fibers)()
    const runPromise = yield* FiberSet.runtimePromise(fibers)()
    const kinds = new RecordedKinds(options.kinds, clock, options.shard)
    const writes = new PatientWrites(run)
    /** `events`: what the store said when it closed. */
    const end: { events: number | undefined; closed: RecorderClose | undefined } = {
      events: undefined,
      closed: undefined,
    }
    const system = yield* Effect.acquireRelease(
      Effect.sync(() => new ActorSystem({ clock })),
      (stopping) =>
        Effect.promise(async () => {
          const undrained = new Set(await stopping.stop())
          const unwritten = [...kinds.plan.kinds.keys()].filter((gvk) => undrained.has(watcherName(gvk)))
          end.closed = { events: end.events, unwritten }
          for (const what of writes.close()) options.notify({ type: "unwritten", what })
        }),
    )
    const memory = options.memory ?? memoryBound()
    const limitsOf = (role: WorkerRole) => () => memoryLimitsOf(memory, kinds.plan.kinds.size)[role]
    const worker = (role: WorkerRole) => workerThread(entry(role), limitsOf(role))
    const told = (name: string) => (state: string, reason: string) =>
      options.notify({ type: "actor", name, state, reason })
    return {
      ...options,
      kinds,
      run,
      runPromise,
      writes,
      end,
      system,
      limitsOf,
      worker,
      told,
      senders: new Senders(run),
    }
  })

/** Numbers from 1 the lives of an actor whose messages do not outlive the process. */
export const counter = (): (() => number) => {
  let last = 0
  return () => ++last
}
