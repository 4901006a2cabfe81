/** `reel snapshot` on a terminal: progress, interruption, where the trace goes, and what is printed about it. */
import type { DiscoveredKind } from "../../kube/discovered-kinds.ts"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { defaultDetect, defaultIgnore } from "../../kube/scanner/object/detect-rules.ts"
import { expandEveryKind } from "../../recorder/configuration/every-kind.ts"
import type { RecorderConfiguration } from "../../recorder/configuration/tracked-kind.ts"
import { byCause } from "../../recorder/kind-status.ts"
import { serverTrouble } from "../../recorder/notices/server-trouble.ts"
import { isRefusedCredentials, withConnectionAdvice } from "../../recorder/notices/trouble-advice.ts"
import { newRedactionKey, RedactionKeyError, readRedactionKey } from "../../recorder/redaction/redaction-key.ts"
import { type SnapshotOutcome, type WrittenSnapshot, writeSnapshot } from "../../recorder/snapshot/write-snapshot.ts"
import { visible } from "../../text/index.ts"
import { OutputExists } from "../../trace/files/output-errors.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { compileFilters } from "../../trace/selection/filters.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { describeRefused } from "../command-line/refused-credentials.ts"
import { readVersion } from "../command-line/version.ts"
import { compressionOf, openOutput, placeOf } from "../command-line/written-trace.ts"
import type { LabelSelector } from "../export/export-client.ts"
import { progressLine } from "../terminal/live-line.ts"
import { formatBytes, formatCount } from "../terminal/quantities.ts"
import { interruption, type Terminal } from "../terminal/terminal.ts"

/** Dependencies that tests replace. */
export interface SnapshotCommandSurroundings {
  /** µs since the Unix epoch. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The request of the command line. */
export interface SnapshotCommandOrder {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly excludedNamespaces: ReadonlyArray<string>
  readonly excludedLabels: ReadonlyArray<LabelSelector>
  readonly excludeOwned: boolean
  readonly excludeDaemonSetOwned: boolean
  readonly force: boolean
  /** File with the key for redacted values; `undefined`: a random key that is not kept. */
  readonly redactKeyFile: string | undefined
  readonly output: string
  readonly format: TraceFormatName
  readonly configuration: RecorderConfiguration
  readonly secretsInPlainText: boolean
}

/** Takes the snapshot and reports the result. Rejects only for defects. */
export const runSnapshot = async (
  order: SnapshotCommandOrder,
  terminal: Terminal,
  { now, sleep }: SnapshotCommandSurroundings,
  say: (line: string) => void,
): Promise<ExitCode> => {
  const { output, format, kubeconfig, context, excludeOwned, excludeDaemonSetOwned, force } = order
  const { redactKeyFile } = order
  const redactionKey =
    redactKeyFile === undefined
      ? newRedactionKey()
      : await readRedactionKey(redactKeyFile).catch((cause: unknown) => {
          if (cause instanceof RedactionKeyError) return cause
          throw cause
        })
  if (redactionKey instanceof RedactionKeyError) {
    say(redactionKey.message)
    return exitCodes.usage
  }
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  const filters = compileFilters({
    excluded_namespaces: order.excludedNamespaces,
    excluded_labels: order.excludedLabels,
  })
  const outcome = await writeSnapshot({
    cluster: { kubeconfig, context, userAgent: `kubereel/${readVersion()}` },
    order: { ...kindsOf(order), filters, excludeOwned, excludeDaemonSetOwned },
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

const kindsOf = ({ configuration: { kinds, every }, secretsInPlainText }: SnapshotCommandOrder) => ({
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
  { output, format }: SnapshotCommandOrder,
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
  for (const warning of warnings) say(visible(warning))
  return missing.length === 0 && unknownOwners.length === 0 ? exitCodes.ok : exitCodes.incomplete
}
