/** `reel snapshot`: its arguments. The work is in src/recorder/snapshot, what is printed in snapshot/snapshot-run.ts. */
import { everyKindConfiguration } from "../recorder/configuration/every-kind.ts"
import { withinNamespaces } from "../recorder/configuration/tracked-kind.ts"
import { factsOf, formatOfFileName, TRACE_FORMAT_NAMES, type TraceFormatName } from "../trace/formats/names.ts"
import { type CommandSyntax, flag, list, oneOf, optional } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { clusterVariables } from "./command-line/variables.ts"
import { terminalFault } from "./command-line/written-trace.ts"
import { exportOptions, parseOutput } from "./export/export-options.ts"
import { allowSecretsAdvice } from "./record/allow-secrets.ts"
import { loadedConfiguration } from "./record/loaded-configuration.ts"
import { runSnapshot, type SnapshotCommandOrder, type SnapshotCommandSurroundings } from "./snapshot/snapshot-run.ts"
import type { Terminal } from "./terminal/terminal.ts"

const options = {
  config: optional(
    "-c FILE",
    "which kinds to list, as for reel record; default: every kind that can be watched, but neither Leases nor metrics",
  ),
  output: optional("-o FILE", "where to write the trace; - means standard output (required)", parseOutput),
  format: optional(
    "FORMAT",
    `${TRACE_FORMAT_NAMES.join(", ")}; default: by the extension of FILE, else ndjson`,
    oneOf(...TRACE_FORMAT_NAMES),
  ),
  kubeconfig: optional(
    "FILE",
    "kubeconfig of the cluster; default: KUBECONFIG, ~/.kube/config or, in a pod, its service account",
  ),
  context: optional("NAME", "context of the kubeconfig; default: its current context"),
  namespace: list("-n NAME", "list only this namespace (a Role in it is enough); separate several with commas"),
  excludeNamespace: list("NAME", "exclude objects in this namespace; separate several with commas"),
  excludeLabel: exportOptions.excludeLabel,
  owned: optional(
    "MODE",
    "include or exclude objects that other objects of the trace own; default: exclude for simkube, else include",
    oneOf("include", "exclude"),
  ),
  daemonsetOwned: optional(
    "MODE",
    "include or exclude objects that a DaemonSet owns; default: as for --owned",
    oneOf("include", "exclude"),
  ),
  secretsInPlainText: flag({ help: "write v1.Secret as it is; default: its values are replaced by keyed hashes" }),
  redactKeyFile: optional(
    "FILE",
    "the key of the hashes that replace secret values, at least 16 bytes; default: a random one that is not kept",
  ),
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

const systemSurroundings: SnapshotCommandSurroundings = {
  now: () => Date.now() * 1000,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

/** The command; `surroundings` defaults to the real system. */
export const snapshotCommand = (surroundings: SnapshotCommandSurroundings = systemSurroundings): Command =>
  command(syntax, async (given, terminal) => {
    const say = (line: string): void => void terminal.standardError.write(`${syntax.name}: ${line}\n`)
    const { output } = given
    const format = given.format ?? (output === undefined ? undefined : formatOfFileName(output)) ?? "ndjson"
    const problem = wrongOutput(output, format, terminal)
    if (output === undefined || problem !== undefined) return problem ?? ""
    const loaded = await loadedConfiguration(given.config ?? { text: everyKindConfiguration([]) }, given, say)
    if (loaded === undefined) return exitCodes.usage
    if (given.allowSecrets) say(allowSecretsAdvice)
    const configuration = withinNamespaces(loaded.configuration, [...new Set(given.namespace)])
    const isExcluded = (mode: "include" | "exclude" | undefined): boolean =>
      (mode ?? (format === "simkube" ? "exclude" : "include")) === "exclude"
    const { kubeconfig, context, force, redactKeyFile } = given
    const order: SnapshotCommandOrder = {
      kubeconfig,
      context,
      force,
      redactKeyFile,
      output,
      format,
      configuration,
      secretsInPlainText: given.secretsInPlainText,
      excludedNamespaces: given.excludeNamespace,
      excludedLabels: given.excludeLabel,
      excludeOwned: isExcluded(given.owned),
      excludeDaemonSetOwned: isExcluded(given.daemonsetOwned),
    }
    return runSnapshot(order, terminal, surroundings, say)
  })

const wrongOutput = (output: string | undefined, format: TraceFormatName, terminal: Terminal): string | undefined => {
  if (output === undefined) return "--output FILE is required; - means standard output"
  return terminalFault(output, { format, isText: factsOf(format).isText }, terminal)
}
