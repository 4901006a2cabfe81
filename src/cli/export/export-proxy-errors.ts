/**
 * Why an export by way of an API server does not get as far as the recorder: the kubeconfig, the API server itself, or its service
 * proxy. Each message names the step to take next; none holds a token.
 */
import * as Schema from "effect/Schema"

/** The kubeconfig leads nowhere; the message is that of `src/kube/credentials`. */
export class CredentialsUnusable extends Schema.TaggedError<CredentialsUnusable>()("CredentialsUnusable", {
  reason: Schema.String,
}) {
  override get message(): string {
    return this.reason
  }
}

/** No answer of the API server, or of what stands before it. */
export class ApiServerUnreachable extends Schema.TaggedError<ApiServerUnreachable>()("ApiServerUnreachable", {
  /** Without credentials. */
  server: Schema.String,
  /** Code of the operating system, of Node or of OpenSSL. */
  code: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `the API server ${this.server} cannot be asked: ${unreachableAdvice(this.code, this.detail)}`
  }
}

const unreachableAdvice = (code: string, detail: string): string => {
  switch (code) {
    case "ECONNREFUSED":
      return "nothing listens there. Is the cluster running, and is it the right --context?"
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "there is no such host. Is it the right --context?"
    case "TIMEOUT":
      return `${detail}. Try again, or allow more time with --timeout`
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "CERT_SIGNATURE_FAILURE":
      return `the kubeconfig's certificate-authority did not sign its certificate (${code}). Is the kubeconfig that of this cluster?`
    case "CERT_HAS_EXPIRED":
      return "its certificate has expired"
    case "CERT_NOT_YET_VALID":
      return "its certificate is not valid yet. Is the clock of this machine right?"
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `its certificate is for another name. ${detail}`
    default:
      return detail.includes(code) ? detail : `${detail} (${code})`
  }
}

/** What stands in the way when the API server answers instead of the recorder. */
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

/** The API server did not pass the request on. `unauthenticated` and `forbidden` end with exit code 4, all others with 1. */
export class NotProxied extends Schema.TaggedError<NotProxied>()("NotProxied", {
  server: Schema.String,
  namespace: Schema.String,
  service: Schema.String,
  /** Empty while it is not known. */
  port: Schema.String,
  obstacle: Obstacle,
  /** HTTP status of the API server; 0 if it was not asked. */
  status: Schema.Number,
  /** What the API server said, at most 500 characters on one line. */
  detail: Schema.String,
  /** Whom the API server refuses; empty if it does not say. */
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
      return `the API server ${server} does not accept the kubeconfig's credentials: ${detail}`
    case "forbidden":
      return missingPermission(error)
    case "no-service":
      return `there is no Service ${name} at ${server}. "kubectl get services -A -l app.kubernetes.io/name=kubereel" finds recorders`
    case "ambiguous-port":
      return `the Service ${name} has several ports, ${detail}: name the recorder's, --in-cluster ${name}:PORT`
    case "no-port":
      return `the Service ${name} has no port ${port}: ${detail}`
    case "no-endpoints":
      return `no pod behind the Service ${name} is ready on port ${port}: ${detail}. "kubectl -n ${namespace} get pods" says more`
    case "unreached":
      return `the API server ${server} does not get through to the Service ${name}: ${detail}. ${unreachedAdvice(error)}`
    case "overloaded": {
      const after = error.retryAfterSeconds === undefined ? "" : ` in ${error.retryAfterSeconds} s`
      return `the API server ${server} has too much to do: ${detail}. Try again${after}`
    }
    case "other":
      return `the export did not get through ${server} to a recorder at ${name}: ${status === 0 ? "" : `status ${status}: `}${detail}`
  }
}

/** What is missing, and the rule that would give it. */
const missingPermission = ({ namespace, service, port, user, server }: NotProxied): string => {
  if (user === "system:anonymous")
    return `the API server ${server} takes the kubeconfig's user for nobody (${user}): a token or a client certificate is missing, or is not for this cluster`
  const who = user === "" ? "you" : user
  const rule = `{apiGroups: [""], resources: ["services/proxy"], resourceNames: ["${service}:${port}"], verbs: ["create"]}`
  return `${who} may not create services/proxy in namespace ${namespace}. A Role there, bound to ${who}, needs the rule ${rule}`
}

const unreachedAdvice = ({ namespace, service, port, detail }: NotProxied): string => {
  // Go's HTTP client before 1.24, in API servers before 1.33, takes five 102 and no more; a recorder sends one each 30 s.
  if (detail.includes("1xx"))
    return "This API server lets a recorder write to an object store for 2.5 minutes only: export less at once, or by a port-forward"
  if (detail.includes("connection refused"))
    return `Nothing listens there; "kubectl -n ${namespace} get pods" and their logs say more`
  return `A network policy or a firewall may be in the way; "kubectl -n ${namespace} port-forward service/${service} 7777:${port}", and reel export without --in-cluster, take another`
}
