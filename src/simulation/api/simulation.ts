/**
 * The Simulation: what is to be replayed, how, and how it is going. Manifests for SimKube 2.7 and before apply unchanged; fields that SimKube does not know are
 * optional. The API server's schema is made from this (src/simulation/api/definitions.ts), so the two cannot differ.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ApiObject } from "../../kube/client/objects.ts"
import { longestSimulationName } from "./derived-names.ts"
import { SimulationDriver } from "./driver.ts"
import {
  additional,
  flag,
  int32,
  int64,
  largestInt32,
  largestUint32,
  optional,
  type Rule,
  rules,
  text,
  time,
} from "./fields.ts"
import { SimulationHooks } from "./hooks.ts"
import { SimulationMetrics } from "./metrics.ts"
import { SimulationStatus } from "./status.ts"
import { longestAddress, reportAddressRule } from "./trace-address.ts"
import { longestTraceDuration, traceDurationRule } from "./trace-duration.ts"

const milliseconds = (description: string) => optional(int64(0, `${description}, in ms. Default: 0.`, largestUint32))

/** Required by SimKube 2.7 and unknown to 2.6 (W-56): here it may be absent. */
const LifecycleParams = Schema.Struct({
  imagePullDelay: milliseconds("How long a pod of the replay pulls its images"),
  imagePullJitter: milliseconds("At most so much longer, at random"),
  podStartupDelay: milliseconds("How long a pod of the replay then takes to start"),
  podStartupJitter: milliseconds("At most so much longer, at random"),
}).annotate({ description: "Delays of pods on virtual nodes." })

const Report = Schema.Struct({
  url: additional(
    text(
      longestAddress,
      "Folder in an object store for the full reports, such as s3://BUCKET/FOLDER. Each repetition writes NAME-REPETITION.json into it.",
    ).annotate(rules(reportAddressRule)),
  ),
}).annotate({
  description:
    "Where the full reports go. Their summaries are always in the status and in the ConfigMap sk-NAME-report in the driver's namespace.",
})

/** What is to be simulated. */
export const SimulationSpec = Schema.Struct({
  driver: SimulationDriver,
  lifecycleParams: optional(LifecycleParams),
  duration: optional(
    text(
      longestTraceDuration,
      "How much of the trace is replayed, from its start: +5m, 1h30m, 2 days. Absent: all.",
    ).annotate(rules(traceDurationRule)),
  ),
  repetitions: optional(int32(1, largestInt32, "How often the trace is replayed, one after the other. Default: 1.")),
  speed: optional(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      description: "How many times as fast as it was recorded. Takes effect while the simulation runs. Default: 1.",
      format: "double",
    }),
  ),
  rescheduleInterruptedBarePods: optional(
    flag(
      "Whether a pod without an owner that is deleted by something else than the replay is created again. Default: false.",
    ),
  ),
  pausedTime: optional(
    time("Since when the simulation is paused. Takes effect while it runs. Absent or null: it is not paused."),
  ),
  hooks: optional(SimulationHooks),
  metrics: optional(SimulationMetrics),
  report: additional(Report),
}).annotate({ description: "What is replayed, and how." })

/** Decoded, which is also how it is in JSON. */
export type SimulationSpec = typeof SimulationSpec.Type

/** A Simulation as the API server has it. */
export interface Simulation extends ApiObject {
  readonly spec: SimulationSpec
  readonly status?: SimulationStatus
}

/** Names of what belongs to it are made from its name (src/simulation/api/derived-names.ts), and some must be names of Services. */
const nameRule: Rule = {
  rule: `self.metadata.name.size() <= ${longestSimulationName} && !self.metadata.name.contains('.')`,
  message: `the name must have at most ${longestSimulationName} characters and no dots: the driver's Service is called sk-NAME-driver-svc`,
}

const stateIn = (...states: ReadonlyArray<string>): string =>
  `has(oldSelf.status) && has(oldSelf.status.state) && oldSelf.status.state in [${states.map((state) => `'${state}'`).join(", ")}]`

/** What lies in the namespace would stay behind. `namespace` is a reserved word of CEL, which is escaped. */
const namespaceRule: Rule = {
  rule: `!(${stateIn("Initializing", "Retrying", "Running", "Paused")}) || self.spec.driver.__namespace__ == oldSelf.spec.driver.__namespace__`,
  message: "cannot change after the simulation has begun; delete the Simulation and create it again",
  fieldPath: ".spec.driver.namespace",
}

/**
 * What the driver's Job is made of, or the driver reads once: while the Job exists, a change would only seem to have an effect. `speed` and `pausedTime` take effect at
 * once, and hooks when they are due.
 */
const fixedWhileRunning: ReadonlyArray<keyof SimulationSpec> = [
  "driver",
  "lifecycleParams",
  "duration",
  "repetitions",
  "rescheduleInterruptedBarePods",
  "metrics",
  "report",
]

const runningRules: ReadonlyArray<Rule> = fixedWhileRunning.map((field) => {
  const [now, before] = [`self.spec.${field}`, `oldSelf.spec.${field}`]
  return {
    // Optional selection would be shorter, but the server takes the size of what it selects for unlimited, and refuses the rule.
    rule: `!(${stateIn("Running", "Paused")}) || (has(${now}) ? has(${before}) && ${now} == ${before} : !has(${before}))`,
    message: "cannot change while the simulation is running; wait until it has ended, or delete it and create it again",
    fieldPath: `.spec.${field}`,
  }
})

/** The parts of a Simulation that the API server checks by a schema; the others are the same for all kinds. */
export const SimulationBody = Schema.Struct({
  spec: SimulationSpec,
  status: additional(SimulationStatus),
}).annotate({
  description: "A replay of a trace in this cluster.",
  ...rules(nameRule, namespaceRule, ...runningRules),
})

/** An object that is no Simulation that kubereel can handle: it was accepted by another definition of the kind, such as SimKube's. */
class UnusableSimulation extends Schema.TaggedError<UnusableSimulation>()("UnusableSimulation", {
  name: Schema.String,
  /** What is wrong with which field. */
  problem: Schema.String,
}) {
  override get message(): string {
    return `the Simulation ${this.name} cannot be run: ${this.problem}; correct its manifest and apply it again`
  }
}

/** The object as a Simulation, itself and with all its members. Rules in CEL are not evaluated. One bad object does not spoil a list (W-56). */
export const readSimulation = (object: ApiObject): Result.Result<Simulation, UnusableSimulation> => {
  const decoded = Schema.decodeUnknownResult(SimulationBody)(object, { errors: "all" })
  if (Result.isSuccess(decoded)) return Result.succeed(object as Simulation)
  // One line: the fault comes before its position.
  const problem = decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; ")
  return Result.fail(new UnusableSimulation({ name: object.metadata.name, problem }))
}
