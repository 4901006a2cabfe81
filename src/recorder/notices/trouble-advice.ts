/**
 * What to do about a server that cannot be talked to, in terms of what the user can change: the kubeconfig and the machine.
 * The reasons themselves come from below and know neither.
 */

/** By the code that ends such a reason: of the system (errno), of Node, of OpenSSL. */
const adviceByCode: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nothing listens there: is the API server up, and the server of the kubeconfig right?"],
  ["ENOTFOUND", "there is no such host: check the server of the kubeconfig"],
  ["EAI_AGAIN", "the name server does not answer: check the network"],
  ["ETIMEDOUT", "check the network, and whether a proxy is needed (HTTPS_PROXY, or proxy-url in the kubeconfig)"],
  ["EHOSTUNREACH", "check the network and the server of the kubeconfig"],
  ["ENETUNREACH", "check the network and the server of the kubeconfig"],
  ["ERR_NO_RESPONSE", "if the server speaks TLS, write https:// in the kubeconfig"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "name the server as its certificate does, or set tls-server-name in the kubeconfig"],
  ["CERT_HAS_EXPIRED", "the certificate has expired: renew it, or check the clock of this machine"],
  ["CERT_NOT_YET_VALID", "check the clock of this machine"],
  ["EPROTO", "it does not speak TLS: check the server of the kubeconfig"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "it does not speak TLS: write http:// in the kubeconfig if that is meant"],
  ...[
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "CERT_SIGNATURE_FAILURE",
  ].map(
    (code) =>
      [
        code,
        "its certificate is not signed by the certificate-authority of the kubeconfig: is that the right one?",
      ] as const,
  ),
])

/** Node's own advice is for people who start Node themselves. */
const advertisement = /; if the root CA is installed locally, try running Node\.js with --use-system-ca/

/** The reason with what to do about it; unchanged if there is nothing to add. */
export const withAdvice = (reason: string): string => {
  const plain = reason.replace(advertisement, "")
  const code = /\(([A-Z][A-Z0-9_]+)\)/.exec(plain)?.[1]
  const advice = code === undefined ? undefined : adviceByCode.get(code)
  if (advice !== undefined) return `${plain}; ${advice}`
  return /HTTP 401\b/.test(plain)
    ? `${plain}; the credentials are not accepted: log in again, or renew the token (of a pod: is its ServiceAccount still there, and does the kubelet renew its token?); what is on disk is read again by itself`
    : plain
}
