/**
 * Archiving: has the archivist ship the recording into its stream, turn by turn, and takes a stream over at the start.
 *
 * Guarantee: recording waits for no object store, but where a stream is restored into its directory; whatever fails is tried again for ever. What may be
 * created, and what an answer means, the fence decides (src/fleet/fence); its state is in the recording, so that turns end anywhere. Once another recorder
 * has taken the stream over, `ended` fails: this one must end.
 */
import { randomBytes } from "node:crypto"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import {
  ArchivingFailed,
  type ArchivistConfig,
  type ArchivistControl,
  type ArchivistReport,
  archivistDefinition,
  archivistName,
  StreamOfAnotherShard,
} from "../../actors/index.ts"
import {
  afterEvent,
  commandOf,
  describeFenced,
  encodeTenure,
  type FenceCommand,
  type FenceEvent,
  type FenceState,
  newTenure,
  openFence,
  startOf,
  type Tenure,
} from "../../fleet/index.ts"
import { messageOf } from "../../message-of.ts"
import type { Supervisor } from "../../runtime/index.ts"
import type { ArchiveFigures, ArchiveStatus } from "../export/recording.ts"
import type { ArchiveNotice } from "../notices/recorder-notice.ts"
import type { RecordedStore } from "./recorded-store.ts"
import { counter, partText, type RecordingBase, shardRefused } from "./recording-base.ts"

/** Where and how often a recording is archived. */
export interface ArchiveSettings {
  /** s3://, gs:// or azure:// with a prefix, or a directory. */
  readonly address: string
  /** ms between two turns. */
  readonly everyMs: number
  /** UID of the cluster that is recorded; empty: it cannot be had. */
  readonly clusterUid: () => Promise<string>
}

/** Another recorder writes the stream: this one has to end. Its directory stays as it is. */
export class StreamTakenOver extends Schema.TaggedError<StreamTakenOver>()("StreamTakenOver", {
  message: Schema.String,
}) {}

/** The stream at this address cannot be this recording's. */
export class StreamRefused extends Schema.TaggedError<StreamRefused>()("StreamRefused", {
  address: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `the recording cannot be archived to ${this.address}: ${this.reason}`
  }
}

/** The stream goes on elsewhere, and cannot be restored here before a person has done something. */
export class StreamNotRestored extends Schema.TaggedError<StreamNotRestored>()("StreamNotRestored", {
  address: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    const reason = this.reason.replace(/\.$/, "")
    return `the stream at ${this.address} cannot be restored, so nothing is recorded: ${reason}. To record all the same, give another prefix with --archive-to`
  }
}

/** ms without news after which a segment is shipped all the same: it says up to which version each kind is complete, from where a successor resumes, and API servers keep changes for 5 min. */
const heartbeatMs = 60_000

/** ms for which a start tries to reach the store, before recording begins without knowing what is there. */
const startPatienceMs = 30_000

/** ms that an upload, or reading the end of a stream, may take before it is asked for again. */
const requestMs = 300_000

/** ms that are left for a last turn when the recorder ends. */
const lastTurnMs = 5000

/** 1, 2, 4 … 64 s, a fifth more or less. */
const patiently = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("64 seconds")]).pipe(
  Schedule.jittered,
)

type Archivist = Supervisor<ArchivistConfig, ArchivistControl, ArchivistReport>

/** Before the store opens the directory; `undefined`: the recording is not archived. Fails with StreamRefused, or StreamNotRestored. */
export const openArchiving = (base: RecordingBase) =>
  Effect.gen(function* () {
    if (base.archive === undefined) return undefined
    const archiving = new Archiving(base, base.archive)
    yield* archiving.begin
    return archiving
  })

class Archiving {
  readonly #base: RecordingBase
  readonly #settings: ArchiveSettings
  readonly #archivist: Archivist
  readonly #ended = Deferred.makeUnsafe<never, StreamTakenOver>()
  /** `undefined`: it is not known yet how the stream ends. */
  #fence: FenceState | undefined
  /** As the recording has it. */
  #kept = ""
  #trouble: string | undefined
  #meanwhile: ArchiveNotice["meanwhile"] = "starting"
  /** µs since the Unix epoch: everything recorded until then is in the stream. */
  #shippedMicros: number
  #lastShippedMs = Number.NEGATIVE_INFINITY
  #builtMicros = 0
  #segments = 0

