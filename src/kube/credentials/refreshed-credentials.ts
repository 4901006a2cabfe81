/**
 * The credentials of one context, kept fresh: one refresh at a time; an endpoint equal to the last one is the same
 * object; while refreshes fail, unexpired credentials are returned. No timer runs here: the caller refreshes after
 * `refreshAfter`.
 */

import { X509Certificate } from "node:crypto"
import { formatLocalTime } from "../../local-time.ts"
import type { ApiEndpoint } from "../endpoint.ts"
import { sharesConnections } from "../http/target.ts"
import { ContextMoved, type CredentialsError, isCredentialsError } from "./errors.ts"
import { type Identity, type IdentityOptions, IdentitySource, tokenExpiry } from "./identity.ts"
import { impersonationHeaders } from "./impersonation.ts"
import type { ContextSettings } from "./select-context.ts"

// Whether credentials that a server refuses have simply expired, as far as they say so themselves. An API server's 401 never tells the reason, and
// an expired certificate is the commonest one.

/** One clause for people, without secrets: `the client certificate expired on 2026-11-20 03:12:00 CET`; `undefined` if nothing has. */
export const describeExpired = ({ clientCertificate, headers }: ApiEndpoint, nowMs: number): string | undefined => {
  const authorization = headers.find(([name]) => name.toLowerCase() === "authorization")?.[1] ?? ""
  const ends = {
    "the client certificate": certificateExpiry(clientCertificate),
    "the token": tokenExpiry(authorization),
  }
  for (const [what, untilMs] of Object.entries(ends))
    if (untilMs !== undefined && untilMs <= nowMs) return `${what} expired on ${formatLocalTime(untilMs, nowMs)}`
  return undefined
}

const certificateExpiry = (certificate: string | undefined): number | undefined => {
  if (certificate === undefined) return undefined
  try {
    return new X509Certificate(certificate).validToDate.getTime()
  } catch {
    // A certificate that cannot be read is reported when a connection is made with it.
    return undefined
  }
}

export interface Credentials {
  /**
   * The endpoint with current credentials, refreshed if that is due. Rejects with a `CredentialsError` if there are no usable
   * credentials.
   */
  endpoint(): Promise<ApiEndpoint>
  /** ms until {@link endpoint} should be called again, 0 for now; `undefined` if the credentials never change by themselves. */
  readonly refreshAfter: number | undefined
  /**
   * Call it when the server returned 401. Reads the configuration and every file again and runs the plugin again, once for all
   * concurrent callers and at most every 10 s, so that a server that rejects everything does not cause a storm of log-ins.
   * Afterwards {@link endpoint} returns the result: the same object as before if nothing changed. Rejects with a
   * `CredentialsError` if something could not be read; the previous credentials then stay in use.
   */
  onUnauthorized(): Promise<void>
  /** Why the last refresh failed, while older credentials are still in use. */
  readonly problem: CredentialsError | undefined
  /** Context, cluster, user and server, for people; no secrets. */
  readonly description: string
  /** Namespace of the context, or the pod's own; `default` if none is set. */
  readonly defaultNamespace: string
}

/** ms between log-ins forced by a 401, and between attempts after a failed refresh. */
const retryMs = 10_000

interface CredentialsOptions extends IdentityOptions {
  /** Reads the configuration again, for the context chosen at the start. */
  readonly reload: () => Promise<ContextSettings>
  /** The proxy for a context's server. Throws `UnsupportedSetting`. */
  readonly proxyOf: (context: ContextSettings) => string | undefined
}

/** `server`: the URL as requests need it. */
export const makeCredentials = (context: ContextSettings, server: string, options: CredentialsOptions): Credentials =>
  new RefreshedCredentials(context, server, options)

class RefreshedCredentials implements Credentials {
  readonly #options: CredentialsOptions
  readonly #server: string
  #context: ContextSettings
  #source: IdentitySource
  #endpoint: ApiEndpoint | undefined
  /** Monotonic ms. */
  #renewAt = Number.NEGATIVE_INFINITY
  #expiresAt = Number.NEGATIVE_INFINITY
  #forcedAt = Number.NEGATIVE_INFINITY
  #problem: CredentialsError | undefined
  #running: { readonly result: Promise<ApiEndpoint>; readonly isForced: boolean } | undefined

  constructor(context: ContextSettings, server: string, options: CredentialsOptions) {
    this.#context = context
    this.#server = server
    this.#options = options
    this.#source = new IdentitySource(context, options)
  }

