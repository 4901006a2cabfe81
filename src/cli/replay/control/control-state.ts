/** A running replay as programs see it: its state as JSON, and as metrics. */
import type { Metric, Sample } from "../../../recorder/index.ts"
import type { OutcomeCounts, Repetitions, ReplayProgress } from "../../../simulation/index.ts"

/** The response of `GET /replay`; documented in docs/reference/replay-control.md. Times are ms unless said otherwise. */
export interface ReplayState extends Omit<ReplayProgress, "accepted" | "refused" | "isPaused"> {
  readonly replay: string
  /** From 1. */
  readonly repetition: number
  /** `null`: until it is stopped. */
  readonly repetitions: number | null
  readonly paused: boolean
  readonly seed: OutcomeCounts["counts"]
  readonly events: OutcomeCounts["counts"]
}

const noCounts = { total: 0, sent: 0, accepted: 0, refused: 0, skipped: 0 }

const beforeStart: ReplayProgress = {
  phase: "seeding",
  position: 0,
  elapsedMs: 0,
  isPaused: false,
  speed: 1,
  delayedMs: 0,
  accepted: 0,
  refused: 0,
  pending: 0,
  lagMs: 0,
}

/** The state of the repetition under way, or of the last one. Before the first, the phase is `seeding` and all counts are 0. */
export const stateOf = (name: string, run: Repetitions): ReplayState => {
  const { accepted: _, refused: __, isPaused: ___, ...progress } = run.current?.progress ?? beforeStart
  const { number, repetitions, speed, isPaused, current } = run
  return {
    replay: name,
    repetition: Math.max(1, number),
    repetitions: Number.isFinite(repetitions) ? repetitions : null,
    ...progress,
    speed,
    paused: isPaused,
    seed: current?.outcomes?.seed.counts ?? noCounts,
    events: current?.outcomes?.events.counts ?? noCounts,
  }
}

const phases: ReadonlyArray<ReplayProgress["phase"]> = ["seeding", "replaying", "settling", "cleaning up"]

/** Of the repetition under way: its counters start from 0. */
export const metricsOf = (run: Repetitions): ReadonlyArray<Metric> => {
  const { phase, position, elapsedMs, delayedMs, lagMs, pending, ...state } = stateOf("", run)
  const outcomes = run.current?.outcomes
  const counts = (["seed", "events"] as const).flatMap((part) =>
    (["accepted", "refused", "skipped"] as const).map((outcome) => ({
      labels: { part, outcome },
      value: state[part][outcome],
    })),
  )
  const causes = (pick: "refusals" | "skips"): ReadonlyArray<Sample> =>
    (["seed", "events"] as const).flatMap((part) =>
      (outcomes?.[part][pick] ?? []).map(({ gvk, reason, count }) => ({
        labels: { part, kind: gvk, reason },
        value: count,
      })),
    )
  return [
    gauge(
      "kubereel_replay_phase",
      "1 for the present phase, 0 for the others.",
      phases.map((each) => ({ labels: { phase: each }, value: each === phase ? 1 : 0 })),
    ),
    gauge("kubereel_replay_repetition", "The repetition under way, from 1.", state.repetition),
    gauge(
      "kubereel_replay_position_seconds",
      "The present moment of the trace, in seconds since 1970.",
      position / 1e6,
    ),
    gauge("kubereel_replay_elapsed_seconds", "Seconds since the first moment of the trace was due.", elapsedMs / 1000),
    gauge(
      "kubereel_replay_speed",
      "Trace seconds per second; +Inf: without waiting.",
      state.speed === "max" ? Number.POSITIVE_INFINITY : state.speed,
    ),
    gauge("kubereel_replay_paused", "1 while the replay is paused.", state.paused ? 1 : 0),
    gauge(
      "kubereel_replay_delayed_seconds",
      "Seconds by which the schedule was delayed because the cluster could not keep up.",
      delayedMs / 1000,
    ),
    gauge("kubereel_replay_lag_seconds", "Of the last response: seconds since its event was due.", lagMs / 1000),
    gauge(
      "kubereel_replay_pending_writes",
      "Writes without response; while cleaning up, objects that are left.",
      pending,
    ),
    counter(
      "kubereel_replay_changes_total",
      "Objects of the start and changes of the trace, by what became of them.",
      counts,
    ),
    counter("kubereel_replay_refused_total", "What was refused, by kind and reason.", causes("refusals")),
    counter("kubereel_replay_skipped_total", "What was skipped, by kind and reason.", causes("skips")),
  ]
}

const gauge = (name: string, help: string, value: number | ReadonlyArray<Sample>): Metric => ({
  name,
  help,
  type: "gauge",
  samples: typeof value === "number" ? [{ value }] : value,
})

const counter = (name: string, help: string, samples: ReadonlyArray<Sample>): Metric => ({
  name,
  help,
  type: "counter",
  samples,
})
