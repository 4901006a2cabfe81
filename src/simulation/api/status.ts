/**
 * `status`: SimKube's five fields, and what kubereel adds. Lists are bounded and keep the latest items: etcd takes
 * objects of 1.5 MiB.
 */
import * as Schema from "effect/Schema"
import {
  additional,
  int32,
  int64,
  keyedList,
  largestInt32,
  largestUint32,
  list,
  measure,
  optional,
  share,
  text,
  time,
} from "./fields.ts"

/** SimKube's states. `Failed` and `Finished` are final. */
export const simulationStates = [
  "Blocked",
  "Initializing",
  "Finished",
  "Failed",
  "Paused",
  "Retrying",
  "Running",
] as const

/** One of {@link simulationStates}. */
export type SimulationState = (typeof simulationStates)[number]

/** `metav1.Condition` with its limits. */
const Condition = Schema.Struct({
  type: text(316, "Ready: it runs or has finished. Progressing: it advances. Degraded: something needs attention."),
  status: Schema.Literals(["True", "False", "Unknown"]).annotate({ description: "Whether it is so." }),
  observedGeneration: additional(int64(0, "The generation of the Simulation that the condition is about.")),
  lastTransitionTime: time("When the status of the condition changed last."),
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxCodePoints(1024)).annotate({
    description: "Why, in one word for programs.",
  }),
  message: text(32_768, "Why, and what to do, for people."),
})

/** One condition. */
export type SimulationCondition = typeof Condition.Type

/** The lists of `spec.hooks`, without `Hooks`. */
export const hookPhases = ["preStart", "preRun", "postRun", "postStop"] as const

/** Bytes of a hook's output that are kept: enough for an error message with its context. */
export const hookOutputBytes = 2048

const HookRun = Schema.Struct({
  phase: Schema.Literals(hookPhases).annotate({ description: "The list of spec.hooks that it is in." }),
  index: int32(0, largestInt32, "Its position in that list, from 0 on."),
  repetition: additional(
    int32(1, largestInt32, "The repetition that it belongs to; absent for preStart and postStop."),
  ),
  exitCode: additional(
    int32(0, 255, "Its exit code; absent while it runs, or if it was killed or could not be started."),
  ),
  startTime: time("When it was started."),
  endTime: additional(time("When it ended.")),
  message: additional(text(1024, "Why there is no exit code: a time limit, a signal, a program that does not exist.")),
  output: additional(text(hookOutputBytes, "The end of its output and error output, at most 2 KiB.")),
})

/** One run of one hook. */
export type HookRun = typeof HookRun.Type

/** Items of `status.hooks` and `status.reports`. Longer lists lose their first items. */
export const longestHistory = 100

const Report = Schema.Struct({
  repetition: int32(1, largestInt32, "The repetition, from 1 on."),
  url: additional(text(4096, "Where the report of the repetition is, if spec.report says where reports go.")),
  objects: int64(0, "Objects that the repetition replayed."),
  objectsEqual: additional(
    share("Share of them that went through exactly the recorded states. Absent: there were none."),
  ),
  writesRefused: int64(0, "Writes that the cluster refused."),
  driftP99Ms: additional(measure("99 of 100 writes were sent at most so many ms after they were due.")),
  podsPaired: additional(share("Share of the recorded pods that have a counterpart. Absent: the trace has no pods.")),
})

/** The key figures of one repetition. */
export type RepetitionReport = typeof Report.Type

const Progress = Schema.Struct({
  repetition: int32(1, largestInt32, "The repetition, from 1 on."),
  eventsSent: int64(0, "Events of the trace that have been sent."),
  eventsTotal: additional(int64(0, "Events of the part of the trace that is replayed. Absent: not known yet.")),
  traceTime: additional(time("The moment of the trace that is being replayed.")),
  percent: additional(int32(0, 100, "Share of the trace's time that has been replayed.")),
}).annotate({ description: "How far the present repetition is." })

/** How far the present repetition is. */
export type SimulationProgress = typeof Progress.Type

/** What the controller says about a simulation. */
export const SimulationStatus = Schema.Struct({
  observedGeneration: int64(0, "The generation of the Simulation that the status is about."),
  // Not nullable as in SimKube's definition: an enum cannot be. The API server removes a null.
  state: additional(Schema.Literals(simulationStates).annotate({ description: "What the simulation is doing." })),
  startTime: optional(time("When the driver started.")),
  endTime: optional(time("When the driver ended.")),
  completedRuns: optional(int64(0, "Repetitions that are complete.", largestUint32)),
  conditions: additional(keyedList(Condition, "type", 16, "Ready, Progressing and Degraded.")),
  hooks: additional(list(HookRun, longestHistory, "The latest runs of hooks, in order.")),
  reports: additional(
    keyedList(Report, "repetition", longestHistory, "Key figures of the latest repetitions, in order."),
  ),
  progress: additional(Progress),
  driverPod: additional(text(253, "The pod of the present repetition, or of the last one.")),
}).annotate({ description: "Written by the controller and the driver." })

/** Decoded, which is also how it is in JSON. */
export type SimulationStatus = typeof SimulationStatus.Type
