/** The options of `reel export`, and how their values are read. */
import { fileURLToPath } from "node:url"
import { addressUrl, readTargetPath } from "../../blob/target-address.ts"
import { type LabelRequirement, parseLabelSelector } from "../../recorder/configuration/label-selector.ts"
import {
  flag,
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
import { parseSize } from "../command-line/size.ts"
import type { LabelSelector } from "./export-client.ts"
import { parseServiceAddress } from "./export-service-address.ts"

const parseServer = (given: string): Reading<URL> => {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`)
  return url === null || !/^https?:$/.test(url.protocol) || url.hostname === ""
    ? refused("it must be a URL such as http://127.0.0.1:7777")
    : value(url)
}

/** A path; `-` for standard output. Object stores are refused: a file named `s3:/…` is nobody's wish. */
export const parseOutput = (given: string): Reading<string> => {
  if (/^file:\/\//i.test(given)) {
    const url = URL.parse(given)
    return url === null || url.host !== "" ? refused("it is not the URL of a local file") : value(fileURLToPath(url))
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1]
  return scheme === undefined
    ? text(given)
    : refused(`${scheme} is not supported; name a file, or - for standard output`)
}

/** Where the trace goes: a local file (or `-`), or an object that the recorder writes. */
export type Destination =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "store"; readonly url: string }

const parseDestination = (given: string): Reading<Destination> => {
  const target = readTargetPath(given)
  if (target.tag === "store") return value({ kind: "store", url: addressUrl(target.address) })
  // What is no store and no URL of ours is told by parseOutput, in its own words.
  if (target.tag === "refused" && /^(https|s3|s3a|gs|azure|az|adl|abfs|abfss):/i.test(given))
    return refused(target.message)
  const reading = parseOutput(given)
  return reading._tag === "Refused" ? reading : value({ kind: "file", path: reading.value })
}

const parseTimeout = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  if (duration === undefined || duration === 0) return refused("it must be a duration such as 30s or 2m")
  // Longer timers overflow in Node and would fire at once.
  return value(Math.min(Math.ceil(duration / 1000), 2 ** 31 - 1))
}

export const parseExcludedLabel = (given: string): Reading<LabelSelector> => {
  const reading = parseLabelSelector(given)
  return reading._tag === "Refused" ? refused(reading.reason) : toLabelSelector(reading.requirements)
}

/** The line form as the object that SimKube's request carries, which knows no comparisons. */
const toLabelSelector = (requirements: readonly LabelRequirement[]): Reading<LabelSelector> => {
  const matchExpressions: NonNullable<LabelSelector["matchExpressions"]>[number][] = []
  for (const { key, operator, values } of requirements) {
    if (operator === "GreaterThan" || operator === "LessThan") return refused("> and < cannot be used in an export")
    matchExpressions.push(values.length === 0 ? { key, operator } : { key, operator, values })
  }
  return value({ matchExpressions })
}

/** Where `reel record` listens unless it is told otherwise. */
export const defaultServer = "http://127.0.0.1:7777"

/** SimKube's own client exports the last half hour; scripts that move over get the same window. */
export const defaultStart = "-30m"

export const exportOptions = {
  output: optional({
    short: "o",
    placeholder: "FILE",
    help: "where to write the trace: a file, - for standard output, or s3://BUCKET/KEY (gs://, azure://), which the recorder writes (required, but for --dry-run)",
    parse: parseDestination,
  }),
  format: optional({
    placeholder: "FORMAT",
    help: "ndjson (complete), simkube (what SimKube 2 replays) or kwok (what kwokctl replays); default: by the end of FILE (.sktrace is simkube, .yaml kwok), else ndjson. FILE.zst and FILE.gz are compressed",
    parse: oneOf("ndjson", "simkube", "kwok"),
  }),
  start: withDefault(defaultStart, {
    placeholder: "TIME",
    help: "begin of the window, included; a duration counts back from --end",
    parse: text,
  }),
  end: withDefault("now", {
    placeholder: "TIME",
    help: "end of the window, excluded; a duration counts back from now",
    parse: text,
  }),
  namespace: list({
    short: "n",
    placeholder: "NAME",
    help: "only objects of this namespace; * and ? stand for other characters",
    parse: text,
    split: true,
  }),
  kind: list({
    placeholder: "KIND",
    help: "only this kind, such as apps/v1.Deployment or apps/*",
    parse: text,
    split: true,
  }),
  name: list({
    placeholder: "NAME",
    help: "only objects of this name, or namespace/name",
    parse: text,
    split: true,
  }),
  label: list({
    placeholder: "SELECTOR",
    help: "only objects whose labels match, such as app=web,tier!=db",
    parse: parseExcludedLabel,
    split: false,
  }),
  excludeNamespace: list({
    placeholder: "NAME",
    help: "leave out the objects of this namespace; several are separated by commas",
    parse: text,
    split: true,
  }),
  excludeKind: list({
    placeholder: "KIND",
    help: "leave out this kind, such as v1.Event; * and ? stand for others",
    parse: text,
    split: true,
  }),
  excludeName: list({
    placeholder: "NAME",
    help: "leave out objects of this name, or namespace/name",
    parse: text,
    split: true,
  }),
  excludeLabel: list({
    placeholder: "SELECTOR",
    help: "leave out objects whose labels match, such as app=web,tier in (a,b)",
    parse: parseExcludedLabel,
    split: false,
  }),
  owned: optional({
    placeholder: "MODE",
    help: "include or exclude what objects of the trace own (a ReplicaSet of an exported Deployment); default: exclude in simkube and kwok, include in ndjson",
    parse: oneOf("include", "exclude"),
  }),
  daemonsetOwned: optional({
    placeholder: "MODE",
    help: "include or exclude what a DaemonSet owns; default as for --owned",
    parse: oneOf("include", "exclude"),
  }),
  sanitise: optional({
    placeholder: "MODE",
    help: "replay: take out of ndjson's objects what another cluster must decide, as simkube and kwok always do; default: none",
    parse: oneOf("none", "replay"),
  }),
  ownerTimeout: optional({
    placeholder: "DURATION",
    help: "how long the recorder may look up owners it does not know; default: 5s",
    parse: parseTimeout,
  }),
  require: optional({
    placeholder: "WHAT",
    help: "all: fail if kinds are not being watched or the window has gaps, instead of exporting what there is",
    parse: oneOf("all"),
  }),
  dryRun: flag({ help: "say what the export would hold, and what would be missing; write nothing" }),
  maximumTime: optional({
    placeholder: "DURATION",
    help: "have the recorder give up after so long; default: its own limit",
    parse: parseTimeout,
  }),
  maximumSize: optional({
    placeholder: "SIZE",
    help: "have the recorder give up when the trace is larger, such as 10Gi; default: its own limit",
    parse: parseSize,
  }),
  force: flag({ short: "f", help: "replace FILE if it exists" }),
  server: optional({
    short: "s",
    placeholder: "URL",
    help: `the recorder to ask; default: ${defaultServer}`,
    parse: parseServer,
  }),
  inCluster: optional({
    placeholder: "NAMESPACE/SERVICE",
    help: "the recorder to ask: the one behind this Service, through the API server of a kubeconfig. SERVICE:PORT names another port than http",
    parse: parseServiceAddress,
  }),
  kubeconfig: optional({
    placeholder: "FILE",
    help: "for --in-cluster: how to reach the cluster; default: KUBECONFIG, ~/.kube/config, or in a pod its service account",
    parse: text,
  }),
  context: optional({
    placeholder: "NAME",
    help: "for --in-cluster: context of the kubeconfig; default: its current one",
    parse: text,
  }),
  tokenFile: optional({
    placeholder: "FILE",
    help: "token to show to the recorder; default: what KUBEREEL_TOKEN holds, then with --in-cluster that of the kubeconfig's user",
    parse: text,
  }),
  timeout: withDefault("2m", {
    placeholder: "DURATION",
    help: "give up when nothing comes for so long",
    parse: parseTimeout,
  }),
}
