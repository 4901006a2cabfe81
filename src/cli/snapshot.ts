/** `reel snapshot`: arguments, progress and exit codes. The work is in src/recorder/snapshot. */

import { type ApiEndpoint, type DiscoveredKind, defaultDetect, defaultIgnore } from "../kube/index.ts"
import {
  byCause,
  everyKindConfiguration,
  expandEveryKind,
  isRefusedCredentials,
  type RecorderConfiguration,
  type SnapshotOutcome,
  serverTrouble,
  type WrittenSnapshot,
  withConnectionAdvice,
  withinNamespaces,
  writeSnapshot,
} from "../recorder/index.ts"
import { compileFilters, formatOfFileName, OutputExists, type TraceFormatName } from "../trace/index.ts"
import { type CommandSyntax, flag, list, type OptionValues, oneOf, optional } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { describeRefused } from "./command-line/refused-credentials.ts"
import {
  allowSecretsAdvice,
  clusterOptions,
  clusterVariables,
  outputFormatOption,
  redactionOptions,
} from "./command-line/shared-options.ts"
import { readVersion } from "./command-line/version.ts"
import { compressionOf, openOutput, placeOf, terminalFault } from "./command-line/written-trace.ts"
import { exportOptions, parseOutput } from "./export/export-options.ts"
import { loadedConfiguration, redactionKeyFrom } from "./record/loaded-configuration.ts"
import { progressLine } from "./terminal/live-line.ts"
import { formatBytes, formatCount } from "./terminal/quantities.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

