/** `reel serve`: arguments and printing. The server is in src/serve. */
import { stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { NotARecordingError } from "../archive/index.ts"
import { systemClock } from "../clock.ts"
import type { Detect } from "../kube/index.ts"
import { formatGvk } from "../kube/offline.ts"
import { formatLocalTime } from "../local-time.ts"
import {
  bracketed,
  decodeRecorderState,
  isLoopback,
  isOwnHost,
  ListenError,
  type RecorderState,
  recorderStateKey,
} from "../recorder/index.ts"
import {
  ArchivePast,
  type AskedMoment,
  HistoryServer,
  historyKubeconfig,
  historyUser,
  JoinedPast,
  MomentRefused,
  NothingToServe,
  type Past,
  TracePast,
} from "../serve/index.ts"
import { quoted, visible } from "../text/index.ts"
import { ExportInterrupted, fileSpool, OutputFailed } from "../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  type OptionValues,
  optional,
  parseSize,
  type Reading,
  repeated,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { ambiguityOf, describeInstant, parseInstant } from "./command-line/instant.ts"
import { certificateOfRun, mayReplace } from "./command-line/kubeconfig-of-run.ts"
import { listenOption } from "./command-line/listen-option.ts"
import { mirrorVariables, storeVariables } from "./command-line/shared-options.ts"
import { directoryToRead, namesStream } from "./export/connection/directory-to-read.ts"
import { recorderAt } from "./export/connection/recorder-connection.ts"
import { recorderToken, userAgent } from "./export/connection/recorder-place.ts"
import { openSource } from "./replay/replay-source.ts"
import { parseSpeed } from "./replay/replay-values.ts"
import { RecorderPast } from "./serve/recorder-past.ts"
import { interruption } from "./terminal/terminal.ts"
import { ServedHistory } from "./ui/served-history.ts"

// What `reel serve` serves: a data directory, a running recorder, a trace in a file, a pipe or an object store.

/** What of an object can be older than the moment that is shown, where not every change of it counts. */
const unrecorded: Readonly<Record<string, ReadonlyArray<string>>> = {
  all: [],
  // Readiness is <unknown>, and a warning says so where it is.
  content: [],
  spec: ["only changes of its spec were recorded: everything else may be older"],
} satisfies Record<Detect, ReadonlyArray<string>>

interface PastSurroundings {
  /** Only of what a running recorder has. Default: everything. */
  readonly namespace?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Ends reading. */
  readonly signal: AbortSignal
  /** Takes what a person should know of a source, a line each. */
  readonly say?: (line: string) => void
}

/** One past of all sources. Rejects with NothingToServe, ArchiveError, ExportError, SpoolError and the errors of sources. */
const openPasts = async (sources: ReadonlyArray<string>, surroundings: PastSurroundings): Promise<Past> => {
  const pasts: Past[] = []
  try {
    for (const source of sources) pasts.push(await openPast(source, surroundings))
  } catch (error) {
    for (const past of pasts) past.close()
    throw error
  }
  const [only, ...others] = pasts
  return only !== undefined && others.length === 0 ? only : new JoinedPast(pasts)
}

/** Rejects with NothingToServe, ArchiveError, ExportError, SpoolError and the errors of sources. */
export const openPast = async (source: string, surroundings: PastSurroundings): Promise<Past> => {
  const recorder = recorderUrl(source)
  if (recorder !== undefined) return openRecorder(recorder, surroundings)
  const status = await stat(source).catch(() => undefined)
  if (status?.isDirectory() === true || (await namesStream(source))) return openDirectory(source, surroundings)
  const window = { from: undefined, to: undefined, duration: undefined }
  const order = { trace: source, recorder: undefined, window, format: undefined, repetitions: 1 }
  const opened = await openSource(order, surroundings)
  try {
    return await TracePast.read(opened.name, await opened.open(), () => fileSpool(tmpdir()))
  } finally {
    opened.close()
  }
}

/** `undefined`: the source is something else; traces have a path. */
const recorderUrl = (source: string): URL | undefined => {
  const url = /^https?:\/\//.test(source) ? URL.parse(source) : null
  return url !== null && url.pathname === "/" && url.search === "" ? url : undefined
}

/** ms without a byte. */
const recorderSilentMs = 120_000

const openRecorder = async (url: URL, { environment, namespace }: PastSurroundings): Promise<Past> => {
  const recorder = recorderAt(url, await recorderToken(undefined, environment), "the URL")
  const address = { recorder, idleTimeoutMs: recorderSilentMs, userAgent: userAgent() }
  return RecorderPast.open(address, { namespace, remarksOn: (detect) => unrecorded[detect] ?? [] })
}

const openDirectory = async (source: string, surroundings: PastSurroundings): Promise<Past> => {
  let decoded: RecorderState | undefined
  let text: string | undefined
  const remarksOn = (gvk: string, metadata: ReadonlyMap<string, string>): ReadonlyArray<string> => {
    const given = metadata.get(recorderStateKey) ?? ""
    if (given !== text) [text, decoded] = [given, decodeRecorderState(given)]
    return unrecorded[decoded?.kinds.find((kind) => formatGvk(kind.gvk) === gvk)?.detect ?? "all"] ?? []
  }
  const { directory, update, close } = await directoryToRead(source, surroundings)
  try {
    return ArchivePast.open(directory, { remarksOn, name: source, update, onClose: close })
  } catch (error) {
    close()
    if (!(error instanceof NotARecordingError)) throw error
    const reason = `it is a directory, but ${error.reason}; name a trace, or the data directory of a recorder`
    throw new NothingToServe({ source: directory, reason })
  }
}

// The moments that `reel serve` is asked for, on its command line and in paths.

/** µs since the Unix epoch. */
interface ServedRange {
  readonly begin: number
  readonly end: number
}

/**
 * A time as everywhere on the command line; durations and times of day count back from the end. `range`: of when the server was started, so that a
 * moment stays the same however long it runs.
 */
const readServedMoment = (text: string, { begin, end }: ServedRange): Reading<number> =>
  parseInstant(text, { now: end, before: end, start: begin })

/** The same for a path below `/at/`, with a remark if there were two such moments; a text: what is wrong with it. */
export const readMomentInPath = (text: string, range: ServedRange): AskedMoment | string => {
  const reading = readServedMoment(text, range)
  if (reading._tag === "Refused") return reading.reason
  return { time: reading.value, remark: remarkOn(text, reading.value) }
}

const remarkOn = (text: string, microseconds: number): string | undefined => {
  const ambiguity = ambiguityOf(text, microseconds)
  return ambiguity === undefined ? undefined : `${text} ${ambiguity}`
}

const options = {
  at: repeated(
    "TIME",
    "a moment: start, end, 03:12, yesterday 03:12, 2026-11-21T10:00:00Z; durations such as -10m count back from the end. The first one is that of paths without a moment; each is a context of the kubeconfig; default: end, or with --play start",
  ),
  play: flag({ help: "let time run from the first moment, and deliver the changes to watches as they happened" }),
  speed: optional("NUMBER", "with --play: recorded time for each unit of real time; default: 1", parseSpeed),
  listen: listenOption(
    8001,
    "where the API server listens; an address that other machines can reach needs --token-file",
  ),
  tokenFile: optional(
    "FILE",
    "require the token in FILE of every request, over HTTPS with a certificate made for this run; the kubeconfig has both",
  ),
  kubeconfigOut: withDefault(
    "history.kubeconfig",
    "FILE",
    "where to write a kubeconfig with a context for each moment, readable by its owner only",
  ),
  namespace: optional(
    "-n NAME",
    "of a running recorder, only what is in this namespace; needed if you may read no other",
  ),
  cache: withDefault(
    "256Mi",
    "SIZE",
    "memory for states of moments that were read; older ones are read again when they are asked for",
    parseSize,
  ),
  force: flag({ short: "f", help: "overwrite FILE even if it is not a kubeconfig of reel serve" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel serve",
  summary: "Serves a recording or a trace as a read-only API server: kubectl sees the cluster as it was.",
  description: [
    "Every moment is served at once: the path /at/TIME in a server's URL names one. What was not recorded is not there; what may be missing or outdated is said in warnings.",
  ],
  options,
  operand: {
    placeholder: "DATA-DIR | URL | TRACE",
    help: "the data directory of a recorder, which may be running; the address of a stream, s3://BUCKET/PREFIX, gs://, azure:// or a directory; the URL of a running recorder, which is shown the token in KUBEREEL_TOKEN; or a trace: a file, s3://…, or - for standard input; several are one past",
    count: 1,
    isRepeated: true,
  },
  exitCodes: {
    ok: "stopped by Ctrl-C or SIGTERM",
    failed: "the source cannot be read, the port is in use, or the file cannot be written",
    usage: "the command line is invalid, the token cannot be read, or the first moment is outside of the recording",
    notPermitted: "the recorder at URL refuses the token",
  },
  environment: [["KUBEREEL_TOKEN", "token to present to the recorder at URL"], ...storeVariables, ...mirrorVariables],
  examples: [
    "reel serve ./recording --at 03:12 --at end",
    "KUBECONFIG=history.kubeconfig kubectl --context 03:12 get pods -A",
    "kubectl --server http://127.0.0.1:8001/at/-10m get events -A",
    "reel serve ./before ./after",
    "reel serve http://127.0.0.1:7777 --at 03:12",
    "reel serve day.ndjson.zst --play --speed 10",
  ],
  seeAlso: ["reel get", "reel sandbox", "docs/guides/history.md"],
}

type Options = OptionValues<typeof options>

export const serveCommand = (): Command =>
  command(syntax, async (given, terminal, sources) => {
    const problem = await problemOf(given, sources)
    return problem ?? run(sources, given, terminal)
  })

const problemOf = async (
  { play, speed, tokenFile, kubeconfigOut, force, namespace, listen: { host } }: Options,
  sources: ReadonlyArray<string>,
): Promise<string | undefined> => {
  if (namespace !== undefined && sources.some((source) => recorderUrl(source) === undefined))
    return "--namespace is for the URL of a running recorder; a directory or a trace is served whole"
  if (speed !== undefined && !play) return "--speed needs --play"
  if (speed === "max") return "--speed max is for replays; name a number"
  if (!isLoopback(host) && tokenFile === undefined)
    return `--listen ${quoted(host)}: anyone who can reach that address could read everything; require a token with --token-file`
  if (force || (await mayReplace(kubeconfigOut, `"user": "${historyUser}"`))) return undefined
  return `${visible(kubeconfigOut)} exists and is not a kubeconfig of reel serve; name another file with --kubeconfig-out, or overwrite it with --force`
}

/** ms between the bookmarks of a watch: about the real server's. */
const bookmarkInterval = 60_000

const run = async (sources: ReadonlyArray<string>, given: Options, terminal: CommandTerminal): Promise<ExitCode> => {
  const { standardOutput, say } = terminal
  using stop = interruption(terminal, true)
  let past: Past | undefined
  try {
    past = await openPasts(sources, {
      environment: terminal.environment,
      signal: stop.signal,
      say,
      namespace: given.namespace,
    })
    const { begin, end } = past
    const [root = given.play ? "start" : "end"] = given.at
    const token = await recorderToken(given.tokenFile, {})
    const host = reachable(given.listen.host)
    const certificate = token === undefined ? undefined : certificateOfRun(host)
    await using history = await historyOf(sources, given, { terminal, say, signal: stop.signal })
    await using server = await HistoryServer.listen({
      past,
      clock: systemClock,
      readMoment: (moment) => readMomentInPath(moment, { begin, end }),
      root: { moment: root, speed: given.play ? Number(given.speed ?? 1) : undefined },
      ...given.listen,
      token,
      refuseHost: token === undefined ? rebound : undefined,
      answerPage: history && ((request, response) => void history.answer(request, response)),
      tls: certificate && { key: certificate.key, cert: certificate.certificate },
      cacheBytes: given.cache,
      bookmarkInterval,
      onTrouble: say,
    })
    const url = `${certificate === undefined ? "http" : "https"}://${bracketed(host)}:${server.port}`
    await writeFile(
      given.kubeconfigOut,
      historyKubeconfig({ server: url, contexts: contextsOf(given, root), token, authority: certificate?.authority }),
      { mode: 0o600 },
    )
    standardOutput.write(summaryOf(past, { url, root, given, hasPage: history !== undefined }))
    await stop.happened
    return exitCodes.ok
  } catch (error) {
    if (error instanceof ExportInterrupted && stop.signal.aborted) return exitCodes.ok
    throw described(error, given)
  } finally {
    past?.close()
  }
}

/** The page shows one recording, whole: neither several, nor a part, nor what cannot be read twice. */
const historyOf = async (
  [source = "", ...others]: ReadonlyArray<string>,
  { namespace }: Options,
  surroundings: ConstructorParameters<typeof ServedHistory>[1],
): Promise<ServedHistory | undefined> => {
  const status = await stat(source).catch(() => undefined)
  const isFile = status?.isDirectory() === true || status?.isFile() === true
  const isStored = isFile || recorderUrl(source) !== undefined || (await namesStream(source))
  return isStored && others.length === 0 && namespace === undefined
    ? new ServedHistory(source, surroundings)
    : undefined
}

/** Without a token, a web page whose host name was made to resolve to this machine could read everything. */
const rebound = (host: string | undefined): string | undefined =>
  isOwnHost(host, ownNames)
    ? undefined
    : `the host name ${quoted(host ?? "")} is not allowed: without --token-file only localhost and IP addresses are`

const ownNames: ReadonlySet<string> = new Set(["localhost"])

/** An address of all interfaces is reached under this one from here. */
const reachable = (bind: string): string => (bind === "0.0.0.0" ? "127.0.0.1" : bind === "::" ? "::1" : bind)

const contextsOf = ({ at, play }: Options, root: string): ReadonlyArray<{ name: string; moment?: string }> => {
  const moments = [...new Set(at.length === 0 ? [root] : at)].map((moment) => ({ name: moment, moment }))
  // Without a moment in its path, the server's time runs.
  return play ? [{ name: "play" }, ...moments] : moments
}

interface Started {
  readonly url: string
  readonly root: string
  readonly given: Options
  readonly hasPage: boolean
}

const summaryOf = (past: Past, { url, root, given, hasPage }: Started): string => {
  const now = systemClock.wallMicros()
  const [begin, end] = [past.begin, past.end].map((micros) => formatLocalTime(micros / 1000, now / 1000))
  const reading = readServedMoment(root, past)
  const moment = reading._tag === "Refused" ? root : describeInstant(reading.value, now)
  const running = given.play ? `; time runs from there, ${given.speed ?? 1} times as fast` : ""
  return [
    `recorded     ${visible(past.name)}, from ${begin} to ${end}`,
    `API server   ${url}, at ${moment}${running}`,
    `other times  ${url}/at/TIME`,
    `kubeconfig   ${visible(given.kubeconfigOut)}`,
    ...(hasPage ? [`page         ${url}/ui/`] : []),
    "",
    `  kubectl --kubeconfig ${visible(given.kubeconfigOut)} get pods -A`,
    "",
    "Press Ctrl-C to stop it.",
    "",
  ].join("\n")
}

/** What opening and listening reject with, in words; other errors stay as they are. */
const described = (error: unknown, { listen, kubeconfigOut }: Options): unknown => {
  if (error instanceof MomentRefused) return new CommandFailed(error.message, exitCodes.usage)
  const { code, syscall, path } = error as NodeJS.ErrnoException
  if (code !== undefined && path === kubeconfigOut) return new OutputFailed({ path, code })
  if (code !== undefined && (syscall === "listen" || syscall === "getaddrinfo"))
    return new ListenError({ ...listen, code })
  return error
}
