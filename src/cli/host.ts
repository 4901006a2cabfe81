/** `reel host`: arguments, and the parts of a host put together. */

import { readdir } from "node:fs/promises"
import { systemClock } from "../clock.ts"
import {
  AccessReviewer,
  AdmissionServer,
  codeOf,
  ModuleDirectory,
  type ModuleFile,
  ModuleHost,
  startHostThread,
  TokenSource,
  WatchAccess,
  type WebhookAddress,
} from "../host/index.ts"
import {
  ApiClient,
  type EndpointSource,
  loadCredentials,
  parseDuration,
  ResourceFinder,
  Reviews,
} from "../kube/index.ts"
import { messageOf } from "../message-of.ts"
import { visible } from "../text/index.ts"
import {
  type CommandSyntax,
  flag,
  integerBetween,
  type OptionValues,
  oneOf,
  optional,
  type Reading,
  refused,
  repeated,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { listenOption } from "./command-line/listen-option.ts"
import { type Condition, serveHost } from "./command-line/listening-server.ts"
import { expectAccepted } from "./command-line/refused-credentials.ts"
import { clusterOptions, clusterVariables, logFormatOption } from "./command-line/shared-options.ts"
import { readVersion } from "./command-line/version.ts"
import { parseAddress, webhookAddressOf } from "./command-line/webhook-address.ts"
import { hostMetrics } from "./host/host-metrics.ts"
import { HostModules } from "./host/host-modules.ts"
import type { MadeKind } from "./host-replay.ts"
import { parseMoment, parseSpeed } from "./replay/replay-values.ts"
import { createLogger, type LogFormat } from "./terminal/log.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

// What a host tells on standard error: safe for terminals, and readable although an error may have a stack.

/** The text after `prefix`. Its further lines are indented, so that what a module throws cannot pass for a line of the host. */
const toldLines = (prefix: string, text: string): string =>
  text
    .split("\n")
    .map((line, index) => `${index === 0 ? prefix : "  "}${visible(line)}\n`)
    .join("")

/** What a host tells: itself and about a module on standard error, the lines of modules on standard output. */
const voices = (format: LogFormat, { standardOutput, standardError }: Terminal) => {
  if (format === "text")
    return {
      say: (text: string): void => void standardError.write(toldLines(`${syntax.name}: `, text)),
      warn: (text: string): void => void standardError.write(toldLines(`${syntax.name}: `, text)),
      note: (subject: string, note: string): void =>
        void standardError.write(toldLines(`${syntax.name}: `, `${subject}: ${note}`)),
      line: (module: string, text: string): void => void standardOutput.write(`${module}: ${visible(text)}\n`),
    }
  const [log, lines] = [standardError, standardOutput].map((stream) =>
    createLogger({ format, level: "info", now: Date.now, sink: (line) => void stream.write(line) }),
  )
  return {
    say: (text: string): void => log?.info(text),
    warn: (text: string): void => log?.warn(text),
    note: (module: string, note: string): void => log?.warn(note, { module }),
    line: (module: string, text: string): void => lines?.info(text, { module }),
  }
}

/** ms. */
const duration = (given: string): Reading<number> => {
  const ms = parseDuration(given)
  return ms === undefined ? refused("must be a duration such as 5ms or 30s") : value(ms)
}

const madeKind = (given: string): Reading<MadeKind> => {
  const [owner = "", kind = "", ...more] = given.split("=")
  if (owner === "" || kind === "" || more.length > 0)
    return refused("must be OWNER=KIND, such as slinky.dev/v1.SimplePod=pod")
  return value({ owner, kind })
}

const restartAt = (given: string): Reading<number | "every-write"> =>
  given === "every-write" ? value(given) : integerBetween(1, 1_000_000)(given)

const options = {
  replay: optional(
    "TRACE|DIRECTORY",
    "feed this trace, the data directory of a recorder, or the stream at an address to the modules instead of a cluster, and print what they did; - is standard input",
  ),
  from: optional("TIME", "with --replay: the first moment; default: the start of the trace", parseMoment("start")),
  to: optional(
    "TIME",
    "with --replay: the moment at which it ends, exclusive; default: the end of the trace",
    parseMoment("end"),
  ),
  speed: withDefault(
    "max",
    "NUMBER",
    "with --replay: how many times faster than recorded; max: without waiting",
    parseSpeed,
  ),
  latency: withDefault(
    "0s",
    "DURATION",
    "with --replay: time of the recording that each request of a module takes",
    duration,
  ),
  settle: withDefault(
    "0s",
    "DURATION",
    "with --replay: time that passes after the end of the trace, for retries and delays",
    duration,
  ),
  makes: repeated(
    "OWNER=KIND",
    "with --replay: WebAssembly modules make objects of KIND for those of OWNER, so what is recorded of them is not fed; scripts say it themselves",
    madeKind,
  ),
  "feed-deletions": flag({
    help: "with --replay: feed deletions of what modules make as long as its owner is there, as those of people are; by default they are taken for the modules' own, and named",
  }),
  journal: optional("FILE", "with --replay: write what happened, step by step, as NDJSON; the file must not exist"),
  expect: optional(
    "FILE",
    "with --replay: what has to be there at the end and to hold after every step, as YAML (docs/reference/rehearsal.md#expectations)",
  ),
  "restart-at": optional(
    "every-write|N",
    "with --replay: end all modules after their Nth write, or after each in a rehearsal of its own, start them again one change later, and compare what is reached",
    restartAt,
  ),
  seeds: withDefault(
    "0",
    "NUMBER",
    "with --replay: so many more rehearsals, in which restarts, conflicts, lost answers, races, silent watches and late timers disturb the modules",
    integerBetween(0, 100_000),
  ),
  seed: repeated("SEED", "with --replay: one of these, by its number or by the text that a failure has named"),
  output: withDefault("text", "-o FORMAT", "with --replay: text for people, json for programs", oneOf("text", "json")),
  junit: optional("FILE", "with --replay: write a report for CI servers as JUnit's XML; an existing file is replaced"),
  ...clusterOptions,
  logFormat: logFormatOption,
  listen: listenOption(7790, "where /healthz, /readyz and /metrics are served"),
  "webhook-address": optional(
    "HOST:PORT",
    "where the API server reaches this process, for scripts that validate, mutate or convert, which are refused without it; NAME.NAMESPACE.svc:PORT: a Service in front of its pods, which share a certificate in the Secret NAME-webhooks",
    parseAddress,
  ),
  workers: withDefault("2", "NUMBER", "threads that WebAssembly modules share", integerBetween(1, 64)),
  "state-directory": optional(
    "DIRECTORY",
    "where modules with checkpoint: true keep what they know, so that they miss no deletion while the host is down; they are refused without it. For one host at a time",
  ),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel host",
  summary: "Runs the controllers of a directory in one process with shared watches.",
  description: [
    "DIRECTORY has a NAME.yaml for each module, beside its NAME.wasm, NAME.ts or NAME.js; files that are added, changed and removed take effect at once. " +
      "docs/reference/modules.md describes the files.",
  ],
  options,
  operand: { placeholder: "DIRECTORY", help: "the modules", count: 1 },
  exitCodes: {
    failed:
      "DIRECTORY cannot be read, there is no usable kubeconfig, or an address cannot be listened on; with --replay: a file was refused, a module trapped, the last run for some object failed, or what was reached differs from what was recorded or expected",
    notPermitted: "the server refuses the credentials at the start",
    interrupted: "with --replay: Ctrl-C",
  },
  environment: clusterVariables,
  examples: [
    "reel host modules",
    "reel host modules --kubeconfig sandbox.kubeconfig --workers 4",
    "reel host modules --replay production.ndjson.zst --journal journal.ndjson",
    "reel host modules --replay production.ndjson.zst --expect expected.yaml --restart-at every-write --seeds 100 --junit report.xml",
  ],
  seeAlso: ["reel k8s", "docs/guides/controllers.md", "docs/reference/modules.md", "docs/reference/rehearsal.md"],
}

/** `loadReplay`: what `--replay` needs, which is loaded for it only: a host in production needs no sandbox (26 MB). */
export const hostCommand = (
  loadReplay: () => Promise<Pick<typeof import("./host-replay.ts"), "replayHost">>,
): Command =>
  command(syntax, async (given, terminal, [directory = ""]) => {
    const problem = wrongCombination(given)
    if (problem !== undefined) return problem
    const { replay: trace, latency: latencyMs, settle: settleMs, ...others } = given
    if (trace === undefined) return run(given, terminal, directory)
    const { replayHost } = await loadReplay()
    const { say } = voices("text", terminal)
    const { "restart-at": restartAt, "feed-deletions": feedsDeletions, seeds: count, seed } = others
    const seeds = [...Array.from({ length: count }, (_, index) => String(index + 1)), ...seed]
    return replayHost(
      { ...others, directory, trace, latencyMs, settleMs, feedsDeletions, restartAt, seeds },
      terminal,
      say,
    )
  })

/** Checks that involve more than one option. */
const wrongCombination = (given: OptionValues<typeof options>): string | undefined => {
  if (given.replay !== undefined) {
    const live = (["kubeconfig", "context", "webhook-address", "state-directory"] as const).find(
      (name) => given[name] !== undefined,
    )
    if (live !== undefined) return `--replay excludes --${live}: there is no cluster`
    return given.logFormat === "text" ? undefined : "--replay excludes --log-format; -o json makes a document of it"
  }
  const needing = (["from", "to", "journal", "expect", "junit", "restart-at"] as const).find(
    (name) => given[name] !== undefined,
  )
  if (needing !== undefined) return `--${needing} needs --replay`
  if (given.makes.length > 0) return "--makes needs --replay"
  if (given.seeds + given.seed.length > 0) return "--seeds and --seed need --replay"
  if (given.latency > 0 || given.settle > 0) return "--latency and --settle need --replay"
  if (given["feed-deletions"]) return "--feed-deletions needs --replay"
  if (given.output !== "text") return "--output needs --replay"
  return given.speed === "max" ? undefined : "--speed needs --replay"
}

const run = async (given: OptionValues<typeof options>, terminal: Terminal, directory: string): Promise<ExitCode> => {
  const { say, warn, note, line } = voices(given.logFormat, terminal)
  using stop = interruption(terminal, true)
  const unreadable = await readdir(directory).then(() => undefined, codeOf)
  if (unreadable !== undefined) throw new CommandFailed(`cannot read the modules of ${directory}: ${unreadable}`)
  const credentials = await loadCredentials({ kubeconfig: given.kubeconfig, context: given.context })
  const version = readVersion()
  const userAgent = `kubereel/${version}`
  await expectAccepted(credentials, userAgent)
  const client = new ApiClient({ server: credentials, userAgent })
  using _client = { [Symbol.dispose]: () => client.close() }
  const identityOf = identities(credentials, client, say)
  const reviewer = new AccessReviewer({
    reviews: new Reviews(credentials, userAgent),
    clock: systemClock,
    onTrouble: (problem) => problem !== undefined && say(problem.message),
  })
  const access = new WatchAccess({ reviewer, finder: new ResourceFinder(client.connection), clock: systemClock })
  const address = webhooksOf(given)
  await using webhooks =
    address &&
    (await AdmissionServer.start({
      ...{ client, clock: systemClock, address, trouble: say },
      answer: (module, terms, call, request) => host.scripts.review(module, terms, call, request),
    }).catch((error: unknown) => {
      throw new CommandFailed(`webhooks cannot be served at port ${address.listen.port}: ${messageOf(error)}`)
    }))
  await using host: ModuleHost = new ModuleHost({
    endpoints: credentials,
    identityOf,
    version,
    start: startHostThread,
    clock: systemClock,
    random: Math.random,
    workers: given.workers,
    stateDirectory: given["state-directory"],
    webhooks,
    checkWatch: (account, request) => access.check(account, request),
    onLog: (module, _stream, text) => line(module, text),
    onNote: note,
  })
  using modules = new HostModules({ host, clock: systemClock, webhooks, say, warn })
  const conditions = (): ReadonlyArray<Condition> => [
    ...Object.entries(host.states).map(([name, state]) => ({ name, isMet: state === "running", detail: state })),
    {
      name: "modules",
      isMet: modules.isLoaded,
      detail: modules.isLoaded ? `started, ${modules.refused} refused` : "not started yet",
    },
    ...(webhooks?.missing ?? []).map((name) => ({
      name: `webhooks of ${name}`,
      isMet: false,
      detail: "not registered",
    })),
  ]
  const metrics = async () => {
    const [statuses, requests, scripts, hub] = await Promise.all([
      host.statistics(),
      host.requestStatistics(),
      host.scripts.statistics(),
      host.hubStatistics(),
    ])
    return hostMetrics({
      modules: statuses,
      workers: host.workers(),
      requests,
      scripts,
      hub,
      refused: modules.refused,
    })
  }
  await using server = await serveHost(given.listen, { conditions, metrics })
  say(`modules of ${directory}; metrics: ${server.url}/metrics`)
  using followed = new ModuleDirectory({
    directory,
    clock: systemClock,
    changed: (changes) => void modules.apply(changes),
  })
  await followed.start()
  await stop.happened
  say("ending")
  // While the scripts are there that answer.
  await webhooks?.[Symbol.asyncDispose]()
  return exitCodes.ok
}

/** In a cluster, names of what is registered begin with that of the Service: a second host has another one. */
const webhooksOf = ({ listen, "webhook-address": given }: OptionValues<typeof options>): WebhookAddress | undefined => {
  const [, name, namespace] = /^([^.]+)\.([^.]+)\.svc$/.exec(given?.host ?? "") ?? []
  if (given === undefined || name === undefined || namespace === undefined) return given && webhookAddressOf(given)
  const { host, port } = given
  return { host, listen: { address: listen.host, port }, service: { namespace, name, port }, prefix: name }
}

/** The credentials of each module: its own ServiceAccount's, one source for all modules that share it, or the host's. */
const identities = (host: EndpointSource, client: ApiClient, say: (line: string) => void) => {
  const sources = new Map<string, EndpointSource>()
  return ({ serviceAccount: account }: ModuleFile): EndpointSource => {
    if (account === undefined) return host
    const key = `${account.namespace}/${account.name}`
    const source =
      sources.get(key) ??
      new TokenSource({
        account,
        host,
        client,
        clock: systemClock,
        random: Math.random,
        onTrouble: (problem) => problem !== undefined && say(problem.message),
      })
    sources.set(key, source)
    return source
  }
}
