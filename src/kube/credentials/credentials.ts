/**
 * Finds the cluster to talk to, as kubectl does: the file named, else the files of `KUBECONFIG`, else `~/.kube/config`,
 * else the pod's own service account.
 *
 * This folder is the only one that imports `@kubernetes/client-node`, and only its entry parser unless a legacy auth
 * provider asks for more.
 */
import { access } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { systemTimers, type Timers } from "../http/timers.ts"
import { ContextNotFound, KubeconfigInvalid, NoClusterConfigured, UnsupportedSetting } from "./errors.ts"
import type { CredentialClock } from "./identity.ts"
import { detectInCluster, serviceAccountDirectory } from "./in-cluster.ts"
import { readKubeconfig } from "./kubeconfig-file.ts"
import { proxyFromEnvironment } from "./proxy-environment.ts"
import { type Credentials, displayed, makeCredentials } from "./refreshed-credentials.ts"
import { selectContext } from "./select-context.ts"
import type { ContextSettings } from "./settings.ts"

export type { CredentialsError } from "./errors.ts"
export type { Credentials } from "./refreshed-credentials.ts"

type Environment = Readonly<Record<string, string | undefined>>

export interface LoadOptions {
  /** One kubeconfig file; nothing else is looked at then. */
  readonly kubeconfig?: string | undefined
  /** Default: the file's current context. */
  readonly context?: string | undefined
  /** `KUBECONFIG`, `HOME`, `HTTPS_PROXY`, …, and what plugins inherit. Default: that of the process. */
  readonly environment?: Environment
  /** Default: where kubelets mount it. */
  readonly serviceAccountDirectory?: string
  /** Default: the machine's. */
  readonly clock?: CredentialClock
  /** Default: the machine's. Only limits plugins. */
  readonly timers?: Timers
  /** ms that an exec plugin may take. Default 60,000: some wait for somebody to confirm in a browser. */
  readonly execDeadlineMs?: number
}

const systemClock: CredentialClock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() }

/** Rejects with a `CredentialsError`. Files that the context points to are read, and plugins run, by `endpoint()`. */
export const loadCredentials = async (options: LoadOptions): Promise<Credentials> => {
  const { environment = process.env, clock = systemClock, timers = systemTimers, execDeadlineMs = 60_000 } = options
  const find = await locate(options, environment)
  const context = await find(options.context)
  const server = serverUrl(context)
  const proxyOf = (settings: ContextSettings): string | undefined => proxyFor(settings, server, environment)
  // Now rather than at the first request: it is a mistake in the configuration.
  proxyOf(context)
  const reload = (): Promise<ContextSettings> => find(context.name)
  return makeCredentials(context, server.href.replace(/\/+$/, ""), {
    environment,
    clock,
    timers,
    execDeadlineMs,
    reload,
    proxyOf,
  })
}

/** Reads the settings of a context, by name or the current one. */
type Find = (context: string | undefined) => Promise<ContextSettings>

const locate = async (options: LoadOptions, environment: Environment): Promise<Find> => {
  const { kubeconfig } = options
  const fromFiles =
    (paths: ReadonlyArray<string>): Find =>
    async (context) =>
      selectContext(await readKubeconfig(paths), context)
  if (kubeconfig !== undefined) return fromFiles([kubeconfig])
  const candidates = usualPaths(environment)
  const existing: string[] = []
  for (const path of candidates) if (await isThere(path)) existing.push(path)
  if (existing.length > 0) return fromFiles(existing)
  const directory = options.serviceAccountDirectory ?? serviceAccountDirectory
  if ((await detectInCluster(environment, directory)) !== undefined) return inCluster(environment, directory)
  const looked = [...candidates, `the service account of a pod (${directory})`]
  throw new NoClusterConfigured({ looked })
}

const inCluster =
  (environment: Environment, directory: string): Find =>
  async (context) => {
    const settings = await detectInCluster(environment, directory)
    if (settings === undefined) throw new NoClusterConfigured({ looked: [directory] })
    if (context === undefined || context === settings.name) return settings
    throw new ContextNotFound({ context, existing: [settings.name], paths: [directory] })
  }

/** kubectl skips files of the list that do not exist. */
const usualPaths = (environment: Environment): ReadonlyArray<string> => {
  const listed = (environment.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "")
  if (listed.length > 0) return listed
  const home = environment.HOME || environment.USERPROFILE
  return home ? [join(home, ".kube", "config")] : []
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    // Only what is not there is skipped; what may not be read is reported when it is read.
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT" && error.code !== "ENOTDIR",
  )

const serverUrl = ({ name, cluster }: ContextSettings): URL => {
  // client-go: an address alone is https if anything is said about TLS, else http.
  const isSecure = cluster.skipTlsVerify || cluster.certificateAuthority !== undefined
  const text = cluster.server.includes("://") ? cluster.server : `${isSecure ? "https" : "http"}://${cluster.server}`
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:") || url.search !== "" || url.hash !== "") {
    const reason = `server "${displayed(cluster.server)}" of cluster "${cluster.name}" is not an http or https URL`
    throw new KubeconfigInvalid({ path: `context "${name}"`, reason })
  }
  if (url.username !== "" || url.password !== "") {
    const setting = `server of cluster "${cluster.name}"`
    throw new UnsupportedSetting({ setting, reason: "holds a user name or password; those belong to the user entry" })
  }
  return url
}

/** `proxy-url` overrides the environment, `NO_PROXY` included, as for kubectl. */
const proxyFor = ({ cluster }: ContextSettings, server: URL, environment: Environment): string | undefined => {
  const named = proxyFromEnvironment(server, environment)
  const setting = cluster.proxyUrl === undefined ? (named?.variable ?? "") : `proxy-url of cluster "${cluster.name}"`
  const text = cluster.proxyUrl ?? named?.url
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null) throw new UnsupportedSetting({ setting, reason: "is not a URL" })
  if (url.protocol === "http:") return text
  const scheme = url.protocol.replace(":", "")
  throw new UnsupportedSetting({
    setting,
    reason: `names a proxy that speaks ${scheme}; only http proxies are supported`,
  })
}
