/**
 * A recorder as a command: starts it, shows how it goes, stops it on SIGINT and SIGTERM, and says how it ended.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type RunningRecorder, startRecorder, summarise } from "../tracer/recorder.ts"
import { type ExitCode, exitCodes } from "./exit-codes.ts"
import type { RecordOutput, RunRecorder } from "./record.ts"
import { readVersion } from "./version.ts"

/** ms between two looks at the counters. */
const statusIntervalMs = 500

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
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)
  try {
    const settings = { ...options, reportEvents: verbosity > 0, version: readVersion() }
    const program = Effect.scoped(
      Effect.gen(function* () {
        const running = yield* startRecorder(settings, output.log)
        yield* Effect.forkScoped(showStatus(running, output))
        yield* Effect.raceFirst(aborted(stop.signal), running.recording.ended)
        return yield* summarise(running)
      }),
    )
    const exit = await Effect.runPromiseExit(program)
    if (Exit.isFailure(exit)) return fail(Cause.squash(exit.cause), output)
    const { events, incomplete } = exit.value
    output.log.info(`recorded ${events} events`)
    for (const { gvk, state, detail } of incomplete) output.log.warn(`${gvk} was ${state} at the end: ${detail}`)
    if (incomplete.length === 0) return exitCodes.ok
    return incomplete.every(({ state }) => state === "forbidden") ? exitCodes.notPermitted : exitCodes.incomplete
  } finally {
    process.off("SIGINT", onSignal)
    process.off("SIGTERM", onSignal)
  }
}

const fail = (cause: unknown, output: RecordOutput): ExitCode => {
  const tag = typeof cause === "object" && cause !== null && "_tag" in cause ? String(cause._tag) : ""
  const message = cause instanceof Error ? cause.message : String(cause)
  for (const line of message.split("\n")) output.log.error(line)
  return tag === "ConfigurationInvalidError" || tag === "ConfigurationUnreadableError"
    ? exitCodes.usage
    : exitCodes.failed
}

const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (signal.aborted) return resume(Effect.void)
    signal.addEventListener("abort", () => resume(Effect.void), { once: true })
  })

/** Reads counters twice a second and shows what changed. */
const showStatus = ({ recording }: RunningRecorder, output: RecordOutput) =>
  Effect.gen(function* () {
    const startedMs = performance.now()
    let lastSequence: number | undefined
    let lastMs = startedMs
    while (true) {
      yield* Effect.sleep(statusIntervalMs)
      const store = yield* recording.store
        .call("statistics", undefined, statusIntervalMs)
        .pipe(Effect.orElseSucceed(() => undefined))
      const live = yield* Effect.forEach(recording.watchers, ({ watcher }) =>
        watcher.call("statistics", undefined, statusIntervalMs).pipe(
          Effect.map((statistics) => statistics.liveObjects),
          Effect.orElseSucceed(() => 0),
        ),
      )
      const nowMs = performance.now()
      const events = store === undefined || lastSequence === undefined ? 0 : Math.max(0, store.sequence - lastSequence)
      output.showStatus({
        eventsPerSecond: (events * 1000) / (nowMs - lastMs),
        objects: live.reduce((sum, objects) => sum + objects, 0),
        lagMs: store?.lagMs,
        kinds: recording.statuses.all(),
        uptimeMs: nowMs - startedMs,
      })
      lastMs = nowMs
      lastSequence = store?.sequence ?? lastSequence
    }
  })
