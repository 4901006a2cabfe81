/** The options of `reel export` and the parsers of their values. */
import { fileURLToPath } from "node:url"
import { addressUrl, readTargetPath } from "../../blob/target-address.ts"
import { type LabelRequirement, parseLabelSelector } from "../../kube/label-selector.ts"
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
import { parseSize } from "../command-line/size.ts"
import { parseTimeout, placeOptions } from "./connection/recorder-place.ts"
import type { LabelSelector } from "./export-client.ts"

/** A path; `-` for standard output. URLs of object stores are rejected: no one wants a file named `s3:/…`. */
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

const parseExcludedLabel = (given: string): Reading<LabelSelector> => {
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

export const exportOptions = {
  output: optional({
    short: "o",
    placeholder: "FILE",
    help: "where to write the trace: a file, - for standard output, or s3://BUCKET/KEY (also gs:// and azure://), which the recorder writes, or with --data-dir this command (required unless --dry-run)",
    parse: parseDestination,
  }),
  format: optional({
    placeholder: "FORMAT",
    help: "ndjson (complete), simkube (for replay with SimKube 2) or kwok (for replay with kwokctl); default: by the extension of FILE (.sktrace is simkube, .yaml is kwok), else ndjson. FILE.zst and FILE.gz are compressed",
    parse: oneOf("ndjson", "simkube", "kwok"),
  }),
  start: withDefault(defaultStart, {
    placeholder: "TIME",
    help: "start of the window, inclusive; a duration counts back from --end",
    parse: text,
  }),
  end: withDefault("now", {
    placeholder: "TIME",
    help: "end of the window, exclusive; a duration counts back from now, which with --data-dir is the end of the recording",
    parse: text,
  }),
  namespace: list({
    short: "n",
    placeholder: "NAME",
    help: "only objects in this namespace; * and ? are wildcards",
    parse: text,
    split: true,
  }),
  kind: list({
    placeholder: "KIND",
    help: "only this kind, such as deployment, deploy, deployments.apps, apps/v1.Deployment or apps/*",
    parse: text,
    split: true,
  }),
  name: list({
    placeholder: "NAME",
    help: "only objects with this name, or namespace/name",
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
    help: "exclude objects in this namespace; separate several with commas",
    parse: text,
    split: true,
  }),
  excludeKind: list({
    placeholder: "KIND",
    help: "exclude this kind, such as event, v1.Event or events.k8s.io/*; * and ? are wildcards",
    parse: text,
    split: true,
  }),
  excludeName: list({
    placeholder: "NAME",
    help: "exclude objects with this name, or namespace/name",
    parse: text,
    split: true,
  }),
  excludeLabel: list({
    placeholder: "SELECTOR",
    help: "exclude objects whose labels match, such as app=web,tier in (a,b)",
    parse: parseExcludedLabel,
    split: false,
  }),
  owned: optional({
    placeholder: "MODE",
    help: "include or exclude objects that other objects of the trace own (such as the ReplicaSets of an exported Deployment); default: exclude for simkube and kwok, include for ndjson",
    parse: oneOf("include", "exclude"),
  }),
  daemonsetOwned: optional({
    placeholder: "MODE",
    help: "include or exclude objects that a DaemonSet owns; default: as for --owned",
    parse: oneOf("include", "exclude"),
  }),
  sanitise: optional({
    placeholder: "MODE",
    help: "replay: remove the fields that another cluster must set itself from the objects of an ndjson trace, as simkube and kwok always do; default: none",
    parse: oneOf("none", "replay"),
  }),
  ownerTimeout: optional({
    placeholder: "DURATION",
    help: "how long the recorder may spend looking up unknown owners; default: 5s",
    parse: parseTimeout,
  }),
  require: optional({
    placeholder: "WHAT",
    help: "complete: write nothing if a kind is not being watched or the window has gaps, instead of exporting what was recorded; all: also if times of changes are estimates because they were received late",
    parse: oneOf("all", "complete"),
  }),
  times: optional({
    placeholder: "TIMES",
    help: "happened or received: what the window and the times in the trace mean for changes that were received late; default: happened",
    parse: oneOf("happened", "received"),
  }),
  transform: optional({
    placeholder: "FILE",
    help: "a program of the transform language, which the recorder runs on what it exports; - means standard input",
    parse: text,
  }),
  dryRun: flag({ help: "print what the export would contain and what would be missing; write nothing" }),
  maximumTime: optional({
    placeholder: "DURATION",
    help: "abort the export after this long; default: the recorder's limit",
    parse: parseTimeout,
  }),
  maximumSize: optional({
    placeholder: "SIZE",
    help: "abort the export if the trace grows larger than this, such as 10Gi; default: the recorder's limit",
    parse: parseSize,
  }),
  force: flag({ short: "f", help: "overwrite FILE if it exists" }),
  ...placeOptions,
}
