/**
 * The recorder for programs that embed it: promises, and a default for every setting.
 *
 * Guaranteed: `startRecorder` resolves when the recording can be written to, and leaves nothing running if it rejects; what was received is on
 * disk once `close` has resolved. Several recorders may run in one process, each with a directory of its own. Under overload it reads the
 * watches more slowly and drops nothing. There is no HTTP interface unless one is asked for.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ChangeType, type LiveChange, LiveChanges, QueriedRecording } from "../../archive/index.ts"
import { systemClock } from "../../clock.ts"
import type { ApiEndpoint, EndpointSource } from "../../kube/index.ts"
import { quoted } from "../../text/index.ts"
import type { GapEvent } from "../../trace/index.ts"
import type { CertificateFiles } from "../http/serving-certificate.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import { RecorderError } from "../notices/recorder-error.ts"
import { type RunningRecorder, reasonOf, startRecorder as startInScope } from "../recorder.ts"
import type { RecorderClose } from "../recording/recorder-actors.ts"
import type { KindStatus } from "../status/kind-status.ts"
import { type ExportedTrace, type ExportOptions, exportToFile } from "./embedded-export.ts"
import { configurationText, type RecordedKinds } from "./kind-options.ts"

/** All have a default. */
export interface RecorderOptions {
  /** What to record. Default: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and Pods. */
  readonly kinds?: RecordedKinds
  /** A file with SimKube's or kubereel's configuration in place of `kinds`; its changes are followed. */
  readonly configurationFile?: string
  /** The API server: its address, such as `http://127.0.0.1:8001`, with its credentials, or a source of both. Default: a kubeconfig. */
  readonly server?: string | ApiEndpoint | EndpointSource
  /** Default: the files of KUBECONFIG, else ~/.kube/config, else the pod's service account. */
  readonly kubeconfig?: string
  /** Default: the kubeconfig's current one. */
  readonly context?: string
  /** Where the recording is kept; an existing one is continued. Default: a new temporary directory, which stays. */
  readonly directory?: string
  /** Only these namespaces, for which a Role is enough. Default: all. */
  readonly namespaces?: ReadonlyArray<string>
  /** Record `v1.Secret` as it is. Default false: its values are redacted. */
  readonly secretsInPlainText?: boolean
  /** File with the key for redacted values. Default: one in the directory, which is made if there is none. */
  readonly redactKeyFile?: string
  /**
   * How long what was recorded is kept, such as `30d`. Default: for ever. A `configurationFile` has limits of its own, so these are not allowed with it; those
   * of a kind are among its settings.
   */
  readonly retainFor?: string
  /** How much the recording may take on disk, such as `20Gi`. Default: any. Likewise. */
  readonly retainBytes?: string
  /** `interval`: a power failure loses at most the last second; `always`: nothing, but slower. Default `interval`. */
  readonly fsync?: "interval" | "always"
  /**
   * gzip on lists. `auto`: in pages, if the API server is on another machine and not that of the pod's own cluster; `always`: all lists, which are
   * then made in pages; `never`. Default `auto`.
   */
  readonly listCompression?: "auto" | "always" | "never"
  /** Port on 127.0.0.1 of the interface that `reel export` uses, for all users of this machine; 0 picks a free one. Default: none. */
  readonly port?: number
  /** PEM files, for TLS on that port; followed when they are replaced. Default: plain HTTP. */
  readonly tls?: CertificateFiles
  /** Default: errors and warnings on standard error. */
  readonly log?: RecorderLog
}

/** A change of an object, or a stretch in which changes of a kind may be missing. */
export type RecordedItem =
  | {
      readonly type: ChangeType
      /** Increases by commit. */
      readonly sequence: number
      /** µs since the Unix epoch. */
      readonly time: number
      /** `apps/v1.Deployment`. */
      readonly gvk: string
      /** Empty for an object that has none. */
      readonly namespace: string
      readonly name: string
      readonly uid: string
      readonly resourceVersion: string
      /** JSON: after the change, or as it was deleted; empty if it vanished from a list. */
      readonly object: string
    }
  | GapEvent

/** A recorder that runs in this process. */
export interface Recorder {
  /** For `ArchiveReader.open` of `kubereel/archive`, at any time. */
  readonly directory: string
  /** The port of the HTTP interface; `undefined` without one. */
  readonly port: number | undefined
  /** The state of each kind now. */
  readonly kinds: ReadonlyArray<KindStatus>
  /**
   * Resolves when the first list of every kind is recorded, or cannot be made: {@link kinds} says which. Rejects with the signal's reason, or
   * if the recording has ended.
   */
  ready(signal?: AbortSignal): Promise<void>
  /** Writes a trace. Rejects with an `ExportError`, or an error that names the file; there is then no file. */
  export(file: string, options?: ExportOptions): Promise<ExportedTrace>
  /**
   * Changes and gaps as they are committed, in the order of their sequence numbers, until the signal aborts or the
   * recorder is closed. Each is given once. `after`: the sequence number after which to continue, such as that of the
   * last one another process has taken; default: what is recorded from now on. A slow reader delays nothing but itself.
   * Throws a QuestionRefused if what follows `after` was removed by retention.
   */
  changes(options?: {
    readonly after?: number
    readonly signal?: AbortSignal
  }): AsyncGenerator<RecordedItem, void, void>
  /** Commits what was received; resolves with the sequence number up to which a reader of the directory sees everything. */
  commit(): Promise<number>
  /** Rejects if the recording cannot continue, with a RecorderError; resolves when it was closed. */
  readonly ended: Promise<void>
  /** Stops the watches, writes what was received and closes the recording. May be called again. */
  close(): Promise<RecorderClose>
  [Symbol.asyncDispose](): Promise<void>
}

