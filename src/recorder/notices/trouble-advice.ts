/**
 * Advice for a server that cannot be reached, in terms of what the user can change: the kubeconfig and the machine. The layers
 * that produce the reasons know neither.
 */

/** By the error code at the end of the reason: the system's (errno), Node's or OpenSSL's. */
const adviceByCode: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connection refused: is the API server running, and is the server in the kubeconfig correct?"],
  ["ENOTFOUND", "host not found: check the server in the kubeconfig"],
  ["EAI_AGAIN", "the name server does not respond: check the network"],
  ["ETIMEDOUT", "check the network, and whether a proxy is needed (HTTPS_PROXY, or proxy-url in the kubeconfig)"],
  ["EHOSTUNREACH", "check the network and the server in the kubeconfig"],
  ["ENETUNREACH", "check the network and the server in the kubeconfig"],
  ["ERR_NO_RESPONSE", "if the server speaks TLS, write https:// in the kubeconfig"],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "in the kubeconfig, use the server name that its certificate has, or set tls-server-name",
  ],
  ["CERT_HAS_EXPIRED", "the certificate has expired: renew it, or check this machine's clock"],
  ["CERT_NOT_YET_VALID", "check this machine's clock"],
  ["EPROTO", "the server does not speak TLS: check the server in the kubeconfig"],
  [
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "the server does not speak TLS: write http:// in the kubeconfig if that is intended",
  ],
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
        "the server's certificate is not signed by the kubeconfig's certificate-authority: is it the right one?",
      ] as const,
  ),
])

/** Node's own advice is for users who start Node themselves. */
const advertisement = /; if the root CA is installed locally, try running Node\.js with --use-system-ca/

/** The reason why a connection failed, followed by advice if there is any. */
export const withConnectionAdvice = (reason: string): string => {
  const plain = reason.replace(advertisement, "")
  const code = /\(([A-Z][A-Z0-9_]+)\)/.exec(plain)?.[1]
  const advice = code === undefined ? undefined : adviceByCode.get(code)
  return advice === undefined ? plain : `${plain}; ${advice}`
}

/** The same for a recorder, which keeps retrying and reads changed credentials by itself: also advises on a 401. */
export const withAdvice = (reason: string): string => {
  const plain = withConnectionAdvice(reason)
  return /HTTP 401\b/.test(plain)
    ? `${plain}; the credentials are not accepted: log in again, or renew the token (in a pod: check that its ServiceAccount exists and that the kubelet renews the token); credentials on disk are read again automatically`
    : plain
}
