/**
 * One kind's list/watch: carries out the machine's commands and passes events to the sink. Each new version reaches
 * the sink once, in order; a blocked sink stops the reading (rule 11); `stop` closes everything. Nothing that a
 * server sends makes it throw.
 */
import { getGunzipped } from "../http/gunzipped.ts"
import { type HashRange, rangeOfShard, shardSelectorOf } from "../selectors/shard-selector.ts"
import { Liveness, type WritesBefore } from "./liveness/liveness.ts"
import type { ObservedObject } from "./liveness/observed-object.ts"
import { initialState, step } from "./protocol/machine.ts"
import { permissionHint } from "./protocol/permission-hint.ts"
import type { Command, Input, StreamId, WatchState } from "./protocol/protocol.ts"
import { DeliveredVersions } from "./protocol/versions.ts"
import type { SessionOptions } from "./session-options.ts"
import { OpenStreams } from "./streams/open-streams.ts"
import { PageReader } from "./streams/page-reader.ts"
import { pagePath, type Selection, streamingListPath, watchPath, wholeListPath } from "./streams/request.ts"
import type { StreamEvents } from "./streams/stream-reader.ts"
import { WatchReader } from "./streams/watch-reader.ts"

/** Counters of one watch session since it started; plain numbers, read by metrics. */
interface WatchStatistics {
  /** Objects passed to the recorder, from lists and watches. */
  objects: number
  /** Events dropped because their version was delivered before (overlap, resume). */
  repeated: number
  /** Objects of other shards: none from a server that filters by shards. */
  elsewhere: number
  /** Lines that the fast scanner passed to the slow path. */
  slowLines: number
  malformedLines: number
  /** Lists started after the first. */
  relists: number
  /** Streaming lists that were given up, because the server did not end them. */
  unendedLists: number
  /** Watches opened, successors included. */
  watches: number
  /** Watches that ended other than the server ends them: cut, or silent for too long. */
  cuts: number
  bookmarks: number
  /** Body bytes read. */
  bytes: number
  /** ms by which the server's clock (`Date` header, whole seconds) was ahead of ours at the last response. */
  clockSkewMs: number
}

const noStatistics = (): WatchStatistics => ({
  objects: 0,
  repeated: 0,
  elsewhere: 0,
  slowLines: 0,
  malformedLines: 0,
  relists: 0,
  unendedLists: 0,
  watches: 0,
  cuts: 0,
  bookmarks: 0,
  bytes: 0,
  clockSkewMs: 0,
})

type OpenCommand = Extract<Command, { type: "open-streaming-list" | "open-page" | "open-whole-list" | "open-watch" }>

export class WatchSession {
  readonly #options: SessionOptions
  readonly #streams: OpenStreams
  readonly #versions = new DeliveredVersions()
  readonly #liveness: Liveness
  readonly statistics: WatchStatistics = noStatistics()
  #state: WatchState = initialState
  #selection: Selection
  #progressed = false
  #blocked = false
  /** Streams to open once the sink is writable again. */
  #deferred: Array<Command> = []
  #retryTimer: { cancel(): void } | undefined
  #successorTimer: { cancel(): void } | undefined
  #lookTimer: { cancel(): void } | undefined
  /** Objects up to the last look at a stream that catches up. */
  #objectsSeen = 0
  #acceptsGzip: boolean
  readonly #range: HashRange | undefined
  readonly #events: StreamEvents

