/**
 * `reel export --in-cluster`: reaches a recorder that runs in a cluster through the API server's service proxy. It needs only a
 * kubeconfig: no port-forward, no kubectl, no address of the recorder that is reachable from here.
 *
 * The API server consumes `Authorization` itself, so the recorder's token is sent in `Kubereel-Authorization`. The API server's
 * request limit of 60 s does not apply to proxied requests (Kubernetes 1.34 passed on a response head and a body that came after
 * 80 s), and it passes on trailers and broken connections.
 */
import type { OutgoingHttpHeaders } from "node:http"
import {
  type ApiEndpoint,
  type ApiServerRoute,
  type ApiStatus,
  causeOfCode,
  describeCause as describeConnectionCause,
  describeFailure,
  HttpClient,
  isCredentialsError,
  loadCredentials,
  type RequestFailure,
  requestOnce,
  routeTo,
  statusOfResponse,
  UnusableEndpoint,
} from "../../../kube/index.ts"
import { credentialsAdvice, isRefusedCertificate, withConnectionAdvice } from "../../../recorder/index.ts"
import { visible } from "../../../text/index.ts"
import { ExportInterrupted } from "../../../trace/index.ts"
import { NotReached } from "./export-errors.ts"
import { describeCause, headerOf, type Recorder, type Refusal, refusedByRecorder } from "./recorder-connection.ts"
import type { ServiceAddress } from "./recorder-place.ts"

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

/** A Service whose port is known. */
type ServicePort = ServiceAddress & { readonly port: string }

/** Path of the Service itself at the API server. */
const servicePath = ({ namespace, service }: ServiceAddress): string =>
  `/api/v1/namespaces/${namespace}/services/${service}`

/** Path at the API server that is proxied to `/` of the Service. */
const proxyPath = (address: ServicePort): string => `${servicePath(address)}:${address.port}/proxy`

/** Rejects with {@link NotReached}, {@link ExportInterrupted}. */
export const recorderInCluster = async (options: InClusterOptions): Promise<Recorder> => {
  const endpoint = await endpointOf(options)
  const route = usableRoute(endpoint)
  const address = { ...options.address, port: options.address.port ?? (await portOf(endpoint, options)) }
  const { server } = endpoint
  const url = route.url(`${proxyPath(address)}/export`)
  const { namespace, service, port: named } = options.address
  const name = `the recorder ${namespace}/${service}${named === undefined ? "" : `:${named}`}`
  const context = options.context === undefined ? "" : ` --context ${options.context}`
  return {
    name,
    readiness: `kubectl${context} get --raw "${proxyPath(address)}/readyz?verbose"`,
    url,
    headers: { ...route.headers, ...tokenFor(options, endpoint) },
    connect: (signal, timeoutMs) => route.connect(url, signal, timeoutMs),
    unreachable: (cause) => unreachable(server, describeCause(cause)),
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
    if (isCredentialsError(cause)) throw new NotReached({ message: cause.message, isRefused: false })
    throw cause
  }
}

