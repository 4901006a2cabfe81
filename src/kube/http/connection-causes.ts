/**
 * Why there is no usable connection to a server: one closed list, with words, because OpenSSL's texts do not tell who
 * should change what. Codes stay in {@link StreamEnd} for programs.
 */

/** The words of each cause, as they end a sentence that begins with the server's address. */
const words = {
  refused: "connection refused",
  "unknown-host": "host not found",
  "name-server-silent": "the name server does not respond",
  unreachable: "the network has no route to it",
  "no-answer": "it does not respond",
  lost: "the connection was closed",
  "no-response": "the server closed the connection without a response",
  /** An http request to a port that speaks TLS; known by a handshake, never guessed. */
  "tls-expected": "the server speaks TLS, but was addressed with http://",
  "tls-unspoken": "the server does not speak TLS, but was addressed with https://",
  "unknown-authority": "the server's certificate is not signed by the expected certificate authority",
  "other-name": "the server's certificate is for another name",
  "certificate-expired": "the server's certificate has expired",
  "certificate-not-yet-valid": "the server's certificate is not valid yet",
  "client-certificate-expired": "the server refused the client certificate: it has expired",
  "client-certificate-missing": "the server requires a client certificate",
  "client-certificate-refused": "the server refused the client certificate",
  /** Any other alert, or a handshake that cannot be understood. */
  "tls-failed": "the TLS handshake failed",
  "proxy-refused": "the proxy refused",
} as const

export type ConnectionCause = keyof typeof words

/** Codes of the operating system, of Node and of OpenSSL. */
const byCode: ReadonlyMap<string, ConnectionCause> = new Map([
  ["ECONNREFUSED", "refused"],
  ["ENOTFOUND", "unknown-host"],
  ["EAI_NONAME", "unknown-host"],
  ["EAI_NODATA", "unknown-host"],
  ["EAI_AGAIN", "name-server-silent"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["ETIMEDOUT", "no-answer"],
  ["ECONNRESET", "lost"],
  ["ECONNABORTED", "lost"],
  ["EPIPE", "lost"],
  ["ERR_CONNECTION", "lost"],
  ["ERR_NO_RESPONSE", "no-response"],
  ["ERR_TLS_EXPECTED", "tls-expected"],
  ["ERR_PROXY_REFUSED", "proxy-refused"],
  // What OpenSSL makes of the first bytes of an HTTP response.
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls-unspoken"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "tls-unspoken"],
  ["ERR_SSL_HTTP_REQUEST", "tls-unspoken"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unknown-authority"],
  ["UNABLE_TO_GET_ISSUER_CERT", "unknown-authority"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unknown-authority"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "unknown-authority"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "unknown-authority"],
  ["CERT_SIGNATURE_FAILURE", "unknown-authority"],
  ["CERT_UNTRUSTED", "unknown-authority"],
  ["INVALID_CA", "unknown-authority"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "other-name"],
  ["CERT_HAS_EXPIRED", "certificate-expired"],
  ["CERT_NOT_YET_VALID", "certificate-not-yet-valid"],
])

/** TLS alerts by which a server refuses the client's certificate; OpenSSL's versions put different prefixes before their names. */
const alerts: ReadonlyArray<readonly [RegExp, ConnectionCause]> = [
  [/ALERT_CERTIFICATE_EXPIRED$/, "client-certificate-expired"],
  [/ALERT_CERTIFICATE_REQUIRED$/, "client-certificate-missing"],
  [
    /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)$/,
    "client-certificate-refused",
  ],
]

/** The cause that an error code means; `undefined` for any other code. */
export const causeOfCode = (code: string): ConnectionCause | undefined =>
  byCode.get(code) ??
  alerts.find(([pattern]) => pattern.test(code))?.[1] ??
  (code.startsWith("ERR_SSL_") ? "tls-failed" : undefined)

/** The words of a cause. */
export const describeCause = (cause: ConnectionCause): string => words[cause]

interface SystemError extends Error {
  readonly code?: string
  /** OpenSSL's reason: `ssl/tls alert handshake failure`. */
  readonly reason?: string
  /** The server's certificate, if that is what is wrong. */
  readonly cert?: { readonly subjectaltname?: string }
}

/**
 * The code of an error. Node gives those of OpenSSL that come while it writes the code `EPROTO`; then the text has the reason, and the same
 * failure must not have two codes.
 */
export const codeOfError = ({ code, message }: SystemError): string | undefined => {
  const reason = code === "EPROTO" ? /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1] : undefined
  return reason === undefined ? code : `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}`
}

/** An error of a socket in words, without the address; errors that are not in the list keep Node's text. */
export const describeConnectionError = (error: SystemError): string => {
  const cause = causeOfCode(codeOfError(error) ?? "")
  // What a proxy said is a sentence already.
  if (cause === undefined || cause === "proxy-refused") return error.message
  if (cause === "tls-failed" && error.reason !== undefined) return `${words[cause]} (${error.reason})`
  // Which names it has shows whether it is the wrong server or the wrong address of the right one.
  const names = cause === "other-name" ? error.cert?.subjectaltname : undefined
  return names === undefined
    ? words[cause]
    : `${words[cause]} (it is for ${names.replaceAll(/(?:DNS|IP Address):/g, "")})`
}

/**
 * Servers in Go and nginx respond to an http request on their TLS port, with these words; a proxy's refusal is a sentence of its own.
 */
const phrases: ReadonlyArray<readonly [RegExp, ConnectionCause]> = [
  [/sent an HTTP request to an HTTPS server|plain HTTP request was sent to HTTPS port/, "tls-expected"],
  [/^(?:.*: )?proxy .* (?:did not open a tunnel|refused to forward)/, "proxy-refused"],
  [/no connection to .* within \d+ ms/, "no-answer"],
]

/** Longest first, so that words that contain other words are found before those. */
const byWords = (Object.entries(words) as ReadonlyArray<readonly [ConnectionCause, string]>).toSorted(
  ([, one], [, other]) => other.length - one.length,
)

/** A response of the server, in which the same words are about other connections, such as those to an aggregated API. */
const response = /\bHTTP \d{3}\b/

/** The cause that a message names, if it was made of {@link describeConnectionError} or is a server's answer to a wrong scheme. */
export const causeIn = (message: string): ConnectionCause | undefined => {
  const named = phrases.find(([pattern]) => pattern.test(message))?.[1]
  if (named !== undefined || response.test(message)) return named
  return byWords.find(([, text]) => message.includes(text))?.[0]
}
