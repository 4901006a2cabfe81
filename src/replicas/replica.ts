/**
 * One of several processes that record the shards of a cluster together.
 *
 * Each keeps a Lease of its own, lists those of the others, and runs a recorder for each shard that is its own by {@link assignShards}. Nothing is decided in common:
 * two that see different members for a while may both start a recorder of one shard, of which one stands by at the shard's own Lease, and whatever happens the
 * stream's fence keeps the other's segments out (docs/decisions/0107). A replica that cannot reach the API server keeps the shards that it has.
 */
import type { Clock, Timer } from "../clock.ts"
import { type ApiClient, type ApiObject, ConflictError, kinds, microTime, unlessNotFound } from "../kube/index.ts"
import { messageOf } from "../message-of.ts"
import type { LeaseSettings, Metric, RecorderLog } from "../recorder/index.ts"
import { assignShards, recordersSharing } from "./assignment.ts"
import { abandoned, afterList, type Membership, noMembership } from "./membership.ts"
import { Shard } from "./shard.ts"
import type { StartShard } from "./shard-process.ts"

interface ReplicaOptions {
  /** Of which the replicas' and shards' Leases have their names: `NAME-replica-REPLICA`, {@link shardLease}. */
  readonly lease: LeaseSettings
  /** Unique among the replicas, and the same when this one is started again. */
  readonly name: string
  /** Unique among processes. */
  readonly identity: string
  readonly shards: number
  readonly api: ApiClient
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly start: StartShard
  /** Takes lines of the shards' logs. */
  readonly line: (shard: number, text: string) => void
  readonly log: Pick<RecorderLog, "info" | "warn" | "error">
}

/** Why a replica must end: a mistake that no recorder of a shard gets over, or another process with its name. */
type ReplicaFailure = "usage" | "replaced"

/** Name of the Lease of one shard. */
export const shardLease = (name: string, shard: number): string => `${name}-shard-${shard}`

/** On the Leases of all replicas of one name. */
const label = "kubereel.dev/replicas"

/** ms without a sign of life after which a recorder is killed: a minute by default, far more than any garbage collection takes. */
const silentMs = ({ durationMs }: LeaseSettings): number => Math.max(60_000, 4 * durationMs)

/** The exit code of mistakes in options, files and addresses. */
const usageCode = 2

type Lease = ApiObject & {
  readonly spec?: { readonly holderIdentity?: string; readonly leaseDurationSeconds?: number }
}

export class Replica {
  readonly #options: ReplicaOptions
  readonly #periodMs: number
  readonly #shards: ReadonlyArray<Shard>
  readonly #failed = Promise.withResolvers<ReplicaFailure>()
  readonly #ended = Promise.withResolvers<void>()
  #membership: Membership = noMembership
  /** This replica's Lease as it was written last. */
  #own: Lease | undefined
  #renewedMs = Number.NEGATIVE_INFINITY
  #owned = ""
  #trouble: string | undefined
  #isProven = false
  #isReplaced = false
  #isClosing = false
  #turning: Promise<void> = Promise.resolve()
  #timer: Timer | undefined

  constructor(options: ReplicaOptions) {
    this.#options = options
    // client-go's proportion: 2 s of 15 s.
    this.#periodMs = (options.lease.durationMs * 2) / 15
    this.#shards = Array.from({ length: options.shards }, (_, index) => this.#shard(index))
  }

  start(): void {
    this.#turning = this.#turn()
  }

  /** Resolves when this replica has to end; the caller closes it. */
  get failed(): Promise<ReplicaFailure> {
    return this.#failed.promise
  }