const usableRoute = (endpoint: ApiEndpoint): ApiServerRoute => {
  try {
    return routeTo(endpoint)
  } catch (cause) {
    if (cause instanceof UnusableEndpoint) throw new NotReached({ message: cause.message, isRefused: false })
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
    if (outcome.tag !== "response") throw unreachable(server, describeNoAnswer(outcome))
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
  const service = `${address.namespace}/${address.service}`
  const ports = portsIn(body)
  if (ports === undefined || ports.length === 0) throw lost(server, service, "the Service has no ports", 200)
  const names = ports.map(({ name, port }) => (typeof name === "string" && name !== "" ? name : String(port)))
  const [only] = names
  if (names.length === 1 && only !== undefined) return only
  if (names.includes(usualPort)) return usualPort
  throw obstacle(
    `the Service ${service} has several ports (${visible(names.join(", "))}); name the recorder's port: --in-cluster ${service}:PORT`,
    200,
  )
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

/** `status`: of the API server's answer, if there was one. */
const obstacle = (message: string, status?: number, isRefused = false): NotReached =>
  new NotReached({ message, isRefused, ...(status !== undefined && { status }) })

/** No response from the API server, or from a proxy in front of it. `code`: of the operating system, of Node or of OpenSSL. */
const unreachable = (server: string, { code, detail }: { readonly code: string; readonly detail: string }) => {
  const prefix = `cannot reach the API server ${server}: `
  if (code === "TIMEOUT") return obstacle(`${prefix}${detail}. Try again, or allow more time with --timeout`)
  const cause = causeOfCode(code)
  if (cause === undefined)
    return obstacle(prefix + (code === "" || detail.includes(code) ? detail : `${detail} (${code})`))
  const described = describeConnectionCause(cause)
  // The text of a proxy's refusal names the proxy, that of a wrong name the right ones; the address before it is in the sentence already.
  const isTelling = cause === "proxy-refused" || cause === "other-name"
  const told = isTelling ? detail.replace(/^[^ ]+:\d+: /, "") : described
  return obstacle(prefix + withConnectionAdvice(told), undefined, isRefusedCertificate(described))
}

const lost = (server: string, service: string, detail: string, status: number): NotReached =>
  obstacle(`the export request did not reach a recorder at ${service} through ${server}: ${detail}`, status)

/** The error of an API server that did not reach the recorder. The matched texts are those of Kubernetes 1.34, unchanged for years. */
const notProxied = (
  server: string,
  { namespace, service, port }: ServicePort,
  { code, reason, message, retryAfterSeconds }: ApiStatus,
): NotReached => {
  const name = `${namespace}/${service}`
  // Another sentence follows it.
  const detail = visible(message).replace(/\.$/, "")
  if (code === 401 && reason === "Unauthorized")
    return obstacle(
      `the API server ${server} does not accept the kubeconfig's credentials: ${detail}; ${credentialsAdvice}`,
      code,
      true,
    )
  if (code === 403 && message.includes("services/proxy"))
    return obstacle(missingPermission(server, { namespace, service, port }, message), code, true)
  if (code === 404 && /^services ".*" not found$/.test(message))
    return obstacle(
      `there is no Service ${name} at ${server}. To find recorders: kubectl get services -A -l app.kubernetes.io/name=kubereel`,
      code,
    )
  if (code === 429) {
    const after = retryAfterSeconds === undefined ? "" : ` in ${retryAfterSeconds} s`
    return obstacle(`the API server ${server} is overloaded: ${detail}. Try again${after}`, code)
  }
  if (code === 503 && message.startsWith("no service port "))
    return obstacle(`the Service ${name} has no port ${port}: ${detail}`, code)
  if (code === 503 && message.startsWith("no endpoints available for service "))
    return obstacle(
      `no pod of the Service ${name} is ready on port ${port}: ${detail}. Check: kubectl -n ${namespace} get pods`,
      code,
    )
  if (code === 503 && message.startsWith("error trying to reach service"))
    return obstacle(
      `the API server ${server} cannot reach the Service ${name}: ${detail}. ${unreachedAdvice({ namespace, service, port }, detail)}`,
      code,
    )
  return lost(server, name, `status ${code}: ${detail}`, code)
}

/** The missing permission, and the rule that grants it. */
const missingPermission = (server: string, { namespace, service, port }: ServicePort, message: string): string => {
  const user = visible(/\bUser "([^"]+)" cannot /.exec(message)?.[1] ?? "")
  if (user === "system:anonymous")
    return `the API server ${server} treats the kubeconfig's user as anonymous (${user}): a token or a client certificate is missing or is not for this cluster`
  const who = user === "" ? "you" : user
  const verb = /" cannot ([a-z]+) resource /.exec(message)?.[1] ?? "create"
  const rule = `{apiGroups: [""], resources: ["services/proxy"], resourceNames: ["${service}:${port}"], verbs: ["${verb}"]}`
  return `${who} may not ${verb} services/proxy in namespace ${namespace}. A Role there, bound to ${who}, needs the rule ${rule}`
}

const unreachedAdvice = ({ namespace, service, port }: ServicePort, detail: string): string => {
  // Go's HTTP client before 1.24, in API servers before 1.33, accepts at most five 102 responses; a recorder sends one every 30 s.
  if (detail.includes("1xx"))
    return "This API server ends exports to an object store after 2.5 minutes: export less at once, or use a port-forward"
  if (detail.includes("connection refused"))
    return `Nothing listens on that port. Check the pods and their logs: kubectl -n ${namespace} get pods`
  return `A network policy or a firewall may block it. To bypass it, run "kubectl -n ${namespace} port-forward service/${service} 7777:${port}", then reel export without --in-cluster`
}
