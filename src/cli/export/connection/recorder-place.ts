/** Where a recording is: a running recorder at a URL or in a cluster, or a directory. The options for it, and how it is reached. */

import { readFile, stat } from "node:fs/promises"
import { codeOf } from "../../../trace/index.ts"
import { type OptionValues, optional, type Reading, refused, value, withDefault } from "../../command-line/arguments.ts"
import { parseDuration } from "../../command-line/instant.ts"
import { readVersion } from "../../command-line/version.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import { TokenUnreadable } from "./export-errors.ts"
import { type RecorderAddress, recorderAt } from "./recorder-connection.ts"

/** `HOST:PORT` means `http://HOST:PORT`. */
export const parseServer = (given: string): Reading<URL> => {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`)
  return url === null || !/^https?:$/.test(url.protocol) || url.hostname === ""
    ? refused("must be a URL such as http://127.0.0.1:7777")
    : value(url)
}

/** `NAMESPACE/SERVICE[:PORT]`, the Service of a recorder in a cluster. */
export interface ServiceAddress {
  readonly namespace: string
  readonly service: string
  /** Name or number of a port of the Service; `undefined`: its only port, or the one named `http`. */
  readonly port: string | undefined
}

/** RFC 1123 label: the names of namespaces, Services and their ports. None of its characters needs encoding in a path. */
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const form = new RegExp(`^(?<namespace>${label})/(?<service>${label})(?::(?<port>${label}))?$`)

export const parseServiceAddress = (given: string): Reading<ServiceAddress> => {
  const { namespace, service, port } = form.exec(given)?.groups ?? {}
  if (namespace === undefined || service === undefined)
    return refused("must be NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT, such as kubereel/kubereel")
  if (port !== undefined && /^\d+$/.test(port) && !(Number(port) >= 1 && Number(port) <= 65_535))
    return refused(`${port} is not a port number`)
  return value({ namespace, service, port })
}

export const parseTimeout = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  if (duration === undefined || duration === 0) return refused("must be a duration such as 30s or 2m")
  // Longer timers overflow in Node and fire immediately.
  return value(Math.min(Math.ceil(duration / 1000), 2 ** 31 - 1))
}

/** Where `reel record` listens by default. */
const defaultServer = "http://127.0.0.1:7777"

export const placeOptions = {
  server: optional("-s URL", `URL of the recorder; default: ${defaultServer}`, parseServer),
  dataDir: optional(
    "DIR",
    "read the recording in this directory instead, which may be a copy or belong to someone else, or the stream at s3://BUCKET/PREFIX, gs://, azure:// or in a directory; no recorder has to run, and the recording is not changed",
  ),
  inCluster: optional(
    "NAMESPACE/SERVICE",
    "ask the recorder behind this Service, through the API server of a kubeconfig. Write SERVICE:PORT for a port other than http",
    parseServiceAddress,
  ),
  kubeconfig: optional(
    "FILE",
    "for --in-cluster: kubeconfig of the cluster; default: KUBECONFIG, ~/.kube/config or, in a pod, its service account",
  ),
  context: optional("NAME", "for --in-cluster: context of the kubeconfig; default: its current context"),
  tokenFile: optional(
    "FILE",
    "token to present to the recorder; default: the value of KUBEREEL_TOKEN or, with --in-cluster, the token of the kubeconfig's user",
  ),
  timeout: withDefault("2m", "DURATION", "abort if no data arrives from the recorder for this long", parseTimeout),
}

export type PlaceOptions = OptionValues<typeof placeOptions>

/** Rejects two places, and options that have no meaning for the given one. */
export const faultOfPlace = ({
  server,
  dataDir,
  inCluster,
  kubeconfig,
  context,
  tokenFile,
}: PlaceOptions): string | undefined => {
  const places = [
    ...(server === undefined ? [] : ["--server"]),
    ...(dataDir === undefined ? [] : ["--data-dir"]),
    ...(inCluster === undefined ? [] : ["--in-cluster"]),
  ]
  if (places.length > 1) return `${places.join(" and ")} each name a recording: use only one of them`
  if (dataDir !== undefined && tokenFile !== undefined)
    return "--token-file is for a recorder: --data-dir needs no token"
  const idle = kubeconfig !== undefined ? "--kubeconfig" : context !== undefined ? "--context" : undefined
  return idle === undefined || inCluster !== undefined ? undefined : `${idle} requires --in-cluster NAMESPACE/SERVICE`
}

/** Those options with what an operand names: the URL of a recorder, a directory, or a stream. `undefined`: it names something else, such as a trace; a text says what is wrong with it. */
export const placeOfOperand = async <Given extends object>(
  given: Given,
  operand: string,
): Promise<(Given & { readonly server?: URL; readonly dataDir?: string }) | string | undefined> => {
  if (/^https?:\/\//i.test(operand)) {
    const server = parseServer(operand)
    return server._tag === "Refused"
      ? `${JSON.stringify(operand)}: ${server.reason}`
      : { ...given, server: server.value }
  }
  if (operand === "-") return undefined
  const { namesStream } = await import("./directory-to-read.ts")
  if (await namesStream(operand)) return { ...given, dataDir: operand }
  // What else is wrong with it is reported when it is opened.
  const isDirectory = await stat(operand).then(
    (status) => status.isDirectory(),
    () => false,
  )
  return isDirectory ? { ...given, dataDir: operand } : undefined
}

/** A recording that can be asked. Close it afterwards. */
export interface OpenPlace extends RecorderAddress {
  /** The data directory that is read; absent: a recorder is asked. */
  readonly directory?: string
  readonly close: () => Promise<void>
}

/** As which commands present themselves to recorders. */
export const userAgent = (): string => `kubereel/${readVersion()}`

/** Rejects with an ExportError. */
export const openPlace = async (
  options: PlaceOptions,
  { environment }: Pick<Terminal, "environment">,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<OpenPlace> => {
  const { dataDir, inCluster: address, server, timeout: idleTimeoutMs } = options
  const common = { idleTimeoutMs, userAgent: userAgent() }
  const nothing = async (): Promise<void> => undefined
  // What reads a directory, and kubeconfigs, is loaded only when it is needed.
  if (dataDir !== undefined) {
    const { recorderInDirectory } = await import("./recorder-in-directory.ts")
    return {
      ...common,
      idleTimeoutMs: undefined,
      ...(await recorderInDirectory(dataDir, { environment, say, signal })),
    }
  }
  const token = await recorderToken(options.tokenFile, environment)
  if (address === undefined)
    return { ...common, recorder: recorderAt(server ?? new URL(defaultServer), token), close: nothing }
  const { recorderInCluster } = await import("./export-in-cluster.ts")
  const recorder = await recorderInCluster({ ...options, ...common, address, environment, token, signal })
  return { ...common, recorder, close: nothing }
}

// The token that a command presents to a recorder: from a file or from KUBEREEL_TOKEN. Never from the command line, which every
// user of the machine can read.

const tokenVariable = "KUBEREEL_TOKEN"

/** `undefined` if there is none: by default, a recorder on this machine needs no token. Rejects with {@link TokenUnreadable}. */
export const recorderToken = async (
  file: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> => {
  const place = file ?? tokenVariable
  const given = file === undefined ? environment[tokenVariable] : await contentOf(file)
  if (given === undefined || (file === undefined && given === "")) return undefined
  // The recorder's own token file may contain several tokens, the newest first.
  const token = given.trim().split(/\s+/)[0] ?? ""
  if (token === "") throw new TokenUnreadable({ place, reason: "it is empty" })
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TokenUnreadable({ place, reason: "it contains characters that are not allowed in a token" })
  return token
}

const contentOf = (path: string): Promise<string> =>
  readFile(path, "utf8").catch((cause: unknown) => {
    throw new TokenUnreadable({ place: path, reason: reasonOf(codeOf(cause)) })
  })

const reasonOf = (code: string): string =>
  code === "ENOENT" ? "file not found" : code === "EACCES" ? "permission denied" : `reading failed (${code})`
