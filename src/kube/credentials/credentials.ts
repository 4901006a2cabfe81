/**
 * Finds the cluster to connect to, as kubectl does: the given file, `KUBECONFIG`, `~/.kube/config`, the pod's own
 * service account. Only this folder imports `@kubernetes/client-node`: its parser of entries, and legacy auth
 * providers.
 */
import { access, readFile } from "node:fs/promises"
import { BlockList, isIP, isIPv6 } from "node:net"
import { delimiter, join } from "node:path"
import { backgroundClock, systemClock, type Timers } from "../../clock.ts"
import { ContextNotFound, KubeconfigInvalid, NoClusterConfigured, UnsupportedSetting } from "./errors.ts"
import type { CredentialClock } from "./identity.ts"
import { type Credentials, displayed, makeCredentials } from "./refreshed-credentials.ts"
import { type ContextSettings, noImpersonation, readKubeconfig, selectContext } from "./select-context.ts"

// The proxy that the environment names for a server: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, or the same in lower case,
// interpreted like Go's `golang.org/x/net/http/httpproxy`, so that settings that work for kubectl work here.

/** The proxy and the variable that names it; `undefined` for a direct connection. */
export const proxyFromEnvironment = (
  server: URL,
  environment: Environment,
): { readonly variable: string; readonly url: string } | undefined => {
  const names = server.protocol === "https:" ? ["HTTPS_PROXY", "https_proxy"] : ["HTTP_PROXY", "http_proxy"]
  const variable = names.find((name) => environment[name])
  const value = variable === undefined ? undefined : environment[variable]
  if (variable === undefined || value === undefined || isExempt(server, environment)) return undefined
  return { variable, url: value.includes("://") ? value : `http://${value}` }
}

const isExempt = (server: URL, environment: Environment): boolean => {
  const host = server.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase()
  const port = server.port || (server.protocol === "https:" ? "443" : "80")
  // A proxy would connect to its own "localhost".
  if (host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))) return true
  const list = environment.NO_PROXY || environment.no_proxy || ""
  return list.split(",").some((entry) => matches(entry.trim().toLowerCase(), host, port))
}

