/**
 * Errors of an export through an API server that never reached the recorder: because of the kubeconfig, the API server itself,
 * or its service proxy. Each message names the next step; none contains a token.
 */
import * as Schema from "effect/Schema"
import { causeOfCode, describeCause } from "../../../kube/http/connection-causes.ts"
import {
  credentialsAdvice,
  isRefusedCertificate,
  withConnectionAdvice,
} from "../../../recorder/status/trouble-advice.ts"

/** The kubeconfig cannot be used; the message is that of `src/kube/credentials`. */
export class CredentialsUnusable extends Schema.TaggedError<CredentialsUnusable>()("CredentialsUnusable", {
  reason: Schema.String,
}) {
  override get message(): string {
    return this.reason
  }
}

/** No response from the API server, or from a proxy in front of it. */
export class ApiServerUnreachable extends Schema.TaggedError<ApiServerUnreachable>()("ApiServerUnreachable", {
  /** Without credentials. */
  server: Schema.String,
  /** Code of the operating system, of Node or of OpenSSL. */
  code: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `cannot reach the API server ${this.server}: ${unreachableAdvice(this.code, this.detail)}`
  }

  /** The server refused the client certificate. */
  get isRefused(): boolean {
    const cause = causeOfCode(this.code)
    return cause !== undefined && isRefusedCertificate(describeCause(cause))
  }
}

const unreachableAdvice = (code: string, detail: string): string => {
  if (code === "TIMEOUT") return `${detail}. Try again, or allow more time with --timeout`
  const cause = causeOfCode(code)
  if (cause === undefined) return code === "" || detail.includes(code) ? detail : `${detail} (${code})`
  // The text of a proxy's refusal names the proxy, that of a wrong name the right ones; the address before it is in the sentence already.
  const isTelling = cause === "proxy-refused" || cause === "other-name"
  return withConnectionAdvice(isTelling ? detail.replace(/^[^ ]+:\d+: /, "") : describeCause(cause))
}

/** Why the API server responded instead of the recorder. */
const Obstacle = Schema.Literals([
  "unauthenticated",
  "forbidden",
  "no-service",
  "ambiguous-port",
  "no-port",
  "no-endpoints",
  "unreached",
  "overloaded",
  "other",
])

/** The API server did not pass the request on. The exit code is 4 for `unauthenticated` and `forbidden`, otherwise 1. */
export class NotProxied extends Schema.TaggedError<NotProxied>()("NotProxied", {
  server: Schema.String,
  namespace: Schema.String,
  service: Schema.String,
  /** Empty while it is not known. */
  port: Schema.String,
  obstacle: Obstacle,
  /** HTTP status of the API server's response; 0 if none was needed. */
  status: Schema.Number,
  /** The API server's message: one line of at most 500 characters. */
  detail: Schema.String,
  /** The user that the API server refused; empty if its message does not name one. */
  user: Schema.String,
  retryAfterSeconds: Schema.optionalKey(Schema.Number),
}) {
  override get message(): string {
    return describeObstacle(this)
  }
}

const describeObstacle = (error: NotProxied): string => {
  const { namespace, service, port, server, detail, status } = error
  const name = `${namespace}/${service}`
  switch (error.obstacle) {
    case "unauthenticated":
      return `the API server ${server} does not accept the kubeconfig's credentials: ${detail}; ${credentialsAdvice}`
    case "forbidden":
      return missingPermission(error)
    case "no-service":
      return `there is no Service ${name} at ${server}. To find recorders: kubectl get services -A -l app.kubernetes.io/name=kubereel`
    case "ambiguous-port":
      return `the Service ${name} has several ports (${detail}); name the recorder's port: --in-cluster ${name}:PORT`
    case "no-port":
      return `the Service ${name} has no port ${port}: ${detail}`
    case "no-endpoints":
      return `no pod of the Service ${name} is ready on port ${port}: ${detail}. Check: kubectl -n ${namespace} get pods`
    case "unreached":
      return `the API server ${server} cannot reach the Service ${name}: ${detail}. ${unreachedAdvice(error)}`
    case "overloaded": {
      const after = error.retryAfterSeconds === undefined ? "" : ` in ${error.retryAfterSeconds} s`
      return `the API server ${server} is overloaded: ${detail}. Try again${after}`
    }
    case "other":
      return `the export request did not reach a recorder at ${name} through ${server}: ${status === 0 ? "" : `status ${status}: `}${detail}`
  }
}

/** The missing permission, and the rule that grants it. */
const missingPermission = ({ namespace, service, port, user, server }: NotProxied): string => {
  if (user === "system:anonymous")
    return `the API server ${server} treats the kubeconfig's user as anonymous (${user}): a token or a client certificate is missing or is not for this cluster`
  const who = user === "" ? "you" : user
  const rule = `{apiGroups: [""], resources: ["services/proxy"], resourceNames: ["${service}:${port}"], verbs: ["create"]}`
  return `${who} may not create services/proxy in namespace ${namespace}. A Role there, bound to ${who}, needs the rule ${rule}`
}

const unreachedAdvice = ({ namespace, service, port, detail }: NotProxied): string => {
  // Go's HTTP client before 1.24, in API servers before 1.33, accepts at most five 102 responses; a recorder sends one every 30 s.
  if (detail.includes("1xx"))
    return "This API server ends exports to an object store after 2.5 minutes: export less at once, or use a port-forward"
  if (detail.includes("connection refused"))
    return `Nothing listens on that port. Check the pods and their logs: kubectl -n ${namespace} get pods`
  return `A network policy or a firewall may block it. To bypass it, run "kubectl -n ${namespace} port-forward service/${service} 7777:${port}", then reel export without --in-cluster`
}
