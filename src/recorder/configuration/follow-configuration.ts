/**
 * Applies the configuration file as it changes, while the recorder runs, and says so: in the log, in metrics, and in an Event on the
 * recorder's pod.
 *
 * A configuration that cannot be used changes nothing but these; the recording goes on with the one before it.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { type Clock, systemClock } from "../../runtime/clock.ts"
import type { Metric } from "../metrics/metrics-text.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import type { PodEvents } from "../notices/pod-events.ts"
import type { Reconfiguration, RecorderActors } from "../recorder-actors.ts"
import { type ConfigurationChange, ConfigurationWatch } from "./configuration-watch.ts"
import type { LoadOptions } from "./load-configuration.ts"
import { formatWarning } from "./problem.ts"
import { type RecorderConfiguration, withinNamespaces } from "./tracked-kind.ts"

/** What is counted of configurations read since the start. */
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

  /** The file says again what is in force. */
  restored(): void {
    this.#isValid = true
  }

  metrics(): ReadonlyArray<Metric> {
    return [
      {
        name: "kubereel_configuration_valid",
        type: "gauge",
        help: "1 while the configuration file can be used; with 0 the one before it is in force.",
        samples: [{ value: this.#isValid ? 1 : 0 }],
      },
      {
        name: "kubereel_configuration_reloads_total",
        type: "counter",
        help: "Changed configurations that were read.",
        samples: [
          { labels: { result: "applied" }, value: this.#applied },
          { labels: { result: "refused" }, value: this.#refused },
        ],
      },
      {
        name: "kubereel_configuration_applied_timestamp_seconds",
        type: "gauge",
        help: "When the configuration in force was applied.",
        samples: [{ value: this.#appliedMicros / 1e6 }],
      },
    ]
  }
}

export interface FollowedConfiguration {
  readonly file: string
  /** As it was loaded, before it was restricted to namespaces. */
  readonly configuration: RecorderConfiguration
  readonly load: LoadOptions
  /** Those of the command line. */
  readonly namespaces: ReadonlyArray<string>
}

/** Who tells people of a configuration that cannot be used, besides the log. Default: nobody. */
export type Herald = Pick<PodEvents, "warn" | "mended">

/** Follows the file until the scope ends; answers how to read it at once. */
export const followConfiguration = (
  actors: Pick<RecorderActors, "reconfigure">,
  { file, configuration, load, namespaces }: FollowedConfiguration,
  log: RecorderLog,
  reloads: Reloads,
  herald?: Herald,
) =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntimePromise()
    const apply = async (change: ConfigurationChange): Promise<void> => {
      switch (change.tag) {
        case "unchanged":
          herald?.mended()
          return reloads.restored()
        case "invalid":
          reloads.refused()
          herald?.warn({
            reason: "ConfigurationInvalid",
            action: "Reload",
            note: `The changed configuration cannot be used; the one before it stays in force. ${change.error.message}`,
          })
          log.warn(`the changed configuration cannot be used; the one before it stays in force`)
          for (const line of change.error.message.split("\n")) log.warn(line)
          return
        case "changed":
          herald?.mended()
          for (const warning of change.warnings) log.warn(formatWarning(file, warning))
          tell(await actors.reconfigure(withinNamespaces(change.configuration, namespaces).kinds), log)
          reloads.applied()
      }
    }
    const watch = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new ConfigurationWatch({
            file,
            configuration,
            load,
            clock: systemClock,
            run,
            noticed: (change) => void run(Effect.promise(() => apply(change))),
          }),
      ),
      (open) => Effect.sync(() => open.close()),
    )
    return async (): Promise<void> => {
      const change = await watch.check()
      if (change.tag === "unchanged") log.info(`${file} says nothing new`)
      await apply(change)
    }
  })

/** One line for all, and one for each kind that did not end in order. */
const tell = ({ added, restarted, removed }: Reconfiguration, log: RecorderLog): void => {
  const parts = [
    ...added.map((gvk) => `${gvk} added`),
    ...restarted.map((gvk) => `${gvk} with other rules`),
    ...removed.map(({ gvk }) => `${gvk} removed`),
  ]
  log.info(`the configuration was changed: ${parts.length === 0 ? "nothing to be done" : parts.join(", ")}`)
  for (const { gvk, isDrained, complete } of removed) {
    const until =
      complete === undefined ? "" : `; complete until ${new Date(complete.untilMicros / 1000).toISOString()}`
    if (!isDrained) log.warn(`${gvk}: its last events could not be written in time${until}`)
  }
}
