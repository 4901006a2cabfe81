/**
 * Where and how to connect: an `ApiEndpoint` parsed once. Pure, except for the system's certificate store, which is
 * read if an https endpoint names no authority.
 */
import { X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import * as tls from "node:tls"
import { messageOf } from "../../message-of.ts"
import type { ApiEndpoint } from "../endpoint.ts"

/** A proxy: `http` forwards plain requests and tunnels TLS; through `socks5` everything goes as it is, and the proxy looks up names. */
export interface ApiProxy {
  readonly kind: "http" | "socks5"
  /** Without brackets for IPv6. */
  readonly host: string
  readonly port: number
  /** Value of `Proxy-Authorization`, from the user part of the URL; of an HTTP proxy. */
  readonly authorization: string | undefined
  /** The same for SOCKS: at most 255 bytes each. */
  readonly credentials: { readonly user: Buffer; readonly password: Buffer } | undefined
  /** `http://host:port`, without secrets: for messages. */
  readonly description: string
}

export interface Target {
  /** Without brackets for IPv6. */
  readonly host: string
  readonly port: number
  /** As in a Host header: brackets for IPv6, no default port. */
  readonly authority: string
  /** As a CONNECT request needs it: brackets for IPv6, port always. */
  readonly tunnelAuthority: string
  /** Path of the server URL without trailing slash; often empty. */
  readonly pathPrefix: string
  /** TLS options; absent for http. */
  readonly tls: tls.ConnectionOptions | undefined
  readonly proxy: ApiProxy | undefined
}

export interface InvalidTarget {
  readonly problem: string
}

/** Parses an endpoint; a URL, certificate or key that does not parse is returned as a problem, without secrets. */
export const parseTarget = (endpoint: ApiEndpoint): Target | InvalidTarget => {
  const url = URL.parse(endpoint.server)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return { problem: `"${withoutUser(endpoint.server)}" is not an http or https URL` }
  }
  const proxy = endpoint.proxy === undefined ? undefined : parseProxy(endpoint.proxy)
  if (proxy !== undefined && "problem" in proxy) return proxy
  const host = bareHost(url)
  const secure = url.protocol === "https:" ? tlsOptions(endpoint, host) : undefined
  if (secure !== undefined && "problem" in secure) return secure
  const port = portOf(url)
  return {
    host,
    port,
    authority: url.host,
    tunnelAuthority: `${url.hostname}:${port}`,
    pathPrefix: url.pathname.replace(/\/+$/, ""),
    tls: secure,
    proxy,
  }
}

/** Whether a connection made for one endpoint may serve requests of the other: they differ at most in their headers. */
export const sharesConnections = (one: ApiEndpoint, other: ApiEndpoint): boolean =>
  one.server === other.server &&
  one.certificateAuthority === other.certificateAuthority &&
  one.skipTlsVerify === other.skipTlsVerify &&
  one.tlsServerName === other.tlsServerName &&
  one.clientCertificate === other.clientCertificate &&
  one.clientKey === other.clientKey &&
  one.proxy === other.proxy

const parseProxy = (text: string): ApiProxy | InvalidTarget => {
  const url = URL.parse(text)
  const isSocks = url !== null && /^socks5h?:$/.test(url.protocol)
  if (url === null || (url.protocol !== "http:" && !isSocks) || url.hostname === "") {
    return { problem: `proxy "${withoutUser(text)}" is not an http or socks5 URL` }
  }
  const user = decode(url.username)
  const password = decode(url.password)
  const isNamed = user !== "" || password !== ""
  const credentials = { user: Buffer.from(user), password: Buffer.from(password) }
  if (isSocks && Math.max(credentials.user.length, credentials.password.length) > 255)
    return { problem: `proxy "${withoutUser(text)}" has a user name or password longer than 255 bytes` }
  return {
    kind: isSocks ? "socks5" : "http",
    host: bareHost(url),
    port: isSocks && url.port === "" ? 1080 : portOf(url),
    authorization: isNamed && !isSocks ? `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` : undefined,
    credentials: isNamed && isSocks ? credentials : undefined,
    // Of a scheme that URLs do not know there is no origin.
    description: `${url.protocol}//${url.host}`,
  }
}

/** A percent sign that encodes nothing is literal, as users write it in passwords. */
const decode = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString())

const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")

const portOf = (url: URL): number => (url.port !== "" ? Number(url.port) : url.protocol === "https:" ? 443 : 80)

const withoutUser = (text: string): string => text.replace(/\/\/[^/]*@/, "//")

const tlsOptions = (endpoint: ApiEndpoint, host: string): tls.ConnectionOptions | InvalidTarget => {
  const { certificateAuthority, clientCertificate, clientKey, skipTlsVerify = false, tlsServerName } = endpoint
  // `secureContext` skips what it cannot read, and then every server's certificate would look invalid.
  if (!skipTlsVerify && certificateAuthority !== undefined && !isCertificate(certificateAuthority)) {
    return { problem: "the certificate authority is not a PEM certificate" }
  }
  const context = secureContext(skipTlsVerify ? [] : authorities(certificateAuthority), clientCertificate, clientKey)
  if ("problem" in context) return context
  const checked = tlsServerName ?? host
  return {
    secureContext: context,
    rejectUnauthorized: !skipTlsVerify,
    // Load balancers that offer h2 choose it unless the client offers only http/1.1.
    ALPNProtocols: ["http/1.1"],
    // RFC 6066 §3 forbids addresses in SNI, and Node rejects them. The certificate is then checked against the address.
    ...(isIP(checked) === 0 ? { servername: checked } : {}),
    checkServerIdentity: (_host, certificate) => tls.checkServerIdentity(checked, certificate),
  }
}

/**
 * Without an authority, the system's store is used besides Node's own list (as in kubectl): it has a company's authorities. Building that
 * context takes 55 ms and 2 MB, once per endpoint.
 */
const authorities = (authority: string | undefined): ReadonlyArray<string> =>
  authority === undefined ? [...tls.getCACertificates("default"), ...tls.getCACertificates("system")] : [authority]

const isCertificate = (pem: string): boolean => {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch (_error) {
    // OpenSSL's message ("asn1 encoding routines…") would not help.
    return false
  }
}

/** Made once per endpoint: parsing a bundle of authorities for every connection would cost more than the handshake. */
const secureContext = (
  ca: ReadonlyArray<string>,
  certificate: string | undefined,
  key: string | undefined,
): tls.SecureContext | InvalidTarget => {
  try {
    return tls.createSecureContext({
      // An empty list, unlike an absent one, keeps Node from loading its own.
      ca: [...ca],
      // As in Go: any certificate of the bundle is trusted, also one that another authority signed.
      allowPartialTrustChain: true,
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(key === undefined ? {} : { key }),
    })
  } catch (error) {
    // OpenSSL's messages describe the fault and never contain the key material.
    return { problem: `certificate or key cannot be used: ${messageOf(error)}` }
  }
}
