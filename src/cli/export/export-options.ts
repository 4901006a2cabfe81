/** The options of `reel export` and the parsers of their values. */
import { fileURLToPath } from "node:url"
import { addressUrl, readTargetPath } from "../../blob/index.ts"
import { type LabelRequirement, parseLabelSelector } from "../../kube/offline.ts"
import {
  flag,
  list,
  oneOf,
  optional,
  parseSize,
  type Reading,
  refused,
  repeated,
  text,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseTimeout, placeOptions } from "./connection/recorder-place.ts"
import type { LabelSelector } from "./export-client.ts"

/** A path; `-` for standard output. URLs of object stores are rejected: a user never wants a file named `s3:/…`. */
export const parseOutput = (given: string): Reading<string> => {
  if (/^file:\/\//i.test(given)) {
    const url = URL.parse(given)
    return url === null || url.host !== "" ? refused("it is not a local file URL") : value(fileURLToPath(url))
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1]
  return scheme === undefined
    ? text(given)
    : refused(`${scheme} is not supported; name a file, or write - for standard output`)
}

/** Where the trace goes: a local file (or `-`), or an object that the recorder writes. */
export type Destination =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "store"; readonly url: string }

const parseDestination = (given: string): Reading<Destination> => {
  const target = readTargetPath(given)
  if (target.tag === "store") return value({ kind: "store", url: addressUrl(target.address) })
  // parseOutput has its own message for schemes that are not object stores.
  if (target.tag === "refused" && /^(https|s3|s3a|gs|azure|az|adl|abfs|abfss):/i.test(given))
    return refused(target.message)
  const reading = parseOutput(given)
  return reading._tag === "Refused" ? reading : value({ kind: "file", path: reading.value })
}

const parseLabels = (given: string): Reading<LabelSelector> => {
  const selector = parseLabelSelector(given)
  if ("problem" in selector) return refused(selector.problem)
  return selector.length === 0 ? refused("it is empty") : toLabelSelector(selector)
}

/** A selector in its text form as the object in SimKube's request, which supports no comparisons. */
const toLabelSelector = (requirements: readonly LabelRequirement[]): Reading<LabelSelector> => {
  const matchExpressions: NonNullable<LabelSelector["matchExpressions"]>[number][] = []
  for (const { key, operator, values } of requirements) {
    if (operator === "Gt" || operator === "Lt") return refused("> and < are not supported in an export")
    matchExpressions.push(values.length === 0 ? { key, operator } : { key, operator, values })
  }
  return value({ matchExpressions })
}

/** SimKube's own client exports the last half hour; scripts that migrate get the same window. */
export const defaultStart = "-30m"
export const defaultEnd = "now"

export const exportOptions = {
  output: optional(
    "-o FILE",
    "where to write the trace: a file, - for standard output, or s3://BUCKET/KEY (also gs:// and azure://), which the recorder writes, or with --data-dir this command (required unless --dry-run)",
    parseDestination,
  ),
  format: optional(
    "FORMAT",
    "ndjson (complete), simkube (for replay with SimKube 2), kwok (for replay with kwokctl) or html (one file to look at); default: by the extension of FILE (.sktrace is simkube, .yaml is kwok), else ndjson. FILE.zst and FILE.gz are compressed",
    oneOf("ndjson", "simkube", "kwok", "html"),
  ),
  start: withDefault(defaultStart, "TIME", "start of the window, inclusive; a duration counts back from --end"),
  end: withDefault(
    defaultEnd,
    "TIME",
    "end of the window, exclusive; a duration counts back from now, which with --data-dir is the end of the recording",
  ),
  pin: optional(
    "ID",
    "the window of this pin, out of its copy if it has one, in place of --start and --end; reel pins lists them",
  ),
  namespace: list("-n NAME", "only objects in this namespace; * and ? are wildcards"),
  kind: list("KIND", "only this kind, such as deployment, deploy, deployments.apps, apps/v1.Deployment or apps/*"),
  name: list("NAME", "only objects with this name, or namespace/name"),
  label: repeated("SELECTOR", "only objects whose labels match, such as app=web,tier!=db", parseLabels),
  excludeNamespace: list("NAME", "exclude objects in this namespace; separate several with commas"),
  excludeKind: list("KIND", "exclude this kind, such as event, v1.Event or events.k8s.io/*; * and ? are wildcards"),
  excludeName: list("NAME", "exclude objects with this name, or namespace/name"),
  excludeLabel: repeated("SELECTOR", "exclude objects whose labels match, such as app=web,tier in (a,b)", parseLabels),
  owned: optional(
    "MODE",
    "include or exclude objects that other objects of the trace own (such as the ReplicaSets of an exported Deployment); default: exclude for simkube and kwok, include for ndjson and html",
    oneOf("include", "exclude"),
  ),
  daemonsetOwned: optional(
    "MODE",
    "include or exclude objects that a DaemonSet owns; default: as for --owned",
    oneOf("include", "exclude"),
  ),
  sanitise: optional(
    "MODE",
    "replay: remove the fields that another cluster must set itself from the objects of an ndjson trace, as simkube and kwok always do; default: none",
    oneOf("none", "replay"),
  ),
  ownerTimeout: optional(
    "DURATION",
    "how long the recorder may spend looking up unknown owners; default: 5s",
    parseTimeout,
  ),
  require: optional(
    "WHAT",
    "complete: write nothing if a kind is not being watched or the window has gaps, instead of exporting what was recorded; all: also if times of changes are estimates because they were received late",
    oneOf("all", "complete"),
  ),
  times: optional(
    "TIMES",
    "happened or received: what the window and the times in the trace mean for changes that were received late; default: happened",
    oneOf("happened", "received"),
  ),
  transform: optional(
    "FILE",
    "a program of the transform language, which the recorder runs on what it exports; - means standard input",
  ),
  dryRun: flag({ help: "print what the export would contain and what would be missing; write nothing" }),
  maximumTime: optional("DURATION", "abort the export after this long; default: the recorder's limit", parseTimeout),
  maximumSize: optional(
    "SIZE",
    "abort the export if the trace grows larger than this, such as 10Gi; default: the recorder's limit",
    parseSize,
  ),
  force: flag({ short: "f", help: "overwrite FILE if it exists" }),
  ...placeOptions,
}