  /** Ends the recorders in order, and then removes the Lease: a replica that is restarted meanwhile is not missed until then. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#assign()
    await this.#ended.promise
    await this.#turning
    this.#timer?.cancel()
    if (this.#own !== undefined) await this.#remove(this.#own)
  }

  /** Sends a signal to the recorders of all shards. */
  signal(name: NodeJS.Signals): void {
    for (const shard of this.#shards) shard.signal(name)
  }

  /** Its own shards, and where their recorders listen, as far as they have said it. */
  shards(): ReadonlyArray<{ readonly shard: number; readonly port: number | undefined }> {
    return this.#shards.flatMap(({ isNone, said }, shard) => (isNone ? [] : [{ shard, port: said.port }]))
  }

  /** Why the other replicas may not count this one; `undefined`: they do, and it knows its shards. */
  get notMember(): string | undefined {
    const { clock, lease } = this.#options
    if (clock.monotonicMs() - this.#renewedMs > lease.durationMs)
      return `its Lease is not renewed: ${this.#trouble ?? "the API server has not answered yet"}`
    return this.#membership.members === undefined ? "waiting until no further replica comes" : undefined
  }

  metrics(): ReadonlyArray<Metric> {
    const gauge = (name: string, help: string, value: number): Metric => ({
      name,
      type: "gauge",
      help,
      samples: [{ value }],
    })
    const isRunning = this.#shards.filter(({ isRunning }) => isRunning)
    return [
      gauge("kubereel_shards", "Shards that the cluster is divided into.", this.#shards.length),
      gauge("kubereel_shards_owned", "Shards whose recorders this replica runs.", isRunning.length),
      gauge(
        "kubereel_replicas_alive",
        "Replicas that renew their Leases, as this one sees it.",
        this.#membership.alive.length,
      ),
      {
        ...{ name: "kubereel_shard_ends_total", type: "counter" },
        help: "Ends of a shard's recorder on this replica that were not asked for.",
        samples: this.#shards.map(({ ends }, shard) => ({ labels: { shard: String(shard) }, value: ends })),
      },
    ]
  }

  /** Renews, looks at the others, and does what follows from it; then again. Never rejects. */
  async #turn(): Promise<void> {
    const { clock, random, log } = this.#options
    try {
      await this.#renewAndList()
      if (this.#trouble !== undefined) log.info("the Leases of the replicas can be read and written again")
      this.#trouble = undefined
    } catch (error) {
      const detail = messageOf(error)
      // Another process wrote the Lease at the same moment: the next turn sees who.
      if (!(error instanceof ConflictError) && detail !== this.#trouble) {
        log.warn(`the Leases of the replicas: ${detail}; this replica keeps its shards`)
        this.#trouble = detail
      }
    }
    this.#killSilent()
    this.#assign()
    this.#timer = clock.after(this.#periodMs * (1 + 0.2 * random()), () => this.start())
  }

  async #renewAndList(): Promise<void> {
    const { api, clock, lease, name, identity } = this.#options
    const { namespace, durationMs } = lease
    if (this.#isReplaced) return
    const listed = await api.list<Lease>(kinds.leases, { namespace, labelSelector: `${label}=${lease.name}` })
    const own = this.#leaseName(name)
    const known = listed.items.find((each) => each.metadata.name === own)
    if (this.#own !== undefined && known !== undefined && known.spec?.holderIdentity !== identity) {
      this.#isReplaced = true
      this.#own = undefined
      this.#options.log.error(`another process is the replica ${name} now: ${known.spec?.holderIdentity}`)
      return this.#failed.resolve("replaced")
    }
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime: microTime(clock),
    }
    const askedMs = clock.monotonicMs()
    this.#own =
      known === undefined
        ? await api.create<Lease>(kinds.leases, {
            ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec },
            metadata: { namespace, name: own, labels: { [label]: lease.name } },
          } as Lease)
        : await api.update<Lease>(kinds.leases, { ...known, spec: { ...known.spec, ...spec } })
    this.#renewedMs = askedMs
    const prefix = this.#leaseName("")
    const leases = listed.items.map(({ metadata, spec: of }) => ({
      name: metadata.name.slice(prefix.length),
      renewal: metadata.resourceVersion ?? "",
      durationMs: of?.leaseDurationSeconds === undefined ? durationMs : of.leaseDurationSeconds * 1000,
    }))
    // Five attempts of a renewal: a pod that is replaced is back by then.
    const times = { settleMs: 5 * this.#periodMs, longestMs: 20 * this.#periodMs }
    const former = this.#membership.alive
    this.#membership = afterList(this.#membership, leases, clock.monotonicMs(), name, times)
    const { alive } = this.#membership
    if (alive.join() !== former.join()) this.#options.log.info(`replicas alive: ${alive.join(", ")}`)
    for (const each of abandoned(this.#membership, clock.monotonicMs())) {
      const litter = listed.items.find(({ metadata }) => metadata.name === this.#leaseName(each))
      if (litter !== undefined && each !== name) await this.#remove(litter)
    }
  }

  #leaseName(replica: string): string {
    return `${this.#options.lease.name}-replica-${replica}`
  }

  /** Only as it was seen: it may be renewed at this moment. */
  async #remove({ metadata: { namespace, name, resourceVersion } }: Lease): Promise<void> {
    const { api, log } = this.#options
    const as = resourceVersion === undefined ? {} : { resourceVersion }
    const removed = unlessNotFound(api.delete(kinds.leases, { namespace, name }, as))
    await removed.catch((error: unknown) =>
      log.warn(`the Lease ${namespace}/${name} was not removed: ${messageOf(error)}`),
    )
  }

  #assign(): void {
    const { shards, name, log } = this.#options
    const { members } = this.#membership
    if (members === undefined && !this.#isClosing) return
    const owners = this.#isClosing ? [] : assignShards(shards, members ?? [])
    const owned = owners.flatMap((owner, shard) => (owner === name ? [shard] : [])).join(", ")
    if (owned !== this.#owned)
      log.info(owned === "" ? "this replica has no shards" : `shards of this replica: ${owned}`)
    this.#owned = owned
    for (const [index, shard] of this.#shards.entries()) shard.own(owners[index] === name)
    if (this.#isClosing && this.#shards.every(({ isNone }) => isNone)) this.#ended.resolve()
  }

  /** Nobody else takes the shard of a recorder that hangs while its replica lives. */
  #killSilent(): void {
    const { clock, lease, log } = this.#options
    const sinceMs = clock.monotonicMs() - silentMs(lease)
    for (const [index, shard] of this.#shards.entries()) {
      if (!shard.isRunning || shard.heardMs === undefined || shard.heardMs >= sinceMs) continue
      log.warn(`the recorder of shard ${index} gives no sign of life: it is killed`)
      shard.signal("SIGKILL")
    }
  }

  #shard(index: number): Shard {
    const { clock, random, start, line, log } = this.#options
    return new Shard({
      ...{ clock, random, line: (text) => line(index, text) },
      start: (listener) =>
        start(index, recordersSharing(this.#shards.length, this.#membership.members?.length ?? 1), listener),
      heard: ({ isRecording }) => {
        if (isRecording === true) this.#isProven = true
      },
      ended: ({ code, facts }, pauseMs) => {
        if (pauseMs !== undefined) {
          log.warn(`the recorder of shard ${index} ${facts}; the next one starts in ${Math.round(pauseMs / 1000)} s`)
          // Once shards are recorded, the options are right: a file that became invalid meanwhile must not end the others.
          if (code === usageCode && !this.#isProven) this.#failed.resolve("usage")
        }
        if (this.#isClosing) this.#assign()
      },
    })
  }
}
