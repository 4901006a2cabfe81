/**
 * Advice for a server that cannot be reached, in terms of what the user can change: the kubeconfig and the machine. The layers
 * that produce the reasons know neither.
 */
import { type ConnectionCause, causeIn } from "../../kube/index.ts"

/** What to do, for each cause that someone can do something about. */
const advice: Readonly<Record<ConnectionCause, string | undefined>> = {
  refused: "is the API server running, and is the server in the kubeconfig correct?",
  "unknown-host": "check the server in the kubeconfig",
  "name-server-silent": "check the network",
  unreachable: "check the network and the server in the kubeconfig",
  "no-answer": "check the network, and whether a proxy is needed (HTTPS_PROXY, or proxy-url in the kubeconfig)",
  lost: undefined,
  "no-response": "check the server in the kubeconfig, and what is in front of it",
  "tls-expected": "write https:// in the kubeconfig",
  "tls-unspoken": "check the server in the kubeconfig; write http:// if that is intended",
  "unknown-authority": "is the certificate-authority in the kubeconfig the right one?",
  "other-name": "in the kubeconfig, use a server name that the certificate has, or set tls-server-name",
  "certificate-expired": "renew it, or check this machine's clock",
  "certificate-not-yet-valid": "check this machine's clock",
  "client-certificate-expired": "renew the client certificate in the kubeconfig, or log in again",
  "client-certificate-missing": "add a client certificate to the user in the kubeconfig",
  "client-certificate-refused": "is the user in the kubeconfig one of this cluster?",
  "tls-failed": "check the server in the kubeconfig, and what is in front of it",
  "proxy-refused": "check HTTPS_PROXY, or proxy-url in the kubeconfig, and the proxy's user and password",
}

const clientCertificateCauses: ReadonlySet<ConnectionCause> = new Set([
  "client-certificate-expired",
  "client-certificate-missing",
  "client-certificate-refused",
])

/** Whether the server refused the client certificate, or the lack of one, in the handshake. */
export const isRefusedCertificate = (reason: string): boolean => {
  const cause = causeIn(reason)
  return cause !== undefined && clientCertificateCauses.has(cause)
}

/** Whether the server refused the credentials: with a 401, or in the handshake. */
export const isRefusedCredentials = (reason: string): boolean =>
  /\bHTTP 401\b/.test(reason) || isRefusedCertificate(reason)

/** What to do about refused credentials. */
export const credentialsAdvice = "log in again, or renew the token or the client certificate in the kubeconfig"

/** The reason why a connection failed, followed by advice if there is any. */
export const withConnectionAdvice = (reason: string): string => {
  const cause = causeIn(reason)
  const advised = cause === undefined ? undefined : advice[cause]
  // Another clause follows a server's own sentence.
  return advised === undefined ? reason : `${reason.replace(/\.$/, "")}; ${advised}`
}

/** The same for a recorder, which keeps retrying and reads changed credentials by itself: also advises on a 401. */
export const withAdvice = (reason: string): string => {
  const advised = withConnectionAdvice(reason)
  return /\bHTTP 401\b/.test(reason)
    ? `${advised}; ${credentialsAdvice} (in a pod: check that its ServiceAccount exists and that the kubelet renews the token); credentials on disk are read again automatically`
    : advised
}