const matches = (entry: string, host: string, port: string): boolean => {
  if (entry === "") return false
  if (entry === "*") return true
  if (entry.includes("/")) return isInNetwork(entry, host)
  const [name, entryPort] = splitPort(entry)
  if (entryPort !== undefined && entryPort !== port) return false
  if (isIP(name) !== 0 || isIP(host) !== 0) return name === host
  // `example.com` matches itself and its subdomains; `.example.com` and `*.example.com` match only subdomains.
  const suffix = name.replace(/^\*(?=\.)/, "")
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`)
}

/** `host`, `host:port`, `::1`, `[::1]:port`. */
const splitPort = (entry: string): readonly [name: string, port: string | undefined] => {
  if (isIP(entry) === 6) return [entry, undefined]
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? []
  return [bracketed ?? plain ?? entry, port]
}

const isInNetwork = (entry: string, host: string): boolean => {
  const [network = "", length = ""] = entry.split("/")
  const family = isIP(network)
  const bits = Number(length)
  if (family === 0 || isIP(host) !== family || !/^\d+$/.test(length) || bits > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  list.addSubnet(network, bits, family === 4 ? "ipv4" : "ipv6")
  return list.check(host, family === 4 ? "ipv4" : "ipv6")
}

// The credentials of a pod: the address is in its environment, token and certificate authority are in files that the kubelet renews.

/** Where the kubelet mounts them, fixed by Kubernetes. */
const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

/** The settings if this is a pod with a service account; `undefined` otherwise. Never rejects. */
const detectInCluster = async (
  environment: Readonly<Record<string, string | undefined>>,
  directory: string,
): Promise<ContextSettings | undefined> => {
  const host = environment.KUBERNETES_SERVICE_HOST
  const port = environment.KUBERNETES_SERVICE_PORT
  if (!host || !port) return undefined
  const tokenFile = join(directory, "token")
  const hasToken = await access(tokenFile).then(
    () => true,
    () => false,
  )
  if (!hasToken) return undefined
  const namespace = await readFile(join(directory, "namespace"), "utf8").catch(() => "")
  return {
    name: "in-cluster",
    cluster: {
      name: "in-cluster",
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      certificateAuthority: { tag: "file", path: join(directory, "ca.crt") },
      skipTlsVerify: false,
      tlsServerName: undefined,
      disableCompression: true,
      proxyUrl: undefined,
      execConfig: undefined,
    },
    user: {
      name: "service account",
      identification: { tag: "token-file", path: tokenFile },
      clientCertificate: undefined,
      impersonation: noImpersonation,
    },
    namespace: namespace.trim() || "default",
  }
}

export type { Credentials } from "./refreshed-credentials.ts"

type Environment = Readonly<Record<string, string | undefined>>

export interface LoadOptions {
  /** One kubeconfig file; if given, no other place is searched. */
  readonly kubeconfig?: string | undefined
  /** Default: the file's current context. */
  readonly context?: string | undefined
  /** `KUBECONFIG`, `HOME`, `HTTPS_PROXY`, …, also inherited by plugins. Default: the environment of the process. */
  readonly environment?: Environment
  /** Default: where the kubelet mounts it. */
  readonly serviceAccountDirectory?: string
  /** Default: the system clock. */
  readonly clock?: CredentialClock
  /** Used only for the deadline of plugins. Default: the system's. */
  readonly timers?: Timers
  /** ms that an exec plugin may take. Default 60,000: some wait for the user to confirm in a browser. */
  readonly execDeadlineMs?: number
}

/** Rejects with a `CredentialsError`. Files that the context references are read, and plugins run, by `endpoint()`. */
export const loadCredentials = async (options: LoadOptions): Promise<Credentials> => {
  const { environment = process.env, clock = systemClock, timers = backgroundClock, execDeadlineMs = 60_000 } = options
  const find = await locate(options, environment)
  const context = await find(options.context)
  const server = serverUrl(context)
  const proxyOf = (settings: ContextSettings): string | undefined => proxyFor(settings, server, environment)
  // Checked now rather than at the first request, because an invalid proxy is a mistake in the configuration.
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
  const looked = [...candidates, `the pod's service account (${directory})`]
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

/** Like kubectl, skips listed files that do not exist. */
const usualPaths = (environment: Environment): ReadonlyArray<string> => {
  const listed = (environment.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "")
  if (listed.length > 0) return listed
  const home = environment.HOME || environment.USERPROFILE
  return home ? [join(home, ".kube", "config")] : []
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    // Only missing files are skipped; unreadable ones are reported when they are read.
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT" && error.code !== "ENOTDIR",
  )

const serverUrl = ({ name, cluster }: ContextSettings): URL => {
  // As in client-go, an address without scheme means https if there are TLS settings, else http.
  const isSecure = cluster.skipTlsVerify || cluster.certificateAuthority !== undefined
  const text = cluster.server.includes("://") ? cluster.server : `${isSecure ? "https" : "http"}://${cluster.server}`
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:") || url.search !== "" || url.hash !== "") {
    const reason = `server "${displayed(cluster.server)}" of cluster "${cluster.name}" is not an http or https URL`
    throw new KubeconfigInvalid({ path: `context "${name}"`, reason })
  }
  if (url.username !== "" || url.password !== "") {
    const setting = `server of cluster "${cluster.name}"`
    throw new UnsupportedSetting({ setting, reason: "contains a user name or password; put those into the user entry" })
  }
  return url
}

/** `proxy-url` overrides the environment, including `NO_PROXY`, as in kubectl. */
const proxyFor = ({ cluster }: ContextSettings, server: URL, environment: Environment): string | undefined => {
  const named = proxyFromEnvironment(server, environment)
  const setting = cluster.proxyUrl === undefined ? (named?.variable ?? "") : `proxy-url of cluster "${cluster.name}"`
  const text = cluster.proxyUrl ?? named?.url
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null) throw new UnsupportedSetting({ setting, reason: "is not a URL" })
  if (url.protocol === "http:" || url.protocol === "socks5:" || url.protocol === "socks5h:") return text
  const scheme = url.protocol.replace(":", "")
  throw new UnsupportedSetting({
    setting,
    reason: `names a ${scheme} proxy; only http and socks5 proxies are supported`,
  })
}
