/**
 * Runs a recorder as a command: starts it, shows its status, stops it on SIGINT and SIGTERM, reloads its configuration on
 * SIGHUP, and reports how it ended.
 *
 * A closed standard output or standard error does not end the recorder: it continues without them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import {
  byCause,
  type GivenLimits,
  type KindStatus,
  type LeaseSettings,
  namedKinds,
  type PinSettings,
  type RecorderClose,
  type RecorderShard,
  type RunningRecorder,
  reasonOf,
  startRecorder,
} from "../../recorder/index.ts"
import { type ShardMessage, sharingVariable } from "../../replicas/index.ts"
import { lowerHelperPriority } from "../../runtime/index.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { readVersion } from "../command-line/version.ts"
import type { LogFormat, Logger } from "../terminal/log.ts"
import { formatRecorded } from "../terminal/quantities.ts"
import type { RecordAccess } from "./record-access.ts"
import type { RecorderStatus } from "./status-line.ts"

// What `reel record` passes to the recorder: its options and its output.

/** The options of `reel record`. */
export interface RecordOptions extends RecordAccess {
  /** Path of the configuration; its text, for `--all`; `undefined`: the default one. */
  readonly config: string | { readonly text: string } | undefined
  /** Path of a kubeconfig; `undefined`: KUBECONFIG, ~/.kube/config, or the pod's own service account. */
  readonly kubeconfig: string | undefined
  /** Context of the kubeconfig; `undefined`: its current one. */
  readonly context: string | undefined
  /** TCP port of the HTTP interface; 0 lets the system choose one. */
  readonly port: number
  /** Address or host name the HTTP interface listens on. */
  readonly bind: string
  /** Directory of the recording; `undefined`: a new temporary one. */
  readonly dataDir: string | undefined
  /** Namespaces to record, for kinds that name none in the configuration; empty: the whole cluster. */
  readonly namespaces: readonly string[]
  /** The part of the cluster to record. Default: all of it. */
  readonly shard?: RecorderShard | undefined
  readonly logFormat: LogFormat
  /** The number of `-v` options. */
  readonly verbosity: number
  readonly secretsInPlainText: boolean
  /** File with the key for redacted values; `undefined`: one in the data directory. */
  readonly redactKeyFile: string | undefined
  /** Tokens of API servers that send audit events. */
  readonly auditTokenFile?: string | undefined
  /** What is kept around alerts, and where pinned windows are written. */
  readonly pins?: PinSettings
  readonly fsync: "interval" | "always"
  readonly listCompression: "auto" | "always" | "never"
  /** Record only while this Lease is held; `undefined`: record. */
  readonly lease: LeaseSettings | undefined
  /** How long and how much is kept. */
  readonly limits: GivenLimits
}

/** The output of a recorder. */
export interface RecordOutput {
  readonly log: Logger
  /** May be called at any rate; does nothing if there is no terminal. */
  readonly showStatus: (status: RecorderStatus) => void
  /** Whether the status line is shown at all. */
  readonly isLive: boolean
}

/** Runs until it is stopped or fails and resolves with the exit code. Handles SIGINT and SIGTERM itself, because stopping takes time. */
export type RunRecorder = (options: RecordOptions, output: RecordOutput) => Promise<ExitCode>

/** ms between two reads of the counters. */
const statusIntervalMs = 500

/** The state when the recorder was asked to stop; afterwards every kind is `stopped`. */
interface Outcome {
  readonly incomplete: ReadonlyArray<KindStatus>
  readonly closed: () => RecorderClose | undefined
}

/**
 * `nice` of V8's helper threads, that of queries: while dry runs were counted, a watcher that had to wait for a core waited for one of them
 * two thirds of the time.
 */
const helperNice = 5

/** ms for an end in order of a recorder whose replica is gone; nobody else would end it. */
const orphanMs = 30_000

/** ms between two signs of life for the replica that runs this recorder. */
const aliveMs = 1000

/** To the replica that runs this recorder, if one does. It may have ended in that moment, which the channel's end says. */
const tellReplica = (message: ShardMessage): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

