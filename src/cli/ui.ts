/** `reel ui`: the page of a recording, in the browser of who runs the command. The parts are in src/cli/ui. */

import { isLoopback } from "../recorder/index.ts"
import { quoted, visible } from "../text/index.ts"
import { ExportInterrupted } from "../trace/index.ts"
import { type CommandSyntax, flag, type OptionValues, optional } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { listenOption } from "./command-line/listen-option.ts"
import { recorderVariables, temporaryVariables } from "./command-line/shared-options.ts"
import { placeOfOperand, placeOptions } from "./export/connection/recorder-place.ts"
import { clustersOption } from "./fleet/clusters.ts"
import { readMoment } from "./past/moments.ts"
import { faultOfPast, type OpenPast, openPast, type PastOptions } from "./past/past-places.ts"
import { interruption } from "./terminal/terminal.ts"
import { openBrowser, opener } from "./ui/open-browser.ts"
import { servePageOf } from "./ui/page-server.ts"
import { ServedClusters } from "./ui/served-clusters.ts"

const options = {
  from: optional(
    "TIME",
    "where the time line begins, such as 03:00 or -1h; a duration counts back from --to. Default: the page chooses",
  ),
  to: optional("TIME", "where it ends. Default: the end of the recording, or now"),
  at: optional("TIME", "where the cursor is"),
  listen: listenOption(0, "where the page is served, a loopback address"),
  clusters: clustersOption,
  noOpen: flag({ help: "only print the address" }),
  inCluster: placeOptions.inCluster,
  kubeconfig: placeOptions.kubeconfig,
  context: placeOptions.context,
  tokenFile: placeOptions.tokenFile,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel ui",
  summary: "Shows a recording as a page in the browser: a time line, what went wrong, every change of an object.",
  description: [
    "SOURCE is the directory of a recording, a trace, the URL of a running recorder, or an address below which there are the streams of several clusters, between which the page switches. The page is served on this machine until Ctrl-C, at an address with a secret that only who started the command knows; the browser needs no token of the recorder. Every recorder, and reel serve, has the same page at /ui/.",
    "The browser is opened by xdg-open, open or Windows, if there is a display. One that may not read temporary files, because it is confined, shows nothing then: open the address that is printed.",
  ],
  options,
  operand: {
    placeholder: "SOURCE",
    help: "a recording's directory, the address of a stream or of several (s3://BUCKET/PREFIX, gs://, azure://), a trace, or a recorder, http://…; default: http://127.0.0.1:7777",
  },
  exitCodes: {
    ok: "the page was served until Ctrl-C",
    failed: "the source cannot be read, or the address not be listened on",
    usage: "the command line is invalid, or the token cannot be read",
  },
  environment: [...recorderVariables, ...temporaryVariables],
  examples: [
    "reel ui",
    "reel ui /var/lib/kubereel --from 03:00 --to 03:15",
    "reel ui incident.ndjson.zst",
    "reel ui --in-cluster kubereel/kubereel --from -1h",
    "reel ui s3://recordings --clusters 'prod-*'",
  ],
  seeAlso: ["reel serve", "reel inspect", "docs/guides/look.md", "docs/reference/http-api.md"],
}

type Options = OptionValues<typeof options>

/** The command. `now`: µs since the Unix epoch. */
export const uiCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, [source]) => {
    const { host } = given.listen
    if (!isLoopback(host))
      return `--listen ${quoted(host)}: the page is served on this machine only; for others, open /ui/ of the recorder or of reel serve`
    if (source === "-") return "a trace on standard input cannot be shown as a page; name a file"
    if (source !== undefined && given.inCluster !== undefined)
      return `${JSON.stringify(source)} and --in-cluster each name a recording: use only one of them`
    if (source === undefined && given.clusters.length > 0) return "--clusters requires the address of the clusters"
    const past = await pastOf(given, source)
    return typeof past === "string" ? past : (faultOfPast(past) ?? show(given, [source, past], terminal, now))
  })

/** ms without a byte of a recorder, while its Service is looked for. */
const recorderSilentMs = 120_000

const pastOf = async (given: Options, source: string | undefined): Promise<PastOptions | string> => {
  const common = { ...given, server: undefined, timeout: recorderSilentMs, dataDir: [], trace: [] }
  if (source === undefined) return common
  const place = await placeOfOperand({}, source)
  if (typeof place === "string") return place
  if (place === undefined) return { ...common, trace: [source] }
  return { ...common, server: place.server, dataDir: place.dataDir === undefined ? [] : [place.dataDir] }
}

const show = async (
  given: Options,
  [source, options]: readonly [string | undefined, PastOptions],
  terminal: CommandTerminal,
  now: () => number,
): Promise<ExitCode> => {
  const { standardOutput, environment, say } = terminal
  using stop = interruption(terminal, true)
  let past: OpenPast | undefined
  try {
    const surroundings = { terminal, say, signal: stop.signal }
    await using clusters =
      source === undefined ? undefined : await ServedClusters.at(source, given.clusters, surroundings)
    if (clusters === undefined) past = await openPast(options, surroundings)
    const [place] = past?.places ?? []
    const shown = clusters ?? place
    if (shown === undefined) throw new Error("a recording that was opened is missing")
    const end = past?.end ?? now()
    await using server = await servePageOf(shown, given.listen)
    const isHere = place !== undefined && options.server === undefined && options.inCluster === undefined
    if (isHere) readAhead(server.url, end, stop.signal)
    const address = `${server.url}${permalink(given, end, say)}`
    const name = clusters?.name ?? place?.recorder.name ?? ""
    standardOutput.write(`recorded  ${visible(name)}\npage      ${address}\n\nPress Ctrl-C to stop it.\n`)
    const opens = given.noOpen ? undefined : opener(process.platform, environment)
    if (typeof opens === "string") say(`no browser was opened: ${opens}`)
    await using opening = typeof opens === "object" ? await openBrowser(address, environment, opens) : undefined
    if (opening?.failure !== undefined) say(`no browser was opened: ${opening.failure}`)
    await stop.happened
    return exitCodes.ok
  } catch (error) {
    if (error instanceof ExportInterrupted && stop.signal.aborted) return exitCodes.ok
    throw error
  } finally {
    await past?.close()
  }
}

/**
 * Has the names of all objects read while the browser starts: of 100,000 they take 300 ms, for which the page's first rows would wait. Not of a recorder, which many
 * pages may share. `moment`: µs since the Unix epoch. What fails here fails again when the page asks, and is said there.
 */
const readAhead = (page: string, moment: number, signal: AbortSignal): void => {
  const url = new URL(`../v1/lanes?from=${moment}&to=${moment}&limit=1`, page)
  fetch(url, { signal })
    .then((answer) => answer.arrayBuffer())
    .catch(() => undefined)
}

/** The part of the page's address that says what it shows. Never sent to a server. @throws Misasked */
const permalink = ({ from, to, at }: Options, moment: number, say: (line: string) => void): string => {
  const reference = { moment, say }
  const last = to === undefined ? undefined : readMoment("--to", to, reference)
  const given: ReadonlyArray<readonly [string, number | undefined]> = [
    ["from", from === undefined ? undefined : readMoment("--from", from, reference, last ?? moment)],
    ["to", last ?? (from === undefined ? undefined : moment)],
    ["at", at === undefined ? undefined : readMoment("--at", at, reference)],
  ]
  const texts = given.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return texts.length === 0 ? "" : `#${texts.join("&")}`
}
