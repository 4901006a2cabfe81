/**
 * The Simulation: what is to be replayed, how, and how it is going. Manifests for SimKube 2.7 and before apply unchanged; fields that SimKube does not know are
 * optional. The API server's schema is made from this (src/simulation/api/definitions.ts), so the two cannot differ.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ApiObject } from "../../kube/index.ts"
import { longestSimulationName } from "./derived-names.ts"
import {
  additional,
  anyText,
  flag,
  int32,
  int64,
  largestInt32,
  largestUint32,
  list,
  open,
  optional,
  type Rule,
  rules,
  text,
  time,
} from "./fields.ts"
import { SimulationStatus } from "./status.ts"

// `spec.duration`: how much of a trace is replayed. SimKube reads it as GNU date reads relative items (`+5m`, `1 hour and 30 minutes`). The rule of the
// API server and {@link traceDurationMs} share their patterns, so everything that is accepted can be read.

/** ms of the units by their first letter; as in GNU date, `m` is a minute. */
const msPer: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const item = "[+]? *[0-9]{1,9} *(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
const whole = `^${item}(( *,? *| +and +)${item})*$`
/** A duration of zero replays nothing. */
const nonZero = "[1-9]"

/** What the API server evaluates. */
export const traceDurationRule: Rule = {
  rule: `self.matches(r'${whole}') && self.matches('${nonZero}')`,
  message: "must be a duration from the start of the trace, such as +5m, 90s, 1h30m or 2 days",
}

/** Characters of the longest duration. */
const longestTraceDuration = 64

/** In ms; `undefined` for a text that the rule refuses. */
export const traceDurationMs = (duration: string): number | undefined => {
  if (!new RegExp(whole).test(duration) || !new RegExp(nonZero).test(duration)) return undefined
  const items = duration.matchAll(/(\d+) *([a-z])/g)
  return [...items].reduce((sum, [, count, letter = ""]) => sum + Number(count) * (msPer[letter] ?? Number.NaN), 0)
}

// Where a simulation reads its trace and writes its reports: the addresses that the API server accepts.

/**
 * SimKube's storage addresses (docs/facts/simkube.md#storage-addresses) without those that cannot work in a pod: relative paths, because the working
 * directory is the image's, and `memory:`, which is always empty. A path without `file:` works here, unlike in SimKube (W-55).
 */
const traceForms = [
  "/.*[^/]",
  "file:(//(localhost)?)?/.*[^/]",
  "(s3a?|gs|azure|adl|abfss?|az)://[^/]+/.*[^/]",
  "https?://[^/]+/.*[^/]",
]

/** One reason for all refusals, so that it lists every form. */
const traceAddressRule: Rule = {
  rule: `self.matches(r'^(${traceForms.join("|")})$')`,
  message:
    "must name a trace: /PATH, file:///PATH, s3://BUCKET/KEY, gs://BUCKET/KEY, azure://CONTAINER/KEY or https://HOST/PATH, without a slash at the end",
}

/** The addresses of object stores that exports accept, too (docs/reference/export-targets.md); here they name a folder. */
const reportForms = [
  "(s3a?|gs|azure|adl|abfss?)://[^/?#]+(/[^?#]*)?",
  String.raw`https://([^/?#]+\.)?s3[-.a-z0-9]*\.amazonaws\.com(\.cn)?/[^?#]+`,
  String.raw`https://[^/?#]+\.(r2\.cloudflarestorage\.com|(blob|dfs)\.core\.windows\.net)/[^?#]+`,
]

/** Refuses what is no address of an object store: a pod's files are gone when the driver ends. */
const reportAddressRule: Rule = {
  rule: `self.matches(r'^(${reportForms.join("|")})$')`,
  message:
    "must be a folder in an object store: s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, azure://CONTAINER/FOLDER or the https address of one, without ? and #",
}

/** Characters of an address: S3's longest key and its bucket, or the longest path of Linux. */
const longestAddress = 4096

// `spec.metrics`: a Prometheus for the time of a simulation. Needs the Prometheus operator.

/**
 * The Prometheus operator's remote write. Its simple fields are described; the others, and fields of later versions of the operator, pass through as they
 * are, and the operator's own definition checks them.
 */
const RemoteWrite = Schema.Struct({
  url: anyText("Where the samples go."),
  name: optional(anyText("A name, unique among the remote writes.")),
  remoteTimeout: optional(anyText("Time limit of a request. Default: 30s.")),
  sendExemplars: optional(flag("Default: false.")),
  sendNativeHistograms: optional(flag("Default: false.")),
  headers: optional(Schema.Record(Schema.String, Schema.String).annotate({ description: "Headers of each request." })),
  proxyUrl: optional(anyText("A proxy.")),
  bearerToken: optional(anyText("A token. Anyone who can read this object can read it; authorization is better.")),
  bearerTokenFile: optional(anyText("A file with a token.")),
  authorization: optional(open("As in the Prometheus operator's RemoteWriteSpec, as are the fields below.")),
  basicAuth: optional(open("User and password, out of Secrets.")),
  oauth2: optional(open("OAuth 2.0 client credentials.")),
  sigv4: optional(open("AWS signatures.")),
  tlsConfig: optional(open("Certificates.")),
  metadataConfig: optional(open("Whether and how often metadata is sent.")),
  queueConfig: optional(open("The queue of samples.")),
  writeRelabelConfigs: optional(Schema.Array(open("A rule.")).annotate({ description: "Rules for what is sent." })),
}).annotate({ "x-kubernetes-preserve-unknown-fields": true })

