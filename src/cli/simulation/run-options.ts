/** The options of `reel run`: SimKube's, with its short forms and defaults, and ours after them. */

import { traceDurationMs, traceDurationRule } from "../../simulation/api/simulation.ts"
import {
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  type Reading,
  refused,
  repeated,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"
import { clusterOptions } from "../command-line/shared-options.ts"
import { readVersion } from "../command-line/version.ts"

const parseSpeed = (given: string): Reading<number> => {
  const speed = /^\d{1,9}(?:\.\d{1,9})?$/.test(given) ? Number(given) : Number.NaN
  return speed > 0 ? value(speed) : refused("must be a number above 0, such as 10 or 0.5")
}

const parseTraceDuration = (given: string): Reading<string> =>
  traceDurationMs(given) === undefined ? refused(traceDurationRule.message) : value(given)

const parseTimeout = (given: string): Reading<number> => {
  const micros = parseDuration(given)
  return micros === undefined || micros === 0 ? refused("must be a duration such as 30s or 10m") : value(micros / 1000)
}

/** Anything, also an empty text: it says that there is nothing. */
const anyText = (given: string): Reading<string> => value(given)

const milliseconds = (help: string) => withDefault("0", "MS", `${help}, in ms`, integerBetween(0, 2 ** 32 - 1))

const names = (placeholder: string, help: string) => list(placeholder, help)

export const runOptions = {
  tracePath: withDefault(
    "file:///data/trace",
    "-f TRACE",
    "the trace: a path or file:///PATH on the driver's node, s3://BUCKET/KEY, gs://, azure:// or an https address",
  ),
  duration: optional(
    "-D DURATION",
    "replay only this much of the trace, from its start: +5m, 1h30m",
    parseTraceDuration,
  ),
  speed: withDefault("1", "-s NUMBER", "how many times faster than recorded", parseSpeed),
  repetitions: withDefault(
    "1",
    "-N NUMBER",
    "how often to replay the trace, one after the other",
    integerBetween(1, 2 ** 31 - 1),
  ),
  rescheduleInterruptedBarePods: flag({
    help: "create a pod without an owner again if something else than the replay deletes it",
  }),
  startPaused: flag({ help: "pause the simulation before it begins; reel resume starts it" }),
  hooks: optional(
    "FILES",
    "YAML files with hooks, with colons between them; '' for none; default: config/hooks/default.yml and " +
      "config/hooks/autoscaler.yml, if they exist",
    anyText,
  ),
  driverImage: withDefault(`kubereel:${readVersion()}`, "-I IMAGE", "image of the driver, ours or SimKube's"),
  driverNamespace: withDefault("simkube", "NAME", "namespace of the driver"),
  driverPort: optional(
    "PORT",
    "port of the driver's webhook; default: 8888, with --sandbox any free one",
    integerBetween(1, 65_535),
  ),
  driverSecrets: names("NAME", "Secrets whose keys become environment variables of the driver"),
  driverVerbosity: withDefault("info", "LEVEL", "what the driver logs; with --sandbox, debug shows it"),
  driverArg: repeated("ARGUMENT", "further argument of the driver, such as --driver-arg=--settle=1s"),
  skipLocalVolumeMount: flag({ help: "the trace's path is in the image: do not mount it from the node" }),
  virtualNsPrefix: withDefault("virtual", "TEXT", "namespace shop is replayed as TEXT-shop"),
  imagePullDelay: milliseconds("how long pods of the replay pull images"),
  imagePullJitter: milliseconds("at most so much longer, at random"),
  podStartupDelay: milliseconds("how long pods then take to start"),
  podStartupJitter: milliseconds("at most so much longer, at random"),
  disableMetrics: flag({ help: "no Prometheus, whatever the options below say" }),
  metricsNamespace: optional(
    "NAME",
    "run a Prometheus for the time of the simulation, in this namespace; default if another option of metrics is given: monitoring",
  ),
  metricsServiceAccount: optional("NAME", "its ServiceAccount; default: prometheus-k8s"),
  metricsPodMonitorNamespaces: names("NAME", "namespaces of the PodMonitors that count; default: monitoring-hd"),
  metricsPodMonitorNames: names("NAME", "names of the PodMonitors that count; default: all"),
  metricsServiceMonitorNamespaces: names(
    "NAME",
    "namespaces of the ServiceMonitors that count; default: monitoring-hd",
  ),
  metricsServiceMonitorNames: names("NAME", "names of the ServiceMonitors that count; default: all"),
  prometheusShards: optional("NUMBER", "its shards", integerBetween(0, 1000)),
  remoteWriteEndpoint: optional(
    "URL",
    "where it sends what it has scraped; default: http://prom2parquet-svc:1234/receive",
  ),
  report: optional("ADDRESS", "folder in an object store for the full reports, such as s3://BUCKET/FOLDER"),
  ...clusterOptions,
  sandbox: flag({
    help: "run everything in this process: a cluster in memory, the controller and the driver; TRACE is a path here",
  }),
  wait: flag({ help: "wait until the simulation has ended; the exit code says how" }),
  timeout: optional(
    "DURATION",
    "for --wait and --sandbox: give up after this time, while the Simulation continues in a cluster; default: never",
    parseTimeout,
  ),
  dryRun: flag({ help: "only print the manifest, for kubectl apply" }),
  output: withDefault("yaml", "-o FORMAT", "for --dry-run: yaml or json", oneOf("yaml", "json")),
}
