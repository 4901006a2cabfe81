/** The options of `reel replay` and the parsers of their values. */

import { speedLimits } from "../../simulation/index.ts"
import {
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  type Reading,
  refused,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"
import { parseListenAddress } from "../command-line/listen-option.ts"
import { formatOption } from "../command-line/shared-options.ts"
import { parseAddress } from "../command-line/webhook-address.ts"
import { parseMoment, parseReplayedKind, parseSeededKind, parseSettling, parseSpeed } from "./replay-values.ts"
import { parseRecorderPlace } from "./running-recorder.ts"

const parsePositiveDuration = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  return duration === undefined || duration === 0 ? refused("must be a duration such as 30s or 2m") : value(duration)
}

const parseRepetitions = (given: string): Reading<number> => {
  if (given === "forever") return value(Number.POSITIVE_INFINITY)
  return /^[1-9]\d{0,8}$/.test(given) ? value(Number(given)) : refused("must be a number from 1 on, or forever")
}

/** A DNS label: part of a namespace's name and the value of a label. */
const parseName = (given: string): Reading<string> =>
  /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/.test(given)
    ? value(given)
    : refused("must be at most 40 lower-case letters, digits and dashes, and start and end with a letter or digit")

const parsePrefix = (given: string): Reading<string> =>
  /^[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?$/.test(given)
    ? value(given)
    : refused("must be at most 30 lower-case letters, digits and dashes, and start and end with a letter or digit")

const parseNodeSelector = (given: string): Reading<readonly [string, string] | undefined> => {
  if (given === "none") return value(undefined)
  const [key = "", label, ...more] = given.split("=")
  return key !== "" && label !== undefined && more.length === 0
    ? value([key, label])
    : refused("must be KEY=VALUE, or none")
}

export const replayOptions = {
  sandbox: flag({
    help: "replay into a cluster in this process, which is lost afterwards; the default if no cluster is named",
  }),
  kubeconfig: optional(
    "FILE",
    "kubeconfig of the cluster to replay into; KUBECONFIG alone names none, because a replay writes",
  ),
  context: optional("NAME", "context of the kubeconfig; default: its current context"),
  recorder: optional(
    "WHERE",
    "replay the window from --from on out of a running recorder instead of TRACE: its URL, or NAMESPACE/SERVICE in the recorded cluster",
    parseRecorderPlace,
  ),
  recorderKubeconfig: optional("FILE", "for --recorder NAMESPACE/SERVICE: kubeconfig of the recorded cluster"),
  recorderContext: optional(
    "NAME",
    "for --recorder NAMESPACE/SERVICE: context of that kubeconfig; default: its current context",
  ),
  tokenFile: optional(
    "FILE",
    "token to present to the recorder; default: the value of KUBEREEL_TOKEN or, for a Service, the token of the kubeconfig's user",
  ),
  name: optional("NAME", "name of this replay, the label on everything it creates; default: a random one", parseName),
  speed: withDefault(
    "1",
    "NUMBER",
    `how many times faster than recorded, from ${speedLimits.minimum} to ${speedLimits.maximum}; max: without waiting`,
    parseSpeed,
  ),
  from: optional("TIME", "start at this moment of the trace, from the state that it has there", parseMoment("start")),
  to: optional("TIME", "end before this moment of the trace", parseMoment("end")),
  duration: optional("DURATION", "end after this part of the trace, in the trace's time", parsePositiveDuration),
  repetitions: withDefault(
    "1",
    "NUMBER",
    "how often to replay the trace, each time from the start, after everything was removed; forever: until Ctrl-C",
    parseRepetitions,
  ),
  format: formatOption("TRACE", "inferred from its first bytes"),
  namespacePrefix: withDefault(
    "virtual",
    "TEXT",
    "namespace shop is replayed as TEXT-shop; cluster-scoped objects are renamed likewise",
    parsePrefix,
  ),
  nodeSelector: withDefault(
    "type=virtual",
    "KEY=VALUE",
    "nodes that pods of the replay run on; none: any",
    parseNodeSelector,
  ),
  pods: withDefault(
    "recorded",
    "MODE",
    "recorded: pods start, run and end as in the trace; cluster: as the cluster's nodes decide",
    oneOf("recorded", "cluster"),
  ),
  webhookAddress: optional(
    "HOST:PORT",
    "where the cluster's API server reaches this process, for --pods recorded; default: a free port of 127.0.0.1 if the server is there too",
    parseAddress,
  ),
  include: list(
    "KIND",
    "replay this kind although it usually is not, such as pv, lease or coordination.k8s.io/Lease; separate several with commas",
    parseReplayedKind,
  ),
  seedStatus: list(
    "KIND",
    "give objects of this kind that exist at the start their recorded status, such as node or example.com/Database; custom: all custom kinds; separate several with commas",
    parseSeededKind,
  ),
  onConflict: withDefault(
    "force",
    "MODE",
    "if another field manager of the cluster owns a field: force takes it over, skip leaves the object as it is, fail counts a refusal",
    oneOf("force", "skip", "fail"),
  ),
  intoRecordedCluster: flag({ help: "replay although the cluster is the one that was recorded" }),
  partial: flag({ help: "replay although the cluster lacks kinds or permissions; what needs them is refused" }),
  strict: flag({ help: "stop at the first object that the cluster refuses" }),
  concurrency: withDefault("16", "NUMBER", "writes at the same time, at most 256", integerBetween(1, 256)),
  maxLag: withDefault("30s", "DURATION", "how late an event may be before --on-lag applies", parsePositiveDuration),
  onLag: withDefault(
    "slow",
    "MODE",
    "if the cluster cannot keep up: slow delays the rest of the trace, fail stops",
    oneOf("slow", "fail"),
  ),
  control: optional(
    "ADDRESS:PORT",
    "serve state, control and metrics over HTTP; PORT alone listens on 127.0.0.1, and other machines need a token",
    parseListenAddress,
  ),
  controlTokenFile: optional(
    "FILE",
    "tokens for --control, one a line; required unless it listens on a loopback address",
  ),
  dryRun: flag({ help: "only print what would be created, what the cluster lacks, and how long it takes" }),
  report: optional("FILE", "write a report as JSON; with --dry-run, what would happen"),
  html: optional("FILE", "write the report as a page for browsers, which needs nothing but the file"),
  force: flag({ short: "f", help: "overwrite the reports if they exist" }),
  noFidelity: flag({ help: "do not record the cluster for --report and --html, reports will omit the comparison" }),
  settle: withDefault(
    "10s",
    "DURATION",
    "how long the recording may continue at the end until nothing has changed for a second; 0s does not wait",
    parseSettling,
  ),
  recording: optional(
    "DIRECTORY",
    "keep the recording of the cluster in this directory, which must be absent or empty; default: it is removed after the comparison",
  ),
  keep: flag({ help: "leave what was created in the cluster" }),
  clean: optional(
    "NAME",
    "only remove what the replay of this name created, for example after it was killed; needs --kubeconfig or --context",
    parseName,
  ),
}