/** Dependencies that tests replace. */
interface SnapshotSurroundings {
  /** µs since the Unix epoch. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The request of the command line. */
interface Order extends OptionValues<typeof options> {
  readonly output: string
  readonly format: TraceFormatName
  readonly configuration: RecorderConfiguration
}

/** Takes the snapshot and reports the result. Rejects only for defects. */
const runSnapshot = async (
  order: Order,
  terminal: Terminal,
  { now, sleep }: SnapshotSurroundings,
  say: (line: string) => void,
): Promise<ExitCode> => {
  const { output, format, kubeconfig, context, force } = order
  const redactionKey = await redactionKeyFrom(order.redactKeyFile)
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  const filters = compileFilters({
    excluded_namespaces: order.excludeNamespace,
    excluded_labels: order.excludeLabel,
  })
  const isExcluded = (mode: "include" | "exclude" | undefined): boolean =>
    (mode ?? (format === "simkube" ? "exclude" : "include")) === "exclude"
  const outcome = await writeSnapshot({
    cluster: { kubeconfig, context, userAgent: `kubereel/${readVersion()}` },
    order: {
      ...{ ...kindsOf(order), filters },
      excludeOwned: isExcluded(order.owned),
      excludeDaemonSetOwned: isExcluded(order.daemonsetOwned),
    },
    redactionKey,
    format,
    compression: compressionOf(output),
    openSink: () => openOutput(output, { force }, terminal),
    signal: interrupted.signal,
    sleep,
    now,
    onProgress: (objects) => progress.show(() => `listing: ${formatCount(objects, "object")}`),
  })
  progress.close()
  return report(order, outcome, terminal, say)
}

const kindsOf = ({ configuration: { kinds, every }, secretsInPlainText }: Order) => ({
  kinds,
  ...(every !== undefined && {
    every: (discovered: ReadonlyArray<DiscoveredKind>) =>
      expandEveryKind(kinds, every, discovered, {
        secretsInPlainText,
        defaults: { defaultDetect, defaultIgnore },
      }),
  }),
})

const report = (
  { output, format }: Order,
  outcome: SnapshotOutcome,
  terminal: Terminal,
  say: (line: string) => void,
): ExitCode => {
  switch (outcome.tag) {
    case "written": {
      const counts = `${formatCount(outcome.objects, "object")}, ${formatBytes(outcome.bytes)}`
      terminal.standardError.write(`${placeOf(output)}: ${counts}\n`)
      return reportLacking(outcome, format, say)
    }
    case "nothing-listed": {
      const { missing, endpoint } = outcome
      for (const { gvks, detail } of byCause(missing)) say(describeMissing(gvks, detail, endpoint))
      const isRefused = missing.every(({ state, detail }) => state === "forbidden" || isRefusedCredentials(detail))
      return isRefused ? exitCodes.notPermitted : exitCodes.failed
    }
    case "failed":
      say(outcome.error.message)
      return outcome.error instanceof OutputExists ? exitCodes.usage : exitCodes.failed
    case "aborted":
      say("interrupted; no file was kept")
      return exitCodes.interrupted
  }
}

/** A trouble of the server is one of all kinds. */
const describeMissing = (gvks: ReadonlyArray<string>, detail: string, endpoint: ApiEndpoint): string => {
  if (isRefusedCredentials(detail)) return describeRefused(detail, endpoint)
  const trouble = serverTrouble(detail)
  const what = trouble?.subject ?? `${gvks.join(", ")} cannot be listed`
  return `${what}: ${withConnectionAdvice(detail)}`
}

const reportLacking = (
  { missing, unknownOwners, leftOut: { objects, warnings } }: WrittenSnapshot,
  format: TraceFormatName,
  say: (line: string) => void,
): ExitCode => {
  for (const { gvks, detail } of byCause(missing))
    say(`the trace is incomplete: ${gvks.join(", ")} could not be listed: ${withConnectionAdvice(detail)}`)
  if (unknownOwners.length > 0)
    say(`owners could not be looked up: ${unknownOwners.join(", ")}. Their objects were treated as unowned`)
  if (objects.size > 0)
    say(`the ${format} format cannot represent ${[...objects.keys()].join(", ")}; --format ndjson includes everything`)
  for (const warning of warnings) say(warning)
  return missing.length === 0 && unknownOwners.length === 0 ? exitCodes.ok : exitCodes.incomplete
}

const options = {
  config: optional(
    "-c FILE",
    "which kinds to list, as for reel record; default: every kind that can be watched, but neither Leases nor metrics",
  ),
  output: optional("-o FILE", "where to write the trace; - means standard output (required)", parseOutput),
  format: outputFormatOption("FILE"),
  ...clusterOptions,
  namespace: list("-n NAME", "list only this namespace (a Role in it is enough); separate several with commas"),
  excludeNamespace: list("NAME", "exclude objects in this namespace; separate several with commas"),
  excludeLabel: exportOptions.excludeLabel,
  owned: optional(
    "MODE",
    "include or exclude objects that other objects of the trace own; default: exclude for simkube, else include",
    oneOf("include", "exclude"),
  ),
  daemonsetOwned: exportOptions.daemonsetOwned,
  ...redactionOptions,
  allowSecrets: flag({ help: "deprecated and ignored: v1.Secret is written with redacted values" }),
  force: flag({ short: "f", help: "overwrite FILE if it exists" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel snapshot",
  summary: "Writes a trace of a cluster's current state, without a recorder.",
  description: [
    "Lists the kinds of the configuration, or all of them, and writes their objects as the initial state of a trace that has no changes.",
    "The file appears only when it is complete; a failed snapshot leaves nothing behind.",
  ],
  options,
  exitCodes: {
    failed: "nothing was written, because no kind could be listed or for another reason",
    incomplete: "written without kinds that are not installed or may not be listed, or with unknown owners",
    notPermitted: "listing is forbidden for all kinds, or the server refuses the credentials",
  },
  environment: clusterVariables,
  examples: [
    "reel snapshot -o now.ndjson",
    "reel snapshot -c tracer.yml -o now.sktrace",
    "reel snapshot -c tracer.yml -o now.ndjson.zst --exclude-namespace kube-system",
  ],
  seeAlso: ["reel record", "reel convert", "docs/reference/configuration.md"],
}

const systemSurroundings: SnapshotSurroundings = {
  now: () => Date.now() * 1000,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

/** The command; `surroundings` defaults to the real system. */
export const snapshotCommand = (surroundings: SnapshotSurroundings = systemSurroundings): Command =>
  command(syntax, async (given, terminal) => {
    const { output } = given
    const { say } = terminal
    const format = given.format ?? (output === undefined ? undefined : formatOfFileName(output)) ?? "ndjson"
    const problem = wrongOutput(output, format, terminal)
    if (output === undefined || problem !== undefined) return problem ?? ""
    const loaded = await loadedConfiguration(given.config ?? { text: everyKindConfiguration([]) }, given, say)
    if (given.allowSecrets) say(allowSecretsAdvice)
    const configuration = withinNamespaces(loaded.configuration, [...new Set(given.namespace)])
    return runSnapshot({ ...given, output, format, configuration }, terminal, surroundings, say)
  })

const wrongOutput = (output: string | undefined, format: TraceFormatName, terminal: Terminal): string | undefined => {
  if (output === undefined) return "--output FILE is required; - means standard output"
  return terminalFault(output, format, terminal)
}