/** ms between two looks at the states of the kinds. */
const lookMs = 25

/**
 * Starts a recorder. Rejects with ConfigurationInvalidError, ConfigurationUnreadableError, a CredentialsError, CertificateFileError, ListenError or RecorderError;
 * all have a `_tag` and a message for people.
 */
export const startRecorder = async (options: RecorderOptions = {}): Promise<Recorder> => {
  const { configurationFile, retainFor, retainBytes } = options
  if (configurationFile !== undefined && (retainFor ?? retainBytes) !== undefined)
    throw new RecorderError({
      message: "retainFor and retainBytes belong into the configuration file, if there is one",
    })
  const server = typeof options.server === "string" ? endpointAt(options.server) : options.server
  const scope = Effect.runSync(Scope.make())
  const settings = {
    config: configurationFile ?? { text: configurationText(options.kinds, options) },
    kubeconfig: options.kubeconfig,
    context: options.context,
    ...(server !== undefined && { server }),
    port: options.port,
    bind: "127.0.0.1",
    tls: options.tls,
    dataDir: options.directory,
    namespaces: options.namespaces ?? [],
    secretsInPlainText: options.secretsInPlainText ?? false,
    redactKeyFile: options.redactKeyFile,
    fsync: options.fsync ?? "interval",
    listCompression: options.listCompression ?? "auto",
    reportEvents: false,
    version: "embedded",
  }
  const log = options.log ?? standardError
  const starting = startInScope(settings, log)
  const exit = await Effect.runPromiseExit(starting.pipe(Effect.provideService(Scope.Scope, scope)))
  if (Exit.isSuccess(exit)) return new EmbeddedRecorder(exit.value, scope, log)
  await Effect.runPromise(Scope.close(scope, Exit.void))
  throw Cause.squash(exit.cause)
}

/** @throws RecorderError if it is no address */
const endpointAt = (address: string): ApiEndpoint => {
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? ""))
    throw new RecorderError({ message: `server ${quoted(address)}: must be a URL such as http://127.0.0.1:8001` })
  return { server: address.replace(/\/+$/, ""), headers: [] }
}

class EmbeddedRecorder implements Recorder {
  readonly directory: string
  readonly port: number | undefined
  readonly ended: Promise<void>
  readonly #running: RunningRecorder
  readonly #scope: Scope.Closeable
  readonly #closing = Deferred.makeUnsafe<void>()
  #failure: RecorderError | undefined
  #closed: Promise<RecorderClose> | undefined

  constructor(running: RunningRecorder, scope: Scope.Closeable, log: RecorderLog) {
    this.#running = running
    this.#scope = scope
    this.directory = running.dataDirectory
    this.port = running.port
    this.ended = Effect.runPromise(Effect.raceFirst(running.actors.ended, Deferred.await(this.#closing))).catch(
      (error: unknown) => {
        this.#failure = new RecorderError({ message: reasonOf(error) })
        log.error(`the recording has ended: ${this.#failure.message}`)
        throw this.#failure
      },
    )
    // The log has it; a program that does not wait for the end must not be ended by it.
    this.ended.catch(() => undefined)
  }

  get kinds(): ReadonlyArray<KindStatus> {
    return this.#running.actors.statuses.all()
  }

  async ready(signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.#failure !== undefined) throw this.#failure
      if (this.#closed !== undefined) throw new RecorderError({ message: "the recorder was closed" })
      if (this.#running.actors.statuses.isReady) return
      await new Promise<void>((resolve) => systemClock.after(lookMs, resolve))
    }
  }

  export(file: string, options: ExportOptions = {}): Promise<ExportedTrace> {
    return exportToFile(this.#running.exportContext(), file, options, systemClock)
  }

  async *changes({
    after,
    signal,
  }: {
    after?: number
    signal?: AbortSignal
  } = {}): AsyncGenerator<RecordedItem, void, void> {
    const start = after ?? (await this.commit())
    const recording = QueriedRecording.open(this.directory)
    try {
      const live = new LiveChanges(recording, { after: start, withBefore: false })
      for (;;) {
        for (const item of live.toCut()) {
          if (signal?.aborted === true || this.#closed !== undefined) return
          if (item !== undefined) yield "event" in item ? recordedItem(item) : item
        }
        while (!recording.hasGrown) {
          if (signal?.aborted === true || this.#closed !== undefined) return
          if (this.#failure !== undefined) throw this.#failure
          await new Promise<void>((resolve) => systemClock.after(lookMs, resolve))
        }
        recording.refresh()
      }
    } finally {
      recording.close()
    }
  }

  commit(): Promise<number> {
    return Effect.runPromise(this.#running.actors.cut())
  }

  close(): Promise<RecorderClose> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<RecorderClose> {
    Deferred.doneUnsafe(this.#closing, Effect.void)
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
    return this.#running.actors.closed() ?? { events: undefined, unwritten: [] }
  }
}

const recordedItem = ({ event, type }: LiveChange): RecordedItem => ({
  ...{ type, sequence: event.sequence, time: event.time, gvk: event.gvk, namespace: event.namespace, name: event.name },
  ...{ uid: event.uid, resourceVersion: event.resourceVersion, object: Buffer.from(event.object).toString() },
})

const written =
  (level: string) =>
  (message: string): void => {
    process.stderr.write(`kubereel: ${level}: ${message}\n`)
  }

const standardError: RecorderLog = {
  error: written("error"),
  warn: written("warning"),
  info: () => undefined,
  debug: () => undefined,
}
