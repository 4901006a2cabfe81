/**
 * One kind's list/watch, for as long as its watcher lives: carries out what the state machine asks for and tells the
 * sink what the server says.
 *
 * Guarantees: each new version reaches the sink once, in order, from at most two overlapping streams; a blocked sink
 * stops the reading, and a stream the server then hangs up on is resumed at the last version delivered (rule 11); every
 * timer, stream and request is closed by `stop`. It never throws for anything a server sends.
 */
import type { HttpStream, ResponseHandler } from "../http/response-handler.ts"
import type { DetectRules } from "../scanner/detect-rules.ts"
import type { WatchClock } from "./clock.ts"
import { initialState, step } from "./machine.ts"
import { permissionHint } from "./permission-hint.ts"
import type { WatchPolicy } from "./policy.ts"
import type { Command, Input, StreamId, WatchState } from "./protocol.ts"
import { pagePath, type Selection, streamingListPath, watchPath } from "./request.ts"
import type { WatchSink } from "./sink.ts"
import { noStatistics, type WatchStatistics } from "./statistics.ts"
import { PageReader, type StreamEvents, type StreamReader, WatchReader } from "./stream-reader.ts"
import { DeliveredVersions } from "./versions.ts"

/** Sends one GET; the handler is called as `src/kube/http` promises. */
export interface Transport {
  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream
}

/** One-off questions around the watch; each answers with exactly one input for the machine. */
export interface Enquiries {
  /** Is the kind installed, and where? `selection` is called before the input is answered. */
  discover(found: (path: string) => void): Promise<Input>
  probe(selection: Selection): Promise<Input>
}

export interface SessionOptions {
  readonly transport: Transport
  readonly enquiries: Enquiries
  readonly sink: WatchSink
  readonly clock: WatchClock
  /** In [0, 1). */
  readonly random: () => number
  readonly policy: WatchPolicy
  readonly rules: DetectRules
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  /** Complete up to here, from the store; `undefined` lists. */
  readonly resumeVersion: string | undefined
  /** UID of namespace kube-system when last seen. */
  readonly clusterUid: string | undefined
}

const looksPerSilence = 4

interface OpenStream {
  readonly reader: StreamReader
  readonly http: HttpStream
  /** Monotonic ms without a byte after which it is dead. */
  silenceMs: number
  /** Bytes when that was last looked at, and the looks since that found none more. */
  bytesSeen: number
  quietLooks: number
  /** The sink has stopped the reading of it at some time. */
  wasBlocked: boolean
  timer: { cancel(): void } | undefined
}

export class WatchSession {
  readonly #options: SessionOptions
  readonly #streams = new Map<StreamId, OpenStream>()
  readonly #versions = new DeliveredVersions()
  readonly statistics: WatchStatistics = noStatistics()
  #state: WatchState = initialState
  #selection: Selection
  #progressed = false
  #blocked = false
  /** Streams to open once the sink is writable again. */
  #deferred: Array<Command> = []
  #retryTimer: { cancel(): void } | undefined
  #successorTimer: { cancel(): void } | undefined
  readonly #events: StreamEvents

