/** The options of `reel run`: SimKube's, with its short forms and defaults, and ours after them. */
import { traceDurationMs, traceDurationRule } from "../../simulation/api/trace-duration.ts"
import {
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  type Reading,
  refused,
  text,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"
import { readVersion } from "../version.ts"
import { clusterOptions } from "./simulation-cluster.ts"

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

const milliseconds = (help: string) =>
  withDefault("0", { placeholder: "MS", help: `${help}, in ms`, parse: integerBetween(0, 2 ** 32 - 1) })

const names = (placeholder: string, help: string) => list({ placeholder, help, parse: text, split: true })

export const runOptions = {
  tracePath: withDefault("file:///data/trace", {
    short: "f",
    placeholder: "TRACE",
    help: "the trace: a path or file:///PATH on the driver's node, s3://BUCKET/KEY, gs://, azure:// or an https address",
    parse: text,
  }),
  duration: optional({
    short: "D",
    placeholder: "DURATION",
    help: "replay only this much of the trace, from its start: +5m, 1h30m",
    parse: parseTraceDuration,
  }),
  speed: withDefault("1", {
    short: "s",
    placeholder: "NUMBER",
    help: "how many times faster than recorded",
    parse: parseSpeed,
  }),
  repetitions: withDefault("1", {
    short: "N",
    placeholder: "NUMBER",
    help: "how often to replay the trace, one after the other",
    parse: integerBetween(1, 2 ** 31 - 1),
  }),
  rescheduleInterruptedBarePods: flag({
    help: "create a pod without an owner again if something else than the replay deletes it",
  }),
  startPaused: flag({ help: "pause the simulation before it begins; reel resume starts it" }),
  hooks: optional({
    placeholder: "FILES",
    help:
      "YAML files with hooks, with colons between them; '' for none; default: config/hooks/default.yml and " +
      "config/hooks/autoscaler.yml, if they exist",
    parse: anyText,
  }),
  driverImage: withDefault(`kubereel:${readVersion()}`, {
    short: "I",
    placeholder: "IMAGE",
    help: "image of the driver, ours or SimKube's",
    parse: text,
  }),
  driverNamespace: withDefault("simkube", { placeholder: "NAME", help: "namespace of the driver", parse: text }),
  driverPort: optional({
    placeholder: "PORT",
    help: "port of the driver's webhook; default: 8888, with --sandbox any free one",
    parse: integerBetween(1, 65_535),
  }),
  driverSecrets: names("NAME", "Secrets whose keys become environment variables of the driver"),
  driverVerbosity: withDefault("info", {
    placeholder: "LEVEL",
    help: "what the driver logs; with --sandbox, debug shows it",
    parse: text,
  }),
  driverArg: list({
    placeholder: "ARGUMENT",
    help: "further argument of the driver, such as --driver-arg=--settle=1s",
    parse: text,
    split: false,
  }),
  skipLocalVolumeMount: flag({ help: "the trace's path is in the image: do not mount it from the node" }),
  virtualNsPrefix: withDefault("virtual", {
    placeholder: "TEXT",
    help: "namespace shop is replayed as TEXT-shop",
    parse: text,
  }),
  imagePullDelay: milliseconds("how long pods of the replay pull images"),
  imagePullJitter: milliseconds("at most so much longer, at random"),
  podStartupDelay: milliseconds("how long pods then take to start"),
  podStartupJitter: milliseconds("at most so much longer, at random"),
  disableMetrics: flag({ help: "no Prometheus, whatever the options below say" }),
  metricsNamespace: optional({
    placeholder: "NAME",
    help: "run a Prometheus for the time of the simulation, in this namespace; default if another option of metrics is given: monitoring",
    parse: text,
  }),
  metricsServiceAccount: optional({
    placeholder: "NAME",
    help: "its ServiceAccount; default: prometheus-k8s",
    parse: text,
  }),
  metricsPodMonitorNamespaces: names("NAME", "namespaces of the PodMonitors that count; default: monitoring-hd"),
  metricsPodMonitorNames: names("NAME", "names of the PodMonitors that count; default: all"),
  metricsServiceMonitorNamespaces: names(
    "NAME",
    "namespaces of the ServiceMonitors that count; default: monitoring-hd",
  ),
  metricsServiceMonitorNames: names("NAME", "names of the ServiceMonitors that count; default: all"),
  prometheusShards: optional({ placeholder: "NUMBER", help: "its shards", parse: integerBetween(0, 1000) }),
  remoteWriteEndpoint: optional({
    placeholder: "URL",
    help: "where it sends what it has scraped; default: http://prom2parquet-svc:1234/receive",
    parse: text,
  }),
  report: optional({
    placeholder: "ADDRESS",
    help: "folder in an object store for the full reports, such as s3://BUCKET/FOLDER",
    parse: text,
  }),
  ...clusterOptions,
  sandbox: flag({
    help: "run everything in this process: a cluster in memory, the controller and the driver; TRACE is a path here",
  }),
  wait: flag({ help: "wait until the simulation has ended; the exit code says how" }),
  timeout: optional({
    placeholder: "DURATION",
    help: "for --wait and --sandbox: give up after this time, while the Simulation goes on in a cluster; default: never",
    parse: parseTimeout,
  }),
  dryRun: flag({ help: "only print the manifest, for kubectl apply" }),
  output: withDefault("yaml", {
    short: "o",
    placeholder: "FORMAT",
    help: "for --dry-run: yaml or json",
    parse: oneOf("yaml", "json"),
  }),
}
