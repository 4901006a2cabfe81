/**
 * `reel export --in-cluster`: reaches a recorder that runs in a cluster through the API server's service proxy. It needs only a
 * kubeconfig: no port-forward, no kubectl, no address of the recorder that is reachable from here.
 *
 * The API server consumes `Authorization` itself, so the recorder's token is sent in `Kubereel-Authorization`. The API server's
 * request limit of 60 s does not apply to proxied requests (Kubernetes 1.34 passed on a response head and a body that came after
 * 80 s), and it passes on trailers and broken connections.
 */
import type { OutgoingHttpHeaders } from "node:http"
import { type ApiServerRoute, routeTo, UnusableEndpoint } from "../../../kube/client/export-api-server.ts"
import { loadCredentials } from "../../../kube/credentials/credentials.ts"
import { isCredentialsError } from "../../../kube/credentials/errors.ts"
import type { ApiEndpoint } from "../../../kube/endpoint.ts"
import { HttpClient } from "../../../kube/http/http-client.ts"
import { describeFailure, type RequestFailure, requestOnce } from "../../../kube/http/request-once.ts"
import { type ApiStatus, statusOfResponse } from "../../../kube/status.ts"
import { visible } from "../../../text/index.ts"
import { ExportInterrupted } from "../../../trace/files/output-errors.ts"
import { ApiServerUnreachable, CredentialsUnusable, NotProxied } from "./export-proxy-errors.ts"
import { displayed, proxyPath, type ServiceAddress, type ServicePort, servicePath } from "./export-service-address.ts"
import { describeCause, headerOf, type Recorder, type Refusal, refusedByRecorder } from "./recorder-connection.ts"

/** The name that `reel k8s` gives the recorder's port. */
const usualPort = "http"

interface InClusterOptions {
  readonly address: ServiceAddress
  /** As for `reel record`. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Presented to the recorder; `undefined`: the token of the kubeconfig's user, if any. */
  readonly token: string | undefined
  /** ms. */
  readonly idleTimeoutMs: number
  readonly userAgent: string
  readonly signal: AbortSignal
}

/** Rejects with {@link CredentialsUnusable}, {@link ApiServerUnreachable}, {@link NotProxied}, {@link ExportInterrupted}. */
export const recorderInCluster = async (options: InClusterOptions): Promise<Recorder> => {
  const endpoint = await endpointOf(options)
  const route = usableRoute(endpoint)
  const address = { ...options.address, port: options.address.port ?? (await portOf(endpoint, options)) }
  const { server } = endpoint
  const url = route.url(`${proxyPath(address)}/export`)
  const name = `the recorder ${displayed(options.address)}`
  const context = options.context === undefined ? "" : ` --context ${options.context}`
  return {
    name,
    readiness: `kubectl${context} get --raw "${proxyPath(address)}/readyz?verbose"`,
    url,
    headers: { ...route.headers, ...tokenFor(options, endpoint) },
    connect: (signal, timeoutMs) => route.connect(url, signal, timeoutMs),
    unreachable: (cause) => new ApiServerUnreachable({ server, ...describeCause(cause) }),
    refused: (refusal) =>
      headerOf(refusal, "kubereel-request-id") === undefined
        ? notProxied(server, address, statusOf(refusal))
        : refusedByRecorder(name, refusal, { 401: tokenAdvice(address) }),
  }
}

const endpointOf = async ({ kubeconfig, context, environment }: InClusterOptions): Promise<ApiEndpoint> => {
  try {
    return await (await loadCredentials({ kubeconfig, context, environment })).endpoint()
  } catch (cause) {
    if (isCredentialsError(cause)) throw new CredentialsUnusable({ reason: cause.message })
    throw cause
  }
}

const usableRoute = (endpoint: ApiEndpoint): ApiServerRoute => {
  try {
    return routeTo(endpoint)
  } catch (cause) {
    if (cause instanceof UnusableEndpoint) throw new CredentialsUnusable({ reason: cause.message })
    throw cause
  }
}

/** The kubeconfig's own token works, because a recorder with `--auth kubernetes` has the same API server review it. */
const tokenFor = ({ token }: InClusterOptions, { headers }: ApiEndpoint): OutgoingHttpHeaders => {
  const own = headers.find(([name]) => name.toLowerCase() === "authorization")?.[1]
  const shown = token === undefined ? own : `Bearer ${token}`
  return shown !== undefined && /^bearer /i.test(shown) ? { "kubereel-authorization": shown } : {}
}