  constructor(options: SessionOptions) {
    const { labelSelector, fieldSelector, shard } = options
    this.#options = options
    this.#range = shard && rangeOfShard(shard)
    this.#selection = { path: "", labelSelector, fieldSelector, shardSelector: shard && shardSelectorOf(shard) }
    this.#versions.reset(options.resumeVersion)
    this.#liveness = new Liveness({
      clock: options.clock,
      liveUntil: options.resumeVersion === undefined ? 0 : (options.liveUntil ?? 0),
      versions: options.versions,
      writesBefore: writesBefore(options),
    })
    this.#acceptsGzip = options.lists?.gzip === true
    this.#streams = new OpenStreams(
      options.clock,
      (stream) => {
        if (this.#isWatch(stream)) this.statistics.cuts++
        this.#input({ type: "silent", stream })
      },
      (stream) => this.#input({ type: "stalled", stream }),
    )
    this.#events = this.#eventsOf(options)
  }

  /** The machine's phase, for tests and logs. */
  get phase(): WatchState["phase"] {
    return this.#state.phase
  }

  /** The version to resume from; `undefined` before the first complete list. */
  get delivered(): string | undefined {
    return this.#versions.text
  }

  /** Whether something is still to come that happened before the stream was resumed. */
  get isBehind(): boolean {
    return this.#state.memory.catchUp !== undefined
  }

  start(): void {
    const { resumeVersion, clusterUid, sink } = this.#options
    const { lists, isExpected = false } = this.#options
    const manner = { listsInPages: lists?.inPages === true, tellsCatchUp: sink.behind !== undefined, isExpected }
    this.#input({ type: "start", resumeVersion, clusterUid, ...manner })
  }

  /** What the streams tell. */
  #eventsOf({ clock, sink }: SessionOptions): StreamEvents {
    return {
      opened: (stream, serverTimeMs) => {
        // The server's clock is in whole seconds, so anything below a second is noise.
        if (serverTimeMs !== undefined) this.statistics.clockSkewMs = serverTimeMs - clock.wallMicros() / 1000
        this.#liveness.opened(serverTimeMs)
        this.#input({ type: "opened", stream })
      },
      refused: (stream, status) => {
        this.#streams.forget(stream)
        this.#input({ type: "refused", stream, status })
      },
      readBegins: () => this.#liveness.readBegins(),
      firstBytes: (stream) => this.#input({ type: "first-bytes", stream }),
      object: (object) => {
        const { fromList, version } = object
        if (typeof version === "string") {
          if (!fromList && !this.#versions.takeUnseen(version)) return void this.statistics.repeated++
        } else if (!fromList && !this.#versions.takeNewer(version)) return void this.statistics.repeated++
        this.#progressed = true
        if (this.#isElsewhere(object)) {
          this.statistics.elsewhere++
          return fromList ? undefined : sink.passedOver?.(version)
        }
        if (fromList) this.#liveness.listedObject(object)
        else this.#liveness.judge(object)
        this.statistics.objects++
        sink.observed(object)
      },
      bookmark: (stream, version) => {
        this.statistics.bookmarks++
        this.#versions.reach(version)
        this.#liveness.reached(version)
        this.#input({ type: "bookmark", stream })
        this.#haveCaughtUp()
        // Never backwards: a successor's bookmark may be below what the old watch has delivered.
        sink.progressed(this.#versions.text ?? version)
      },
      initialEventsEnd: (stream, version) => {
        this.#streams.liftStallLimit(stream)
        this.#input({ type: "initial-events-end", stream, version })
      },
      changesBegin: (stream) => this.#input({ type: "changes-begin", stream }),
      outOfOrder: (stream) => this.#input({ type: "out-of-order", stream }),
      pageComplete: (stream, version, continueToken) => {
        this.#streams.forget(stream)
        this.#input({ type: "page-complete", stream, version, continueToken })
      },
      errorEvent: (stream, status) => this.#input({ type: "error-event", stream, status }),
      malformedLine: (stream, description) => {
        this.statistics.malformedLines++
        this.#input({ type: "malformed-line", stream, description })
      },
      slowLine: () => {
        this.statistics.slowLines++
      },
      readDone: (bytes) => {
        this.statistics.bytes += bytes
        this.#haveCaughtUp()
        this.#liveness.readDone()
        sink.readDone()
        if (!this.#blocked && !sink.isWritable) this.#block()
      },
      ended: (stream, outcome) => {
        // What a blocked stream had received is delivered after the block, and its end last.
        const whileBlocked = this.#streams.wasBlocked(stream) && outcome.tag !== "complete"
        this.#streams.forget(stream)
        if (outcome.tag !== "complete" && this.#isWatch(stream)) this.statistics.cuts++
        this.#liveness.ended(outcome.tag === "complete")
        // Something between here and the server may compress wrongly; a list that is larger on the way is still a list.
        if (outcome.tag === "malformed") this.#acceptsGzip = false
        this.#input({ type: "ended", stream, outcome, whileBlocked })
      },
    }
  }

  #isWatch(stream: StreamId): boolean {
    const { phase } = this.#state
    return phase.tag === "watching" && phase.answered && (phase.stream === stream || phase.successor === stream)
  }

  /**
   * Whether an object belongs to another shard. Always asked: whether a server filters may change with each request, and a watch does not say. Half
   * a µs.
   */
  #isElsewhere({ bytes, scanned }: Readonly<ObservedObject>): boolean {
    if (this.#range === undefined) return false
    return this.#options.shard?.by === "namespace"
      ? !this.#range.has(bytes, scanned.namespaceStart, scanned.namespaceEnd)
      : !this.#range.has(bytes, scanned.uidStart, scanned.uidEnd)
  }

  #haveCaughtUp(): void {
    const through = this.#state.memory.catchUp?.numeric
    if (through !== undefined && this.#versions.hasReached(through)) this.#input({ type: "caught-up" })
  }

  #look(): void {
    const { objects } = this.statistics
    const hasMoved = this.#blocked || objects !== this.#objectsSeen
    this.#objectsSeen = objects
    this.#input({ type: "look", hasMoved })
  }

  /** The sink is writable again. */
  resume(): void {
    if (!this.#blocked) return
    this.#blocked = false
    this.#streams.resume()
    for (const command of this.#deferred.splice(0)) this.#carryOut(command)
  }

  /** Retries at once instead of waiting for the back-off, or for the next look for a kind that is not installed. */
  retryNow(): void {
    const { tag } = this.#state.phase
    if (tag !== "backing-off" && tag !== "absent") return
    this.#retryTimer?.cancel()
    this.#input({ type: "retry" })
  }

  /**
   * Another session of the same kind has started a new epoch: this one lists as well, but starts none. `clusterUid`: of namespace
   * kube-system, if that is how it was noticed.
   */
  clusterRestored(detail: string, clusterUid: string | undefined): void {
    this.#input({ type: "restored-elsewhere", detail, clusterUid })
  }

  stop(): void {
    this.#input({ type: "stop" })
    this.#retryTimer?.cancel()
    this.#successorTimer?.cancel()
    this.#lookTimer?.cancel()
    for (const stream of this.#streams.all) this.#close(stream)
  }

  #input(input: Input): void {
    const moment = {
      nowMs: this.#options.clock.monotonicMs(),
      random: this.#options.random,
      delivered: this.#versions.text,
      progressed: this.#progressed,
      isStale: this.#liveness.isStale,
    }
    const [state, commands] = step(this.#options.policy, this.#state, input, moment)
    this.#state = state
    for (const command of commands) this.#carryOut(command)
  }

  #carryOut(command: Command): void {
    const { sink, listener, clock, enquiries } = this.#options
    switch (command.type) {
      case "discover":
        void enquiries
          .discover((path) => {
            this.#selection = { ...this.#selection, path }
          })
          .then((input) => this.#input(input))
        return
      case "probe":
        void enquiries.probe(this.#selection).then((input) => {
          if (input.type === "probed") this.#liveness.probed(input.version)
          this.#input(input)
        })
        return
      case "open-streaming-list":
      case "open-page":
      case "open-whole-list":
      case "open-watch":
        // While nothing may be read, the server would only hang up on a new stream.
        if (this.#blocked) this.#deferred.push(command)
        else this.#open(command)
        return
      case "close":
        this.#deferred = this.#deferred.filter(
          (deferred) => !("stream" in deferred) || deferred.stream !== command.stream,
        )
        this.#close(command.stream)
        return
      case "limit-silence":
        if (this.#blocked && !this.#streams.has(command.stream)) this.#deferred.push(command)
        else this.#streams.limitSilence(command.stream, command.ms)
        return
      case "limit-stall":
        this.#streams.limitStall(command.stream, command.ms)
        return
      case "retry-after":
        this.#retryTimer?.cancel()
        this.#retryTimer = clock.after(command.ms, () => this.#input({ type: "retry" }))
        return
      case "successor-after":
        this.#successorTimer?.cancel()
        this.#successorTimer = clock.after(command.ms, () => this.#input({ type: "successor-due" }))
        return
      case "look-after":
        this.#lookTimer?.cancel()
        this.#lookTimer = clock.after(command.ms, () => this.#look())
        return
      case "behind":
        sink.behind?.(command.isBehind)
        return
      case "list-started":
        if (command.reason !== "first") this.statistics.relists++
        sink.listStarted(command.reason, command.detail)
        return
      case "list-completed":
        this.#versions.reset(command.version)
        this.#liveness.listed()
        sink.listCompleted(command.version)
        return
      case "epoch-started":
        this.#versions.reset(undefined)
        sink.epochStarted(command.detail)
        return
      case "history-forgotten":
        this.#versions.reset(undefined)
        return
      case "cluster-identified":
        listener.clusterIdentified(command.uid)
        return
      case "unauthorized":
        listener.unauthorized()
        return
      case "unended-list":
        this.statistics.unendedLists++
        return
      case "alarm":
        listener.alarm(command.detail)
        return
      case "cut":
        listener.cut?.(command.detail)
        return
      case "state":
        if (command.state === "waiting") sink.absent?.()
        listener.stateChanged(command.state, this.#detailOf(command))
        return
    }
  }

  #detailOf({ state, detail, nextAttemptMs }: Extract<Command, { type: "state" }>): string {
    if (state === "forbidden") return `${detail}; ${permissionHint(this.#selection.path)}`
    if (nextAttemptMs === undefined) return detail
    const at = new Date(this.#options.clock.wallMicros() / 1000 + nextAttemptMs)
    return `${detail}, the next attempt is at ${at.toISOString().slice(0, 19)}Z`
  }

  #open(command: OpenCommand): void {
    const { transport, gvk, rules, lineBudget } = this.#options
    const { stream } = command
    this.#progressed = false
    if (command.type === "open-watch") this.statistics.watches++
    const headers = { Accept: "application/json" }
    const path = this.#pathOf(command)
    if (command.type === "open-page" || command.type === "open-whole-list") {
      const reader = new PageReader(stream, this.#events, gvk, rules, lineBudget)
      const http = this.#acceptsGzip
        ? getGunzipped(transport, path, headers, reader)
        : transport.get(path, headers, reader)
      this.#streams.add(stream, reader, http)
    } else {
      const reader = new WatchReader(stream, this.#events, rules, command.type === "open-streaming-list", lineBudget)
      this.#streams.add(stream, reader, transport.get(path, headers, reader))
    }
  }

  #pathOf(command: OpenCommand): string {
    switch (command.type) {
      case "open-streaming-list":
        return streamingListPath(this.#selection, command.version, command.timeoutSeconds)
      case "open-page":
        return pagePath(this.#selection, this.#options.policy.pageSize, command.version, command.continueToken)
      case "open-whole-list":
        return wholeListPath(this.#selection, command.version)
      case "open-watch":
        return watchPath(this.#selection, command.version, command.timeoutSeconds)
    }
  }

  #block(): void {
    this.#blocked = true
    this.#streams.block()
  }

  #close(stream: StreamId): void {
    // A stream closed in the middle of a network read does not report the end of that read.
    if (this.#streams.close(stream)) this.#options.sink.readDone()
  }
}

/** An object may enter a selection long after it was created, by a change that leaves no time, such as a binding to a node. */
const writesBefore = ({ sink, labelSelector, fieldSelector }: SessionOptions): WritesBefore | undefined => {
  if (sink.writesBefore === undefined) return undefined
  const isSelective = labelSelector !== undefined || fieldSelector !== undefined
  return (object) => {
    const before = sink.writesBefore?.(object) ?? "unknown"
    return before === "new" && isSelective ? "unknown" : before
  }
}