  get problem(): CredentialsError | undefined {
    return this.#problem
  }

  get defaultNamespace(): string {
    return this.#context.namespace
  }

  get description(): string {
    const { name, cluster, user } = this.#context
    const who = user.name === "" ? "anonymous" : `user "${user.name}"`
    const as = user.impersonation.user === undefined ? "" : ` as "${user.impersonation.user}"`
    return `context "${name}" (cluster "${cluster.name}", ${who}${as}) at ${this.#server}`
  }

  get refreshAfter(): number | undefined {
    if (this.#renewAt === Number.POSITIVE_INFINITY) return undefined
    return Math.max(0, this.#renewAt - this.#options.clock.monotonicMs())
  }

  endpoint(): Promise<ApiEndpoint> {
    if (this.#endpoint !== undefined && this.#options.clock.monotonicMs() < this.#renewAt) {
      return Promise.resolve(this.#endpoint)
    }
    return this.#refresh(false)
  }

  async onUnauthorized(): Promise<void> {
    const isRecent = this.#options.clock.monotonicMs() - this.#forcedAt < retryMs
    if (this.#running?.isForced === true) await this.#running.result
    else if (!isRecent) await this.#refresh(true)
  }

  /** Joins a running refresh, unless it is not forced and a forced one is needed. */
  #refresh(isForced: boolean): Promise<ApiEndpoint> {
    const before = this.#running
    if (before !== undefined && (before.isForced || !isForced)) return before.result
    const result = this.#afterwards(before?.result, isForced).finally(() => {
      if (this.#running?.result === result) this.#running = undefined
    })
    this.#running = { result, isForced }
    return result
  }

  async #afterwards(before: Promise<ApiEndpoint> | undefined, isForced: boolean): Promise<ApiEndpoint> {
    // Its failure is reported to its own callers.
    await before?.catch(() => undefined)
    return isForced ? await this.#renewAll() : await this.#renew()
  }

  async #renew(): Promise<ApiEndpoint> {
    try {
      return this.#adopt(await this.#source.read(), this.#context)
    } catch (error) {
      const now = this.#options.clock.monotonicMs()
      if (!isCredentialsError(error) || this.#endpoint === undefined || now >= this.#expiresAt) throw error
      this.#problem = error
      this.#renewAt = now + retryMs
      return this.#endpoint
    }
  }

  async #renewAll(): Promise<ApiEndpoint> {
    this.#forcedAt = this.#options.clock.monotonicMs()
    const context = await this.#options.reload()
    if (context.cluster.server !== this.#context.cluster.server) {
      throw new ContextMoved({ context: context.name, before: this.#server, now: displayed(context.cluster.server) })
    }
    const source = new IdentitySource(context, this.#options)
    const identity = await source.read()
    this.#context = context
    this.#source = source
    return this.#adopt(identity, context)
  }

  #adopt(identity: Identity, context: ContextSettings): ApiEndpoint {
    const endpoint = toEndpoint(this.#server, identity, context, this.#options.proxyOf(context))
    this.#problem = undefined
    this.#renewAt = identity.renewAt
    this.#expiresAt = identity.expiresAt
    if (this.#endpoint === undefined || !isEqual(this.#endpoint, endpoint)) this.#endpoint = endpoint
    return this.#endpoint
  }
}

/** A URL without user information. */
export const displayed = (server: string): string => server.replace(/\/\/[^/]*@/, "//")

const isEqual = (one: ApiEndpoint, other: ApiEndpoint): boolean =>
  sharesConnections(one, other) && JSON.stringify(one.headers) === JSON.stringify(other.headers)

const toEndpoint = (
  server: string,
  identity: Identity,
  { cluster, user }: ContextSettings,
  proxy: string | undefined,
): ApiEndpoint => {
  const { authorization, certificate, key, certificateAuthority } = identity
  return {
    server,
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(cluster.skipTlsVerify ? { skipTlsVerify: true } : {}),
    ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
    ...(cluster.disableCompression ? { prefersPlain: true } : {}),
    ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    ...(key === undefined ? {} : { clientKey: key }),
    ...(proxy === undefined ? {} : { proxy }),
    headers: [
      ...(authorization === undefined ? [] : [["Authorization", authorization] as const]),
      ...impersonationHeaders(user.impersonation),
    ],
  }
}