  constructor(base: RecordingBase, settings: ArchiveSettings) {
    this.#base = base
    this.#settings = settings
    this.#shippedMicros = base.clock.wallMicros()
    this.#archivist = base.system.spawn({
      definition: archivistDefinition,
      name: archivistName,
      start: base.worker("archivist"),
      config: () => ({ directory: base.directory, address: settings.address }),
      incarnation: counter(),
      restart: { ...base.restart, maximumCrashes: Number.POSITIVE_INFINITY },
      onStateChange: base.told(archivistName),
      onReport: (progress) => base.notify({ type: "restoring", address: settings.address, ...progress }),
    })
  }

  /** Fails once another recorder has taken the stream over. */
  get ended(): Effect.Effect<never, StreamTakenOver> {
    return Deferred.await(this.#ended)
  }

  get status(): ArchiveStatus {
    const { shipped, epoch = 0 } = this.#fence?.tenure ?? {}
    return {
      ...{ address: this.#settings.address, lagSeconds: this.#lagSeconds, segment: shipped?.number ?? 0, epoch },
      ...(this.#trouble !== undefined && { trouble: this.#trouble }),
    }
  }

  get #lagSeconds(): number {
    return Math.max(0, (this.#base.clock.wallMicros() - this.#shippedMicros) / 1e6)
  }

  get figures(): ArchiveFigures {
    return { ...this.status, segments: this.#segments }
  }

  /** What a start does about the stream. */
  readonly begin: Effect.Effect<void, StreamRefused | StreamNotRestored> = Effect.suspend(() => {
    const { clock } = this.#base
    const untilMs = clock.monotonicMs() + startPatienceMs
    const found = this.#find.pipe(
      Effect.retry({
        while: (error) => !isLasting(error) && clock.monotonicMs() < untilMs,
        schedule: patiently,
      }),
    )
    // A thread that does not start, too.
    return Effect.matchEffect(found.pipe(Effect.timeout(4 * startPatienceMs)), {
      onFailure: () => Effect.void,
      onSuccess: (start): Effect.Effect<void, StreamRefused | StreamNotRestored> => {
        switch (start.tag) {
          case "refuse":
            return Effect.fail(this.#refused(start.reason))
          case "restore":
            return this.#restore
          case "begin":
          case "continue":
            return Effect.sync(() => this.#open(start.tenure))
        }
      },
    })
  })

  /** Turn after turn, as long as the scope is open, and a last one when it closes. */
  run(store: RecordedStore) {
    const turn = Effect.suspend(() => this.#turn(store))
    const last = Effect.ignore(turn.pipe(Effect.timeout(lastTurnMs)))
    this.#meanwhile = "recording"
    return Effect.gen({ self: this }, function* () {
      yield* Effect.addFinalizer(() => last)
      const pause = Effect.suspend(() => Effect.sleep(this.#hasMore ? 0 : this.#settings.everyMs))
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.retry(turn, patiently), pause)))
    })
  }

  /** The last segment was a part. */
  get #hasMore(): boolean {
    return this.#fence?.tenure.shipped?.isWhole === false
  }

  /** Steps until there is nothing to do before the next turn. */
  #turn(store: RecordedStore) {
    const steps = Effect.gen({ self: this }, function* () {
      const kept = yield* store.actor.call("tenure", undefined)
      // A recording that was damaged was set aside: what is here now has never been shipped.
      if (this.#fence === undefined || kept !== this.#kept) yield* this.#locate(store, kept)
      if (this.#fence !== undefined) this.#after({ tag: "due" })
      while (this.#fence !== undefined) {
        const command = commandOf(this.#fence)
        if (command.tag === "rest") return
        if (command.tag === "end") return this.#end(describeFenced(command.fenced))
        this.#after(yield* this.#carryOut(command, store))
      }
    })
    return steps.pipe(
      Effect.tap(() => Effect.sync(() => this.#tell(undefined))),
      Effect.tapError((error) => Effect.sync(() => this.#tell(messageOf(error)))),
    )
  }

  #carryOut(
    command: Exclude<FenceCommand, { tag: "rest" | "end" }>,
    store: RecordedStore,
  ): Effect.Effect<FenceEvent, { readonly message: string }> {
    const { clock } = this.#base
    switch (command.tag) {
      case "look":
        return Effect.map(this.#call("look", command.number), ({ link }) => ({ tag: "found", link }))
      case "build": {
        this.#builtMicros = clock.wallMicros()
        const isForced = clock.monotonicMs() - this.#lastShippedMs >= Math.max(heartbeatMs, this.#settings.everyMs)
        return Effect.map(this.#call("build", { tenure: command.tenure, isForced }), ({ intent }) => {
          if (intent === undefined) this.#shippedMicros = this.#builtMicros
          return { tag: "built", intent }
        })
      }
      case "create":
        return Effect.map(this.#call("create", { sha256: command.intent.sha256 }), (tag) => ({ tag }))
      case "confirm":
        return Effect.map(this.#call("compacted", undefined), (through) => ({ tag: "compacted", through }))
      case "keep": {
        const { tenure, isShipped } = command
        return Effect.map(this.#keep(store, tenure), () => {
          if (isShipped) this.#shipped(tenure)
          return { tag: "kept" }
        })
      }
    }
  }

  #shipped({ shipped }: Tenure): void {
    this.#segments++
    this.#lastShippedMs = this.#base.clock.monotonicMs()
    if (shipped?.isWhole === true) this.#shippedMicros = this.#builtMicros
  }

  #keep(store: RecordedStore, tenure: Tenure) {
    const text = encodeTenure(tenure)
    const heldAfter = tenure.shipped?.heldAfter ?? 0
    const sentWrites = tenure.shipped?.position.writes ?? 0
    return Effect.map(store.actor.call("keepTenure", { before: this.#kept, text, heldAfter, sentWrites }), () => {
      this.#kept = text
    })
  }

  /** Of a recording that has been begun already: it cannot be replaced any more. */
  #locate(store: RecordedStore, kept: string) {
    return Effect.gen({ self: this }, function* () {
      this.#kept = kept
      // What the start has found, before the store had the directory.
      if (this.#fence !== undefined && encodeTenure(this.#fence.tenure) === kept) return
      this.#fence = undefined
      const start = yield* this.#find
      if (start.tag === "refuse") return yield* Effect.fail(this.#refused(start.reason))
      if (start.tag === "restore")
        return this.#end(
          `the stream at ${this.#settings.address} goes on where this recording has not been: its last segment is ${start.last.number}, of epoch ${start.last.epoch}`,
        )
      yield* this.#keep(store, start.tenure)
      this.#open(start.tenure)
    })
  }

  get #find() {
    const clusterUid = Effect.tryPromise({
      try: () => this.#settings.clusterUid(),
      catch: (cause) => new ArchivingFailed({ message: messageOf(cause), isLasting: false }),
    })
    return Effect.flatMap(clusterUid, (uid) =>
      uid === ""
        ? Effect.fail(unknownCluster)
        : Effect.map(this.#call("find", { clusterUid: uid }), ({ tenure, recorded, ...stream }) => {
            const { directory, shard } = this.#base
            if (recorded !== undefined && recorded.shard !== shard)
              return { tag: "refuse" as const, reason: shardRefused(directory, recorded.shard, shard).message }
            const start = startOf({ ...stream, last: stream.last }, { clusterUid: uid, tenure })
            return start.tag === "begin"
              ? { tag: start.tag, tenure: newTenure(stream.id, randomBytes(16).toString("hex")) }
              : start
          }),
    ).pipe(Effect.tapError((error) => Effect.sync(() => this.#tell(error.message))))
  }

  /**
   * Nothing is recorded before: what the API server still has is then received after what is restored. While the store is away, it is tried again. What no
   * attempt mends ends the recorder: to begin beside a stream that it cannot continue would leave the operator with two histories.
   */
  get #restore(): Effect.Effect<void, StreamRefused | StreamNotRestored> {
    const { address } = this.#settings
    const { shard } = this.#base
    const restored = this.#call("restore", shard === undefined ? {} : { shard }, Number.POSITIVE_INFINITY).pipe(
      Effect.tapError((error) => Effect.sync(() => this.#tell(messageOf(error)))),
      Effect.retry({
        while: (error) => !(error instanceof StreamOfAnotherShard || isLasting(error)),
        schedule: patiently,
      }),
      Effect.mapError((error) =>
        error instanceof StreamOfAnotherShard
          ? this.#refused(foreignReason(error, shard))
          : new StreamNotRestored({ address, reason: messageOf(error) }),
      ),
    )
    this.#meanwhile = "restoring"
    this.#base.notify({ type: "restoring", address, segments: 0, allSegments: 0, bytes: 0 })
    return Effect.map(restored, ({ tenure, setAside, lostBlocks }) => {
      const { shipped } = tenure
      this.#base.notify({
        ...{ type: "restored", segment: shipped?.number ?? 0, epoch: tenure.epoch, setAside, lostBlocks },
      })
      this.#tell(undefined)
      this.#open(tenure)
    })
  }

  #open(tenure: Tenure): void {
    this.#fence = openFence(tenure)
  }

  #after(event: FenceEvent): void {
    if (this.#fence !== undefined) this.#fence = afterEvent(this.#fence, event)
  }

  #call<M extends keyof ArchivistControl & string>(
    method: M,
    payload: ArchivistControl[M]["payload"]["Type"],
    deadlineMs = requestMs,
  ) {
    return Effect.andThen(
      this.#archivist.running(),
      Effect.suspend(() => this.#archivist.call(method, payload, deadlineMs)),
    )
  }

  #refused(reason: string): StreamRefused {
    return new StreamRefused({ address: this.#settings.address, reason })
  }

  #end(sentence: string): void {
    Deferred.doneUnsafe(
      this.#ended,
      Effect.fail(new StreamTakenOver({ message: `${sentence}. What is in ${this.#base.directory} stays there` })),
    )
  }

  #tell(trouble: string | undefined): void {
    if (trouble === undefined && this.#trouble === undefined) return
    this.#trouble = trouble
    this.#base.notify({ type: "archive", trouble, meanwhile: this.#meanwhile })
  }
}

/** Whether only a person can end it. */
const isLasting = (error: object): boolean => "isLasting" in error && error.isLasting === true

const foreignReason = ({ shard, setAside }: StreamOfAnotherShard, given: string | undefined): string =>
  `the stream is of ${partText(shard)} and cannot be continued as ${partText(given)}; give another address` +
  (setAside === "" ? "" : `. What was in the data directory is in ${setAside}`)

const unknownCluster = new ArchivingFailed({
  message:
    "which cluster this is is not known: the API server does not say the UID of the namespace kube-system, which the recorder needs the right to get",
  isLasting: false,
})