  constructor(options: SessionOptions) {
    this.#options = options
    this.#selection = { path: "", labelSelector: options.labelSelector, fieldSelector: options.fieldSelector }
    this.#versions.reset(options.resumeVersion)
    this.#events = {
      opened: (stream, serverTimeMs) => {
        // Whole seconds on the server's side, so anything below a second is noise.
        if (serverTimeMs !== undefined) this.statistics.clockSkewMs = serverTimeMs - options.clock.wallMicros() / 1000
        this.#input({ type: "opened", stream })
      },
      refused: (stream, status) => {
        this.#drop(stream)
        this.#input({ type: "refused", stream, status })
      },
      firstBytes: (stream) => this.#input({ type: "first-bytes", stream }),
      object: (action, fromList, version, bytes, start, end, object) => {
        if (typeof version === "string") {
          if (!fromList && !this.#versions.takeUnseen(version)) return void this.statistics.repeated++
        } else if (!fromList && !this.#versions.takeNewer(version)) return void this.statistics.repeated++
        this.statistics.objects++
        this.#progressed = true
        options.sink.observed(action, fromList, version, bytes, start, end, object)
      },
      bookmark: (stream, version) => {
        this.statistics.bookmarks++
        this.#versions.reach(version)
        this.#input({ type: "bookmark", stream })
        // Never backwards: a successor's bookmark may lie below what the old watch has delivered.
        options.sink.progressed(this.#versions.text ?? version)
      },
      initialEventsEnd: (stream, version) => this.#input({ type: "initial-events-end", stream, version }),
      pageComplete: (stream, version, continueToken) => {
        this.#drop(stream)
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
        options.sink.readDone()
        if (!this.#blocked && !options.sink.isWritable) this.#block()
      },
      ended: (stream, outcome) => {
        // What a blocked stream had received comes after the block, and its end last of all.
        const whileBlocked = this.#streams.get(stream)?.wasBlocked === true && outcome.tag !== "complete"
        this.#drop(stream)
        this.#input({ type: "ended", stream, outcome, whileBlocked })
      },
    }
  }

  /** What the machine is doing, for tests and logs. */
  get phase(): WatchState["phase"] {
    return this.#state.phase
  }

  /** The version to resume from; `undefined` before the first complete list. */
  get delivered(): string | undefined {
    return this.#versions.text
  }

  start(): void {
    const { resumeVersion, clusterUid } = this.#options
    this.#input({ type: "start", resumeVersion, clusterUid })
  }

  /** The sink is writable again. */
  resume(): void {
    if (!this.#blocked) return
    this.#blocked = false
    for (const [stream, open] of this.#streams) {
      open.http.resume()
      this.#watchSilence(stream, open)
    }
    for (const command of this.#deferred.splice(0)) this.#carryOut(command)
  }

  /** Tries at once what is waiting for its back-off; for fresh credentials. */
  retryNow(): void {
    if (this.#state.phase.tag !== "backing-off") return
    this.#retryTimer?.cancel()
    this.#input({ type: "retry" })
  }

  stop(): void {
    this.#input({ type: "stop" })
    this.#retryTimer?.cancel()
    this.#successorTimer?.cancel()
    for (const stream of [...this.#streams.keys()]) this.#close(stream)
  }

  #input(input: Input): void {
    const moment = {
      nowMs: this.#options.clock.monotonicMs(),
      random: this.#options.random,
      delivered: this.#versions.text,
      progressed: this.#progressed,
    }
    const [state, commands] = step(this.#options.policy, this.#state, input, moment)
    this.#state = state
    for (const command of commands) this.#carryOut(command)
  }

  #carryOut(command: Command): void {
    const { sink, clock, enquiries } = this.#options
    switch (command.type) {
      case "discover":
        void enquiries
          .discover((path) => {
            this.#selection = { ...this.#selection, path }
          })
          .then((input) => this.#input(input))
        return
      case "probe":
        void enquiries.probe(this.#selection).then((input) => this.#input(input))
        return
      case "open-streaming-list":
      case "open-page":
      case "open-watch":
        // A new stream while nothing may be read would only be hung up on.
        if (this.#blocked) this.#deferred.push(command)
        else this.#open(command)
        return
      case "close":
        this.#deferred = this.#deferred.filter(
          (deferred) => !("stream" in deferred) || deferred.stream !== command.stream,
        )
        this.#close(command.stream)
        return
      case "limit-silence": {
        const open = this.#streams.get(command.stream)
        if (open === undefined) {
          if (this.#blocked) this.#deferred.push(command)
          return
        }
        open.silenceMs = command.ms
        this.#watchSilence(command.stream, open)
        return
      }
      case "retry-after":
        this.#retryTimer?.cancel()
        this.#retryTimer = clock.after(command.ms, () => this.#input({ type: "retry" }))
        return
      case "successor-after":
        this.#successorTimer?.cancel()
        this.#successorTimer = clock.after(command.ms, () => this.#input({ type: "successor-due" }))
        return
      case "list-started":
        if (command.reason !== "first") this.statistics.relists++
        sink.listStarted(command.reason)
        return
      case "list-completed":
        this.#versions.reset(command.version)
        sink.listCompleted(command.version)
        return
      case "epoch-started":
        this.#versions.reset(undefined)
        sink.epochStarted(command.detail)
        return
      case "cluster-identified":
        sink.clusterIdentified(command.uid)
        return
      case "unauthorized":
        sink.unauthorized()
        return
      case "alarm":
        sink.alarm(command.detail)
        return
      case "state":
        sink.stateChanged(
          command.state,
          command.state === "forbidden" ? `${command.detail}; ${permissionHint(this.#selection.path)}` : command.detail,
        )
        return
    }
  }

  #open(command: Extract<Command, { type: "open-streaming-list" | "open-page" | "open-watch" }>): void {
    const { transport, rules, policy } = this.#options
    const { stream } = command
    this.#progressed = false
    if (command.type === "open-watch") this.statistics.watches++
    const reader =
      command.type === "open-page"
        ? new PageReader(stream, this.#events, rules)
        : new WatchReader(stream, this.#events, rules, command.type === "open-streaming-list")
    const path =
      command.type === "open-page"
        ? pagePath(this.#selection, policy.pageSize, command.version, command.continueToken)
        : command.type === "open-watch"
          ? watchPath(this.#selection, command.version, command.timeoutSeconds)
          : streamingListPath(this.#selection, command.version, command.timeoutSeconds)
    const http = transport.get(path, { Accept: "application/json" }, reader)
    this.#streams.set(stream, {
      reader,
      http,
      silenceMs: Number.POSITIVE_INFINITY,
      bytesSeen: 0,
      quietLooks: 0,
      wasBlocked: false,
      timer: undefined,
    })
  }

  #block(): void {
    this.#blocked = true
    for (const open of this.#streams.values()) {
      open.http.pause()
      open.wasBlocked = true
      // A stream that is not read is silent by our own doing.
      open.timer?.cancel()
    }
  }

  #watchSilence(stream: StreamId, open: OpenStream): void {
    open.timer?.cancel()
    if (!Number.isFinite(open.silenceMs)) return
    open.bytesSeen = open.http.bytesReceived
    open.quietLooks = 0
    this.#lookAgain(stream, open)
  }

  /** Four looks per limit: a clock reading per network read would cost more than being late by a quarter. */
  #lookAgain(stream: StreamId, open: OpenStream): void {
    open.timer = this.#options.clock.after(open.silenceMs / looksPerSilence, () => {
      const received = open.http.bytesReceived
      open.quietLooks = received === open.bytesSeen ? open.quietLooks + 1 : 0
      open.bytesSeen = received
      if (open.quietLooks >= looksPerSilence) this.#input({ type: "silent", stream })
      else this.#lookAgain(stream, open)
    })
  }

  #close(stream: StreamId): void {
    const open = this.#streams.get(stream)
    if (open === undefined) return
    this.#drop(stream)
    open.reader.disown()
    open.http.abort()
    // Closed in the middle of a network read, the stream does not tell its end.
    this.#options.sink.readDone()
  }

  #drop(stream: StreamId): void {
    this.#streams.get(stream)?.timer?.cancel()
    this.#streams.delete(stream)
  }
}