const tokenAdvice = ({ namespace }: ServiceAddress): string =>
  `Set KUBEREEL_TOKEN to a token: $(kubectl -n ${namespace} create token NAME), where NAME is a ServiceAccount that may export`

/** The Service's recorder port, if it is unambiguous. A user who may not get Services gets the port name that `reel k8s` uses. */
const portOf = async (endpoint: ApiEndpoint, options: InClusterOptions): Promise<string> => {
  const { address, userAgent, signal } = options
  const { server } = endpoint
  const client = new HttpClient(endpoint, { userAgent })
  try {
    const outcome = await requestOnce(client, servicePath(address), { signal, deadlineMs: options.idleTimeoutMs })
    if (signal.aborted) throw new ExportInterrupted()
    if (outcome.tag !== "response") throw new ApiServerUnreachable({ server, ...describeNoAnswer(outcome) })
    if (outcome.status === 403) return usualPort
    if (outcome.status !== 200)
      throw notProxied(
        server,
        { ...address, port: "" },
        statusOfResponse(outcome.status, outcome.headers, outcome.body),
      )
    return choosePort(server, address, outcome.body)
  } finally {
    client.close()
  }
}

const describeNoAnswer = (failure: RequestFailure): { readonly code: string; readonly detail: string } => {
  const detail = describeFailure(failure)
  if (failure.tag === "deadline" || (failure.tag === "failed" && failure.end.tag === "timeout"))
    return { code: "TIMEOUT", detail }
  return failure.tag === "failed" && failure.end.tag === "connection"
    ? { code: failure.end.code, detail: failure.end.message }
    : { code: "", detail }
}

interface NamedPort {
  readonly name?: unknown
  readonly port?: unknown
}

const choosePort = (server: string, address: ServiceAddress, body: Buffer): string => {
  const { namespace, service } = address
  const none = { server, namespace, service, port: "", status: 0, user: "" }
  const ports = portsIn(body)
  if (ports === undefined || ports.length === 0)
    throw new NotProxied({ ...none, obstacle: "other", detail: "the Service has no ports" })
  const names = ports.map(({ name, port }) => (typeof name === "string" && name !== "" ? name : String(port)))
  const [only] = names
  if (names.length === 1 && only !== undefined) return only
  if (names.includes(usualPort)) return usualPort
  throw new NotProxied({ ...none, obstacle: "ambiguous-port", detail: visible(names.join(", ")) })
}

const portsIn = (body: Buffer): ReadonlyArray<NamedPort> | undefined => {
  try {
    const { spec } = JSON.parse(body.toString("utf8")) as { readonly spec?: { readonly ports?: unknown } }
    return Array.isArray(spec?.ports) ? (spec.ports as ReadonlyArray<NamedPort>) : []
  } catch (_error) {
    // A server that returns 200 without JSON is not an API server; the caller reports it.
    return undefined
  }
}

const statusOf = (refusal: Refusal): ApiStatus => {
  const headers = new Map(Object.keys(refusal.headers).map((name) => [name, headerOf(refusal, name) ?? ""] as const))
  return statusOfResponse(refusal.status, headers, refusal.body)
}

/** The error of an API server that did not reach the recorder. The matched texts are those of Kubernetes 1.34, unchanged for years. */
const notProxied = (server: string, address: ServicePort, status: ApiStatus): NotProxied => {
  const { namespace, service, port } = address
  const { code, message, retryAfterSeconds } = status
  return new NotProxied({
    server,
    namespace,
    service,
    port,
    obstacle: obstacleOf(status),
    status: code,
    // Another sentence follows it.
    detail: visible(message).replace(/\.$/, ""),
    user: visible(/\bUser "([^"]+)" cannot /.exec(message)?.[1] ?? ""),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

const obstacleOf = ({ code, reason, message }: ApiStatus): NotProxied["obstacle"] => {
  if (code === 401 && reason === "Unauthorized") return "unauthenticated"
  if (code === 403 && message.includes("services/proxy")) return "forbidden"
  if (code === 404 && /^services ".*" not found$/.test(message)) return "no-service"
  if (code === 429) return "overloaded"
  if (code !== 503) return "other"
  if (message.startsWith("no service port ")) return "no-port"
  if (message.startsWith("no endpoints available for service ")) return "no-endpoints"
  return message.startsWith("error trying to reach service") ? "unreached" : "other"
}
