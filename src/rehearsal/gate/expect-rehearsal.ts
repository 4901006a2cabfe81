/** Rehearsals as one expectation of a test: they pass, or the test fails with what is wrong. */
import * as Schema from "effect/Schema"
import type { DefinedController } from "../../host/controllers.ts"
import { HostedController } from "../cast/hosted-controller.ts"
import { openTrace, type TraceSource } from "../open-trace.ts"
import { loadedParts } from "../rehearsal.ts"
import { type ReplayIntoOptions, windowOf } from "../replay-into.ts"
import { checkOf, type Expectations } from "./expectations.ts"
import { type GateOptions, gate } from "./gate.ts"
import { type GateTrial, linesOf } from "./trial.ts"

export interface ExpectRehearsalOptions
  extends Omit<ReplayIntoOptions, "until" | "onStep">,
    Pick<GateOptions, "restartAt"> {
  /** Default: only the recorded states are compared. */
  readonly expect?: Expectations | undefined
  /** A number of seeds, from 1; or texts that a failure has named: `17: race update v1.ConfigMap shop/a #1`. Default: none. */
  readonly seeds?: number | ReadonlyArray<string> | undefined
}

/** Rehearsals that have not passed. */
export class RehearsalFailed extends Schema.TaggedError<RehearsalFailed>()("RehearsalFailed", {
  /** One for each failure, and the shortest sequences. */
  lines: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return this.lines.join("\n")
  }
}

/**
 * Replays the trace into controllers as `replayInto` does, undisturbed and then as `restartAt` and `seeds` say, and compares what is reached.
 *
 * ```ts
 * test("nothing that happens on the way changes what is reached", async () => {
 *   await expectRehearsal(() => simplePods, "production.ndjson.zst", { restartAt: "every-write", seeds: 20 })
 * })
 * ```
 *
 * `make` returns the controllers, those that remember something made anew: it is called for each rehearsal and each restart. Rejects with {@link RehearsalFailed}, with
 * BadExpectations, and as `replayInto` does.
 */
export const expectRehearsal = async (
  make: () => DefinedController | ReadonlyArray<DefinedController>,
  trace: TraceSource,
  options: ExpectRehearsalOptions = {},
): Promise<ReadonlyArray<GateTrial>> => {
  const { from, to, managers, expect: expectations = {}, seeds = 0, restartAt, ...common } = options
  const window = windowOf({ from, to })
  using opened = await openTrace(trace, { ...window, signal: options.signal ?? new AbortController().signal })
  const { ignore: ignored = [], recorded } = expectations
  const trials: GateTrial[] = []
  for await (const trial of gate({
    items: await loadedParts(opened.items, window),
    cast: async () => [make()].flat().map((one) => new HostedController(one as DefinedController, managers)),
    rehearsal: { ...common, ignored, expectations: checkOf(expectations, "expect") },
    comparedWith: recorded === "ignore" ? "nothing" : "recorded",
    restartAt,
    seeds: typeof seeds === "number" ? Array.from({ length: seeds }, (_, index) => String(index + 1)) : seeds,
  }))
    trials.push(trial)
  const lines = trials.flatMap(linesOf)
  if (lines.length > 0) throw new RehearsalFailed({ lines })
  return trials
}