const names = (what: string) => optional(list(text(253, "A name."), 256, `${what} Absent: all.`))

/** A Prometheus that exists as long as the simulation runs. */
export const SimulationMetrics = Schema.Struct({
  namespace: optional(text(63, "Namespace of the Prometheus. Default: monitoring.")),
  serviceAccount: optional(text(253, "Its ServiceAccount, which has to exist there. Default: prometheus-k8s.")),
  prometheusShards: optional(int32(0, 1000, "Number of shards. Default: 1.")),
  podMonitorNames: names("Names of the PodMonitors that count, by their label app.kubernetes.io/name."),
  podMonitorNamespaces: names("Namespaces of the PodMonitors that count."),
  serviceMonitorNames: names("Names of the ServiceMonitors that count, by their label app.kubernetes.io/name."),
  serviceMonitorNamespaces: names("Namespaces of the ServiceMonitors that count."),
  remoteWriteConfigs: list(RemoteWrite, 64, "Where Prometheus sends what it has scraped."),
}).annotate({
  description: "A Prometheus for the time of the simulation. Absent: none. It needs the Prometheus operator.",
})

/** Decoded, which is also how it is in JSON. */
export type SimulationMetrics = typeof SimulationMetrics.Type

// `spec.hooks`: commands before and after a simulation and each of its runs.

/** How long a hook may take if it does not say, as in the manifest. Long enough to pull images and wait for a roll-out. */
export const defaultHookTimeout = "5m"

/** Go's durations as src/kube/duration.ts reads them, from 1 ms on. */
const timeoutRule = {
  rule: "self.matches(r'^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1ms')",
  message: "must be a duration from 1ms on, such as 30s, 5m or 1h30m",
}

const Hook = Schema.Struct({
  cmd: anyText("The program. It is looked up in the image of the controller or driver, depending on the hook's phase."),
  args: optional(list(anyText("An argument."), 1024, "Arguments of the program. No shell interprets them.")),
  sendSim: optional(flag("Whether the program gets this Simulation as JSON on its standard input. Default: false.")),
  ignoreFailure: optional(
    flag("Whether the simulation continues if the program fails, cannot be started or takes too long. Default: false."),
  ),
  timeout: additional(
    text(32, "How long the program may take, then it is killed and has failed. Default: 5m.").annotate({
      ...rules(timeoutRule),
      default: defaultHookTimeout,
    }),
  ),
})

/** One command. */
export type Hook = typeof Hook.Type

/** More than people write; the status has room for as many. */
const most = 100

const phase = (description: string) => optional(list(Hook, most, description))

/** Commands by when they run, each list in order. */
export const SimulationHooks = Schema.Struct({
  preStartHooks: phase("Run once by the controller, before anything is created."),
  preRunHooks: phase("Run by the driver before each repetition."),
  postRunHooks: phase("Run by the driver after each repetition, when its objects have been removed."),
  postStopHooks: phase("Run once by the controller, at the end, also after a failure."),
}).annotate({ description: "Commands before and after the simulation and each of its repetitions." })

/** Decoded, which is also how it is in JSON. */
export type SimulationHooks = typeof SimulationHooks.Type

/** What the namespaces of a replay begin with if the Simulation does not say. SimKube's default. */
export const defaultNamespacePrefix = "virtual"

/** A namespace of the replay is the prefix, a hyphen and at least one character of the name in the trace: 63 in all. */
const longestPrefix = 61

const namespaceNameRule = {
  rule: "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
  message: "must be the name of a namespace: lower-case letters, digits and hyphens, no hyphen at either end",
}

const prefixRule = {
  rule: "self.matches('^[a-z0-9][-a-z0-9]*$')",
  message: "must start names of namespaces: lower-case letters, digits and hyphens, no hyphen at the start",
}

/** The Job that replays the trace, and where it runs. */
const SimulationDriver = Schema.Struct({
  image: text(1024, "Image of the driver."),
  namespace: text(63, "Namespace of the driver. It is created if it does not exist.").annotate(
    rules(namespaceNameRule),
  ),
  port: int32(1, 65_535, "Port of the driver's webhook."),
  tracePath: text(
    longestAddress,
    "Where the trace is: a path or file:///PATH on the node, s3://BUCKET/KEY, gs://BUCKET/KEY, azure://CONTAINER/KEY, or an https address.",
  ).annotate(rules(traceAddressRule)),
  args: optional(list(anyText("An argument."), 256, "Arguments for the driver, after those of the controller.")),
  secrets: optional(
    list(
      text(253, "Name of a Secret in the driver's namespace."),
      64,
      "Secrets whose keys become environment variables of the driver, such as the credentials of an object store. All have to exist.",
    ),
  ),
  virtualNsPrefix: additional(
    text(
      longestPrefix,
      "What the names of the replay's namespaces begin with, before a hyphen and their name in the trace. Default: virtual.",
    ).annotate({
      ...rules(prefixRule),
      default: defaultNamespacePrefix,
    }),
  ),
  certManagerIssuer: additional(
    text(
      253,
      "Without effect: the controller makes the certificate of the driver's webhook. SimKube's manifests have it. Default: selfsigned.",
    ).annotate({ default: "selfsigned" }),
  ),
}).annotate({ description: "The Job that replays the trace." })

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

// `spec.driver`: the Job that replays the trace.
