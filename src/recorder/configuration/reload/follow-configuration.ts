/**
 * Applies changes of the configuration file while the recorder runs, and reports them in the log, in metrics, and in an Event on
 * the recorder's pod.
 *
 * An invalid configuration is only reported; the recording continues with the previous one.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type { Clock } from "../../../clock.ts"
import type { Metric } from "../../metrics/metrics-text.ts"
import type { RecorderLog } from "../../notices/notice-log.ts"
import type { PodEvents } from "../../notices/pod-events.ts"
import type { RecorderActors } from "../../recording/recorder-actors.ts"
import type { LoadOptions } from "../load-configuration.ts"
import { formatWarning } from "../problem.ts"
import { type GivenLimits, retentionSettings } from "../retention-limits.ts"
import type { RecorderConfiguration, TrackedKind } from "../tracked-kind.ts"
import { type ConfigurationChange, watchConfiguration } from "./configuration-watch.ts"
import { logReconfiguration } from "./server-kinds.ts"

/** Counters of the configurations read since the start. */
export class Reloads {
  readonly #clock: Clock
  #applied = 0
  #refused = 0
  #isValid = true
  #appliedMicros: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#appliedMicros = clock.wallMicros()
  }

  applied(): void {
    this.#applied++
    this.#isValid = true
    this.#appliedMicros = this.#clock.wallMicros()
  }

  refused(): void {
    this.#refused++
    this.#isValid = false
  }

  /** The file has the configuration in force again. */
  restored(): void {
    this.#isValid = true
  }

  metrics(): ReadonlyArray<Metric> {
    return [
      {
        name: "kubereel_configuration_valid",
        type: "gauge",
        help: "1 if the configuration file is valid; 0 if the previous configuration stays in force.",
        samples: [{ value: this.#isValid ? 1 : 0 }],
      },
      {
        name: "kubereel_configuration_reloads_total",
        type: "counter",
        help: "Changed configurations that were read, by result.",
        samples: [
          { labels: { result: "applied" }, value: this.#applied },
          { labels: { result: "refused" }, value: this.#refused },
        ],
      },
      {
        name: "kubereel_configuration_applied_timestamp_seconds",
        type: "gauge",
        help: "Unix time when the configuration in force was applied.",
        samples: [{ value: this.#appliedMicros / 1e6 }],
      },
    ]
  }
}

interface FollowedConfiguration {
  readonly file: string
  /** As loaded, before it was restricted to namespaces and filled with the kinds of a server. */
  readonly configuration: RecorderConfiguration
  readonly load: LoadOptions
  /** What to record with a configuration. */
  readonly kindsOf: (configuration: RecorderConfiguration) => ReadonlyArray<TrackedKind>
  /** The limits of the command line. */
  readonly limits: GivenLimits | undefined
}

/** Where invalid configurations are reported, in addition to the log. Default: nowhere. */
type WarningEvents = Pick<PodEvents, "warn" | "mended">

/** Follows the file until the scope ends; returns a function that reads it immediately. */
export const followConfiguration = (
  actors: Pick<RecorderActors, "reconfigure" | "setRetention">,
  { file, configuration, load, kindsOf, limits }: FollowedConfiguration,
  log: RecorderLog,
  reloads: Reloads,
  events?: WarningEvents,
) =>
  Effect.gen(function* () {
    const apply = async (change: ConfigurationChange): Promise<void> => {
      switch (change.tag) {
        case "unchanged":
          events?.mended()
          return reloads.restored()
        case "invalid":
          reloads.refused()
          events?.warn({
            reason: "ConfigurationInvalid",
            action: "Reload",
            note: `The changed configuration is invalid; the previous one stays in force. ${change.error.message}`,
          })
          log.warn(`the changed configuration is invalid; the previous one stays in force`)
          for (const line of change.error.message.split("\n")) log.warn(line)
          return
        case "changed":
          events?.mended()
          for (const warning of change.warnings) log.warn(formatWarning(file, warning))
          actors.setRetention(retentionSettings(change.configuration, limits))
          logReconfiguration(
            "the configuration has changed",
            await actors.reconfigure(kindsOf(change.configuration)),
            log,
          )
          reloads.applied()
      }
    }
    const check = yield* watchConfiguration({
      ...{ file, configuration, load },
      noticed: (change) =>
        Effect.catchCause(
          Effect.promise(() => apply(change)),
          (cause) =>
            Effect.sync(() => log.warn(`the changed configuration could not be applied: ${Cause.pretty(cause)}`)),
        ),
    })
    const run = yield* FiberSet.makeRuntimePromise()
    return (): Promise<void> =>
      run(
        Effect.flatMap(check, (change) => {
          if (change.tag === "unchanged") log.info(`${file} has not changed`)
          return Effect.promise(() => apply(change))
        }),
      )
  })
