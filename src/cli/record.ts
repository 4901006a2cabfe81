/**
 * `reel record`: its arguments and output. The recorder itself is in src/recorder.
 *
 * Log lines go to standard error; the live status line goes to standard output, and only if that is a terminal.
 */

import { backgroundClock } from "../clock.ts"
import { MOST_SHARDS } from "../fleet/index.ts"
import {
  everyKindConfiguration,
  everyKindKey,
  isException,
  type LeaseSettings,
  readRetainBytes,
  readRetainFor,
} from "../recorder/index.ts"
import {
  type CommandSyntax,
  count,
  flag,
  integerBetween,
  list,
  type OptionValues,
  oneOf,
  optional,
  type Reading,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import type { ExitCode } from "./command-line/exit-codes.ts"
import { parseDuration } from "./command-line/instant.ts"
import { readKind } from "./command-line/kind-option.ts"
import { listenOption } from "./command-line/listen-option.ts"
import {
  allowSecretsAdvice,
  clusterOptions,
  clusterVariables,
  logFormatOption,
  parseOwnDirectory,
} from "./command-line/shared-options.ts"
import { accessOptions, readAccess } from "./record/record-access.ts"
import { archiveOf, archiveOptions, archiveProblem } from "./record/record-archive.ts"
import { givenLimits, ofKinds } from "./record/record-limits.ts"
import { pinOptions, pinSettingsOf } from "./record/record-pins.ts"
import { makeFolderOfShard, shardOf, shardOptions, shardProblem } from "./record/record-shard.ts"
import type { RecordOptions, RecordOutput, RunRecorder } from "./record/run-recorder.ts"
import { type RecorderStatus, renderStatusLine } from "./record/status-line.ts"
import { createLiveLine } from "./terminal/live-line.ts"
import { createLogger, levelOf } from "./terminal/log.ts"
import { formatCount } from "./terminal/quantities.ts"
import { isColoured, isLive, type Output, type Terminal } from "./terminal/terminal.ts"

// Writes log lines to a stream whose reader may be slower than the log, or may not read at all.
//
// Guarantees: the bytes that wait for the reader are bounded, because for a pipe that is not read, Node buffers in this
// process's memory without limit (a recorder with `-v` writes 150 bytes per event). Lines that do not fit are dropped
// and counted; the count is reported once the reader has caught up, or at the end at the latest. Writing never blocks:
// a log must not hold up a recording.

interface LogSinkOptions {
  readonly stream: Pick<Output, "write" | "writableLength" | "once" | "off">
  /** Called with the number of dropped lines once there is room to log a line about them. */
  readonly dropped: (lines: number) => void
  /** Writes one line. Default: to the stream. */
  readonly write?: (line: string) => void
  /** Bytes that may wait; a line is accepted while fewer do. Default 1 MiB: thousands of lines, and little beside a recorder's memory. */
  readonly limitBytes?: number
}

interface LogSink {
  /** Takes one line with its line break. Never blocks, and does not throw if the reader is gone. */
  readonly write: (line: string) => void
  /** Reports dropped lines that have not been reported yet. */
  readonly close: () => void
}

export const createLogSink = (options: LogSinkOptions): LogSink => {
  const { stream, limitBytes = 1024 * 1024, write = (line) => void stream.write(line) } = options
  let droppedLines = 0
  let isClosing = false

  const tell = (): void => {
    stream.off("drain", tell)
    const lines = droppedLines
    droppedLines = 0
    if (lines > 0) options.dropped(lines)
  }
  const hasRoom = (): boolean => {
    if (isClosing) return true
    // Once a line was dropped, drop all until the reader has caught up: one hole instead of many.
    return droppedLines === 0 ? stream.writableLength < limitBytes : stream.writableLength === 0
  }

  return {
    write(line) {
      if (hasRoom()) {
        // A stream that failed discards its buffer without emitting "drain".
        if (droppedLines > 0) tell()
        write(line)
      } else if (droppedLines++ === 0) stream.once("drain", tell)
    },
    close() {
      isClosing = true
      tell()
    },
  }
}

// `--lease` and `--lease-duration`: of several recorders with one Lease, one records and the others stand by.

const part = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const leasePattern = new RegExp(`^(${part})/(${part}(?:\\.${part})*)$`)

/** NAMESPACE/NAME. */
const parseLease = (given: string): Reading<Pick<LeaseSettings, "namespace" | "name">> => {
  const [, namespace, name] = leasePattern.exec(given) ?? []
  return namespace === undefined || name === undefined || name.length > 253
    ? refused("must be NAMESPACE/NAME, such as kubereel/recorder")
    : value({ namespace, name })
}

/** Its name is also that of a label. */
const parseReplicasLease = (given: string): ReturnType<typeof parseLease> => {
  const reading = parseLease(given)
  return reading._tag === "Value" && reading.value.name.length > 63
    ? refused("NAME has at most 63 characters")
    : reading
}

/** Part of the name of a Lease. */
const parseReplicaName = (given: string): Reading<string> =>
  new RegExp(`^${part}(?:\\.${part})*$`).test(given) && given.length <= 180
    ? value(given)
    : refused("must be of lower-case letters, digits, - and .")

/** ms. A Lease has whole seconds. With less than 3 s, a slow request would cost the lead. */
const parseLeaseDuration = (given: string): Reading<number> => {
  const micros = parseDuration(given)
  return micros === undefined || micros < 3_000_000 || micros > 3_600_000_000 || micros % 1_000_000 !== 0
    ? refused("must be whole seconds, from 3s to 1h")
    : value(micros / 1000)
}

/** client-go's. */
const defaultDurationMs = 15_000

const leaseOptions = {
  lease: optional(
    "NAMESPACE/NAME",
    "record only while holding this Lease, which is made if necessary: of several recorders with one Lease, one records and the others stand by; needs --data-dir",
    parseLease,
  ),
  leaseDuration: optional(
    "DURATION",
    "for --lease and --replicas-lease: another recorder takes over after so long without a sign of life, whole seconds from 3s to 1h; default: 15s",
    parseLeaseDuration,
  ),
  replicasLease: optional(
    "NAMESPACE/NAME",
    "be one of several replicas with this name, which share the shards of a huge cluster: runs a recorder for each shard that is this replica's, and takes over those of a replica that is gone; the replicas' Leases are NAME-replica-REPLICA, the shards' NAME-shard-K; needs --archive-to, --data-dir and --redact-key-file",
    parseReplicasLease,
  ),
  shards: optional(
    "NUMBER",
    "for --replicas-lease: into how many shards the cluster is divided, from 1 to 1000, which never changes at one address; default: those of the address",
    integerBetween(1, MOST_SHARDS),
  ),
  replicaName: optional(
    "NAME",
    "for --replicas-lease: the name of this replica, unique and the same at each start; default: POD_NAME, or the host's name",
    parseReplicaName,
  ),
}

type Given = OptionValues<typeof leaseOptions>

/** The problem with the combination of options. */
const leaseProblem = (given: Given & { readonly dataDir: string | undefined }): string | undefined => {
  if (given.lease === undefined)
    return given.leaseDuration === undefined ? undefined : "--lease-duration is for --lease and --replicas-lease"
  return given.dataDir === undefined
    ? "--lease requires --data-dir: no recorder continues what is in a temporary directory"
    : undefined
}

const leaseOf = ({ lease, leaseDuration: durationMs = defaultDurationMs }: Given): LeaseSettings | undefined =>
  lease && { ...lease, durationMs }

const parseNamespace = (given: string): Reading<string> =>
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(given)
    ? value(given)
    : refused("it is not a valid namespace name (at most 63 lower-case letters, digits and -)")

const parseException = (given: string): Reading<string> => {
  if (isException(given)) return value(given)
  const reading = readKind(given)
  return reading.tag === "kind" ? value(reading.text) : refused(reading.problem)
}

const options = {
  config: optional(
    "-c FILE",
    "what to record: a SimKube tracer configuration, or one with kubereel's own settings; default: workloads and the lifecycles of their pods",
  ),
  all: flag({
    help: "record every kind that can be watched, new ones as soon as they are installed, but neither Leases nor metrics; Secrets with redacted values",
  }),
  except: list(
    "KIND",
    "for --all: a kind that is not recorded, such as events, or all kinds of a group, such as example.com/*; separate several with commas",
    parseException,
  ),
  ...clusterOptions,
  namespace: list(
    "-n NAME",
    "record only this namespace (a Role in it is enough); separate several with commas",
    parseNamespace,
  ),
  dataDir: optional(
    "-d DIRECTORY",
    "where to keep the recording; started again on the same directory, the recorder continues it; default: a new temporary directory",
    parseOwnDirectory,
  ),
  ...leaseOptions,
  ...archiveOptions,
  ...shardOptions,
  fsync: withDefault(
    "interval",
    "WHEN",
    "interval: a power failure loses at most the last second; always: loses nothing, but is slower",
    oneOf("interval", "always"),
  ),
  retainFor: list(
    "DURATION",
    "how long what was recorded is kept, such as 30d, at least 10m; of a kind: v1.Event=1d; default: for ever",
    ofKinds((text) => readRetainFor(text)),
  ),
  retainBytes: list(
    "SIZE",
    "how much the recording may take on disk, such as 20Gi, at least 64Mi; of a kind: v1.Event=1Gi, at least 1Mi; default: any",
    ofKinds((text, gvk) => readRetainBytes(text, gvk !== undefined)),
  ),
  ...pinOptions,
  listCompression: withDefault(
    "auto",
    "WHEN",
    "gzip on lists: auto: in pages, if the API server is on another machine and not that of the pod's own cluster; always: all lists, which are then made in pages; never",
    oneOf("auto", "always", "never"),
  ),
  listen: listenOption(
    7777,
    "where exports, questions, readiness and metrics are served; an address that other machines can reach needs --auth or --allow-anonymous",
  ),
  ...accessOptions,
  secretsInPlainText: flag({ help: "record v1.Secret as it is; default: its values are replaced by keyed hashes" }),
  redactKeyFile: optional(
    "FILE",
    "the key of the hashes that replace secret values, at least 16 bytes; default: redaction.key in the data directory, made once",
  ),
  allowSecrets: flag({ help: "deprecated and ignored: v1.Secret is recorded with redacted values" }),
  logFormat: logFormatOption,
  verbose: count({ short: "v", help: "also log every recorded event" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel record",
  summary: "Records a cluster until stopped by Ctrl-C or SIGTERM.",
  description: ["While it runs, reel export exports the recording to a file."],
  options,
  exitCodes: {
    ok: "stopped, and everything was being recorded",
    incomplete: "stopped while a kind was not being recorded, or the last events could not be written",
    notPermitted: "the server refuses these credentials, or all kinds that are not being recorded",
    fenced: "another recorder has taken over the stream of --archive-to",
    leaseLost: "the Lease could not be renewed in time, so that another recorder may record now",
    interrupted: "a second signal ended it at once",
  },
  environment: [
    ...clusterVariables,
    ["NO_COLOR", "the log is not coloured on a terminal; FORCE_COLOR: it is, wherever it goes"],
  ],
  examples: [
    "reel record",
    "reel record --all --except events",
    "reel record -c tracer.yml",
    "reel record -c tracer.yml --data-dir /var/lib/kubereel --log-format json",
    "reel record -c tracer.yml --namespace shop,stock --context staging",
    "reel record -c tracer.yml --data-dir /var/lib/kubereel --lease kubereel/recorder",
    "reel record -c tracer.yml --data-dir /var/lib/kubereel --archive-to s3://recordings/production",
    "reel record --data-dir /var/lib/kubereel/shard-1 --archive-to s3://recordings/huge --shard 1/4 --split pods,events",
    "reel record --listen 0.0.0.0:7777 --auth token --token-file tokens --tls-cert tls.crt --tls-key tls.key",
    "reel record -c tracer.yml --listen 0.0.0.0:7777 --auth kubernetes --allow-target s3://traces/shop",
  ],
  seeAlso: [
    "reel export",
    "reel coverage",
    "reel get",
    "reel k8s",
    "docs/reference/configuration.md",
    "docs/reference/http-api.md",
  ],
}

/** The recorder is loaded only when it runs: help and export do not need it. */
const loadRecorder = async (): Promise<RunRecorder> => (await import("./record/run-recorder.ts")).runRecorder

export const recordCommand = (load: () => Promise<RunRecorder> = loadRecorder): Command => {
  const withWords = (argv: readonly string[]): Command => recordWith(load, argv)
  return { ...withWords([]), run: (argv, terminal) => withWords(argv).run(argv, terminal) }
}

/** `argv`: what is parsed, for the recorders of shards. */
const recordWith = (load: () => Promise<RunRecorder>, argv: readonly string[]): Command =>
  command(syntax, async (given, terminal) => {
    if (given.replicasLease !== undefined) return recordShards(given, argv, terminal)
    const {
      namespace,
      verbose,
      auth,
      tokenFile,
      allowAnonymous,
      allowHost,
      allowTarget,
      allowSecrets: _,
      tlsCert: _certificate,
      tlsKey: _key,
      listen,
      ...others
    } = given
    const { maximumExportTime, maximumExportSize, retainFor, retainBytes, all, except, ...more } = others
    const {
      lease: _lease,
      leaseDuration: _duration,
      replicasLease: _replicas,
      shards: _shards,
      replicaName: _name,
      pinBefore: _before,
      pinAfter: _after,
      pinRepeat: _repeat,
      pinExportTo: _exportTo,
      archiveTo: _archiveTo,
      archiveEvery: _every,
      shard: _shard,
      split: _split,
      ...rest
    } = more
    const where = { bind: listen.host, port: listen.port }
    const access =
      kindsProblem(given) ??
      leaseProblem(given) ??
      archiveProblem(given) ??
      shardProblem(given) ??
      readAccess({ ...given, ...where })
    if (typeof access === "string") return access
    const namespaces = [...new Set(namespace)]
    const recordOptions: RecordOptions = {
      ...{
        ...rest,
        ...where,
        ...access,
        namespaces,
        verbosity: verbose,
        lease: leaseOf(given),
        archive: archiveOf(given),
        shard: shardOf(given),
      },
      ...(all && { config: { text: everyKindConfiguration(except) } }),
      limits: givenLimits(retainFor, retainBytes),
      pins: pinSettingsOf(given),
    }
    const { output, close } = createOutput(recordOptions, terminal)
    if (given.allowSecrets) output.log.warn(allowSecretsAdvice)
    const giveBack = terminal.keepInterrupts?.()
    try {
      const archive = archiveOf(given)
      if (archive !== undefined && given.shard !== undefined) makeFolderOfShard(archive.address)
      const run = await load()
      return await run(recordOptions, output)
    } finally {
      giveBack?.()
      close()
    }
  })

/** Without the version, which does not matter: `Deployment.apps=namespace`. */
const splitText = ({ kind: { group, kind }, by }: OptionValues<typeof options>["split"][number]): string =>
  [kind, ...(group === "" ? [] : [group])].join(".") + (by === "namespace" ? "=namespace" : "")

/** Options that a replica has no use for: the past is read from the streams. */
const notForReplicas = {
  ...{ lease: "--lease", shard: "--shard", tokenFile: "--token-file", auditTokenFile: "--audit-token-file" },
  ...{ tlsCert: "--tls-cert", tlsKey: "--tls-key", pinExportTo: "--pin-export-to" },
} as const

const recordShards = async (
  given: OptionValues<typeof options>,
  argv: readonly string[],
  terminal: CommandTerminal,
): Promise<ExitCode | string> => {
  const { replicasLease, leaseDuration: durationMs = defaultDurationMs, archiveTo, dataDir, allowTarget } = given
  for (const [name, option] of Object.entries(notForReplicas))
    if (given[name as keyof typeof notForReplicas] !== undefined)
      return `${option} cannot be combined with --replicas-lease, which serves health and metrics only`
  if (given.auth !== "none" || given.allowAnonymous || given.allowHost.length > 0 || allowTarget.length > 0)
    return "options of access cannot be combined with --replicas-lease, which serves health and metrics only"
  if (replicasLease === undefined || archiveTo === undefined || dataDir === undefined)
    return "--replicas-lease requires --archive-to and --data-dir: a replica that takes a shard over continues its stream"
  if (given.redactKeyFile === undefined && !given.secretsInPlainText)
    return "--replicas-lease requires --redact-key-file: with another key in each directory, a shard that moves is listed anew, with a gap"
  const problem = kindsProblem(given) ?? archiveProblem(given)
  if (problem !== undefined) return problem
  const { output, close, write } = createOutput({ logFormat: given.logFormat, verbosity: given.verbose }, terminal)
  try {
    const { runReplicas } = await import("./record/run-replicas.ts")
    const { logFormat, listen, shards, replicaName, kubeconfig, context, split } = given
    const replica = { listen, shards, replicaName, kubeconfig, context, archiveTo, dataDir }
    return await runReplicas(
      { ...replica, lease: { ...replicasLease, durationMs }, split: split.map(splitText) },
      argv,
      terminal,
      { log: output.log, write, logFormat },
    )
  } finally {
    close()
  }
}

const kindsProblem = ({
  all,
  except,
  config,
}: Pick<OptionValues<typeof options>, "all" | "except" | "config">): string | undefined => {
  if (all && config !== undefined)
    return `--all cannot be combined with --config: write "${everyKindKey}": {} below trackedObjects in the file`
  return except.length > 0 && !all ? "--except is for --all" : undefined
}

/** The log and the status line share a terminal: log lines are written above the status line. */
const createOutput = (
  { logFormat, verbosity }: Pick<RecordOptions, "logFormat" | "verbosity">,
  terminal: Terminal,
): { readonly output: RecordOutput; readonly close: () => void; readonly write: (line: string) => void } => {
  const { standardOutput, standardError, environment } = terminal
  const isEnabled = isLive(standardOutput, environment)
  const line = createLiveLine({
    stream: standardOutput,
    isEnabled,
    clock: backgroundClock,
  })
  const sink = createLogSink({
    stream: standardError,
    write: (text) => line.around(() => standardError.write(text)),
    dropped: (lines) =>
      log.warn(`${formatCount(lines, "log line")} dropped here: standard error was not read fast enough`, { lines }),
  })
  const log = createLogger({
    format: logFormat,
    level: levelOf(verbosity),
    isColoured: isColoured(standardError, environment),
    now: Date.now,
    sink: sink.write,
  })
  const showStatus = (status: RecorderStatus): void => line.show((columns) => renderStatusLine(status, columns))
  const close = (): void => {
    line.close()
    sink.close()
  }
  return { output: { log, showStatus, isLive: isEnabled }, close, write: sink.write }
}