export const runRecorder: RunRecorder = async ({ verbosity, logFormat: _, lease, ...options }, output) => {
  lowerHelperPriority(helperNice)
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      output.log.warn(`${signal} again: exiting immediately; everything acknowledged is on disk`)
      process.exit(exitCodes.interrupted)
    }
    output.log.info(`${signal}: shutting down; send it again to exit immediately`)
    stop.abort()
  }
  let isStandby = lease !== undefined
  let isLeaseLost = false
  const onLeaseTaken = (): void => {
    isStandby = false
  }
  const onLeaseLost = (withinMs: number): void => {
    isLeaseLost = true
    output.log.error(
      "another recorder may take over now: ending; what was received and is not on disk it receives again",
    )
    setTimeout(() => process.exit(exitCodes.leaseLost), withinMs).unref()
    stop.abort()
  }
  const onOrphaned = (): void => {
    output.log.warn("the replica that runs this recorder has ended: shutting down")
    setTimeout(() => process.exit(exitCodes.failed), orphanMs).unref()
    stop.abort()
  }
  if (process.connected) process.once("disconnect", onOrphaned)
  const alive = process.connected ? setInterval(() => tellReplica({}), aliveMs) : undefined
  let reload: (() => Promise<void>) | undefined
  // On a terminal, SIGHUP means that the terminal is gone. Before the recorder runs, there is nothing to reload.
  const onHangUp = (signal: NodeJS.Signals): void => {
    if (process.stdin.isTTY) onSignal(signal)
    else void reload?.()
  }
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)
  process.on("SIGHUP", onHangUp)
  for (const stream of [process.stdout, process.stderr]) {
    // Never removed: the last write may fail after this function has returned.
    if (!stream.listeners("error").includes(ignoreLostReader)) stream.on("error", ignoreLostReader)
  }
  try {
    const settings = {
      ...options,
      ...(lease && {
        lease: { ...lease, directoryInUse: (await import("../../archive/index.ts")).directoryInUse },
      }),
      ...{ reportEvents: verbosity > 0, version: readVersion(), onLeaseTaken, onLeaseLost },
      onListening: (port: number) => tellReplica({ port }),
      ...(process.connected && { sharing: Number(process.env[sharingVariable] ?? 1) }),
    }
    const program = Effect.scoped(
      Effect.gen(function* () {
        const started = startRecorder(settings, output.log)
        const running = yield* Effect.raceFirst(started, Effect.as(aborted(stop.signal), undefined))
        if (running === undefined) return undefined
        reload = running.reload
        tellReplica({ isRecording: true })
        if (output.isLive) yield* Effect.forkScoped(showStatus(running, output))
        yield* Effect.raceFirst(aborted(stop.signal), running.actors.ended)
        const { statuses, closed } = running.actors
        return { incomplete: statuses.incomplete(), closed } satisfies Outcome
      }),
    )
    const exit = await Effect.runPromiseExit(program)
    if (isLeaseLost) return exitCodes.leaseLost
    if (Exit.isFailure(exit)) return fail(Cause.squash(exit.cause), output)
    if (exit.value !== undefined) return conclude(exit.value, output)
    if (isStandby) {
      output.log.info("stopped while standing by")
      return exitCodes.ok
    }
    output.log.warn("stopped before recording began")
    return exitCodes.incomplete
  } finally {
    process.off("SIGINT", onSignal)
    process.off("SIGTERM", onSignal)
    process.off("SIGHUP", onHangUp)
    process.off("disconnect", onOrphaned)
    clearInterval(alive)
  }
}

/** Without a listener, a closed pipe would end the process. There is no reader left to report it to. */
const ignoreLostReader = (): void => undefined

const conclude = ({ incomplete, closed }: Outcome, { log }: RecordOutput): ExitCode => {
  const { events, unwritten = [] } = closed() ?? {}
  log.info(events === undefined ? "stopped" : `recorded ${formatRecorded(events)}`)
  for (const { gvks, state, detail } of byCause(incomplete))
    log.warn(`${namedKinds(gvks)} ${gvks.length === 1 ? "was" : "were"} ${state} at the end: ${detail}`)
  for (const gvk of unwritten) {
    log.error(
      `${gvk}: the last events received could not be written. To record them, restart with the same --data-dir before the server discards them`,
    )
  }
  if (unwritten.length > 0) return exitCodes.incomplete
  if (incomplete.length === 0) return exitCodes.ok
  return incomplete.every(({ isRefused }) => isRefused) ? exitCodes.notPermitted : exitCodes.incomplete
}

/** Errors that are mistakes of the user. */
const usageErrors: ReadonlySet<string> = new Set([
  "ConfigurationInvalidError",
  "ConfigurationUnreadableError",
  "AnonymousRefused",
  "TokenFileError",
  "CertificateFileError",
  "RedactionKeyError",
  "ShardRefused",
  "StreamRefused",
])

const fail = (cause: unknown, output: RecordOutput): ExitCode => {
  const tag = typeof cause === "object" && cause !== null && "_tag" in cause ? String(cause._tag) : ""
  for (const line of reasonOf(cause).split("\n")) output.log.error(line)
  if (tag === "StreamTakenOver") return exitCodes.fenced
  return usageErrors.has(tag) ? exitCodes.usage : exitCodes.failed
}

const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (signal.aborted) return resume(Effect.void)
    signal.addEventListener("abort", () => resume(Effect.void), { once: true })
  })

/** 0 if the watcher does not reply in time. */
const liveObjectsOf = (watcher: RunningRecorder["actors"]["watchers"][number]["watcher"]): Effect.Effect<number> =>
  watcher.call("statistics", undefined, statusIntervalMs).pipe(
    Effect.map(({ liveObjects }) => liveObjects),
    Effect.orElseSucceed(() => 0),
  )

/** Reads the counters twice a second and shows them. Not run without a terminal, because each call wakes every thread. */
const showStatus = ({ actors }: RunningRecorder, output: RecordOutput) =>
  Effect.gen(function* () {
    const startedMs = performance.now()
    let lastSequence: number | undefined
    let lastMs = startedMs
    while (true) {
      yield* Effect.sleep(statusIntervalMs)
      // Concurrently, so that one actor that does not reply does not delay the line.
      const [store, live] = yield* Effect.all(
        [
          actors.store.call("statistics", undefined, statusIntervalMs).pipe(Effect.orElseSucceed(() => undefined)),
          Effect.forEach(actors.watchers, ({ watcher }) => liveObjectsOf(watcher), { concurrency: "unbounded" }),
        ],
        { concurrency: "unbounded" },
      )
      const nowMs = performance.now()
      const events = store === undefined || lastSequence === undefined ? 0 : Math.max(0, store.sequence - lastSequence)
      output.showStatus({
        eventsPerSecond: (events * 1000) / (nowMs - lastMs),
        objects: live.reduce((sum, objects) => sum + objects, 0),
        lagMs: store?.lagMs,
        archive: actors.archive,
        kinds: actors.statuses.all(),
        uptimeMs: nowMs - startedMs,
      })
      lastMs = nowMs
      lastSequence = store?.sequence ?? lastSequence
    }
  })
