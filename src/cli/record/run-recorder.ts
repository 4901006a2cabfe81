/**
 * A recorder as a command: starts it, shows how it goes, stops it on SIGINT and SIGTERM, has it read
 * its configuration anew on SIGHUP, and says how it ended.
 *
 * Nobody who reads its output can end it: when the other end of standard output or standard error is gone, it goes on
 * without them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { KindStatus } from "../../recorder/kind-status.ts"
import { type RunningRecorder, reasonOf, startRecorder } from "../../recorder/recorder.ts"
import type { RecorderClose } from "../../recorder/recorder-actors.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { formatCount } from "../terminal/quantities.ts"
import { readVersion } from "../version.ts"
import type { RecordOutput, RunRecorder } from "./run-options.ts"

/** ms between two looks at the counters. */
const statusIntervalMs = 500

/** What there was to say when it was asked to stop: afterwards every kind is `stopped`. */
interface Outcome {
  readonly incomplete: ReadonlyArray<KindStatus>
  readonly closed: () => RecorderClose | undefined
}

export const runRecorder: RunRecorder = async ({ verbosity, logFormat: _, ...options }, output) => {
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      output.log.warn(`${signal} again: ending without waiting; what was acknowledged is on disk`)
      process.exit(exitCodes.interrupted)
    }
    output.log.info(`${signal}: stopping in order; a second one ends at once`)
    stop.abort()
  }
  let reload: (() => Promise<void>) | undefined
  // From a terminal it means that the terminal is gone. What comes before there is anything to reload asks for nothing new.
  const onHangUp = (signal: NodeJS.Signals): void => {
    if (process.stdin.isTTY) onSignal(signal)
    else void reload?.()
  }
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)
  process.on("SIGHUP", onHangUp)
  for (const stream of [process.stdout, process.stderr]) {
    // For good: what was written last may fail after this is over.
    if (!stream.listeners("error").includes(ignoreLostReader)) stream.on("error", ignoreLostReader)
  }
  try {
    const settings = { ...options, reportEvents: verbosity > 0, version: readVersion() }
    const program = Effect.scoped(
      Effect.gen(function* () {
        const started = startRecorder(settings, output.log)
        const running = yield* Effect.raceFirst(started, Effect.as(aborted(stop.signal), undefined))
        if (running === undefined) return undefined
        reload = running.reload
        if (output.isLive) yield* Effect.forkScoped(showStatus(running, output))
        yield* Effect.raceFirst(aborted(stop.signal), running.actors.ended)
        const { statuses, closed } = running.actors
        return { incomplete: statuses.incomplete(), closed } satisfies Outcome
      }),
    )
    const exit = await Effect.runPromiseExit(program)
    if (Exit.isFailure(exit)) return fail(Cause.squash(exit.cause), output)
    if (exit.value !== undefined) return conclude(exit.value, output)
    output.log.warn("stopped before recording began")
    return exitCodes.incomplete
  } finally {
    process.off("SIGINT", onSignal)
    process.off("SIGTERM", onSignal)
    process.off("SIGHUP", onHangUp)
  }
}

/** Without a listener a closed pipe would end the process; there is nobody left to tell. */
const ignoreLostReader = (): void => undefined

const conclude = ({ incomplete, closed }: Outcome, { log }: RecordOutput): ExitCode => {
  const { events, unwritten = [] } = closed() ?? {}
  log.info(events === undefined ? "stopped" : `recorded ${formatCount(events, "event")}`)
  for (const { gvk, state, detail } of incomplete) log.warn(`${gvk} was ${state} at the end: ${detail}`)
  for (const gvk of unwritten) {
    log.error(
      `${gvk}: the last events received could not be written. Start again on the same --data-dir while the server still has them`,
    )
  }
  if (unwritten.length > 0) return exitCodes.incomplete
  if (incomplete.length === 0) return exitCodes.ok
  return incomplete.every(({ isRefused }) => isRefused) ? exitCodes.notPermitted : exitCodes.incomplete
}

/** Ways to fail that are a mistake in what was asked for. */
const usageErrors: ReadonlySet<string> = new Set([
  "ConfigurationInvalidError",
  "ConfigurationUnreadableError",
  "AnonymousRefused",
  "TokenFileError",
])

const fail = (cause: unknown, output: RecordOutput): ExitCode => {
  const tag = typeof cause === "object" && cause !== null && "_tag" in cause ? String(cause._tag) : ""
  for (const line of reasonOf(cause).split("\n")) output.log.error(line)
  return usageErrors.has(tag) ? exitCodes.usage : exitCodes.failed
}

const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (signal.aborted) return resume(Effect.void)
    signal.addEventListener("abort", () => resume(Effect.void), { once: true })
  })

/** 0 for one that does not answer in time. */
const liveObjectsOf = (watcher: RunningRecorder["actors"]["watchers"][number]["watcher"]): Effect.Effect<number> =>
  watcher.call("statistics", undefined, statusIntervalMs).pipe(
    Effect.map(({ liveObjects }) => liveObjects),
    Effect.orElseSucceed(() => 0),
  )

/** Reads counters twice a second and shows what changed. For nobody there is nothing to ask: a call wakes each thread. */
const showStatus = ({ actors }: RunningRecorder, output: RecordOutput) =>
  Effect.gen(function* () {
    const startedMs = performance.now()
    let lastSequence: number | undefined
    let lastMs = startedMs
    while (true) {
      yield* Effect.sleep(statusIntervalMs)
      // All at once: one that does not answer must not make the line older than it says.
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
        kinds: actors.statuses.all(),
        uptimeMs: nowMs - startedMs,
      })
      lastMs = nowMs
      lastSequence = store?.sequence ?? lastSequence
    }
  })
