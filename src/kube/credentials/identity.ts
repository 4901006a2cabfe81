/**
 * Turns the settings of a context into the credentials of a request, with how long to use them before they are read
 * again.
 */

import { existsSync } from "node:fs"
import type { Clock, Timers } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { readRegularFile, UnusualFileError } from "../../regular-file.ts"
import { AuthProviderFailed, CredentialFileUnusable, describeFileError } from "./errors.ts"
import { type ExecCredential, runExecPlugin } from "./exec-plugin.ts"
import type { AuthProviderSettings, ContextSettings, Material } from "./select-context.ts"

// Legacy `auth-provider` users (`oidc`, `gcp`, `azure`): delegated to client-node's classes for them, which are loaded only for such a user.

interface ProviderToken {
  /** Value of the Authorization header. */
  readonly authorization: string
  /** ms since the Unix epoch, if the token is a JWT with an expiry. */
  readonly expiresAtMs: number | undefined
}

type Providers = typeof import("./entries/auth-providers.ts")

/** From bundles in dist/ and in its folders; from the sources, with a build beside them or without. */
const places = ["./auth-providers.js", "../auth-providers.js", "../../../dist/auth-providers.js"]

const loadProviders = (): Promise<Providers> => {
  const built = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url))
  const url = built ?? new URL("./entries/auth-providers.ts", import.meta.url)
  return import(url.href) as Promise<Providers>
}

/** Gets a token; keeps the provider's state (refreshed tokens). Rejects with `AuthProviderFailed`. */
type AuthProvider = () => Promise<ProviderToken>

/** One per context, since client-node confuses users of equal names from different files (kubernetes-client/javascript#592). */
const makeAuthProvider = (settings: AuthProviderSettings, context: string): AuthProvider => {
  const fail = (reason: string): AuthProviderFailed =>
    new AuthProviderFailed({ provider: settings.name, context, reason })
  const { name, config } = structuredClone(settings)
  const user = { name: "user", authProvider: { name, config: withIssuer(config) } }
  const ready = async () => {
    const { AzureAuth, GoogleCloudPlatformAuth, OpenIDConnectAuth } = await loadProviders()
    const known = [new AzureAuth(), new GoogleCloudPlatformAuth(), new OpenIDConnectAuth()]
    return known.find((provider) => provider.isAuthProvider(user))
  }
  let loading: ReturnType<typeof ready> | undefined
  return async () => {
    loading ??= ready()
    const provider = await loading
    const options: { headers: Record<string, string> } = { headers: {} }
    await provider?.applyAuthentication(user, options).catch((error: unknown) => {
      throw fail(`failed: ${messageOf(error)}`)
    })
    const authorization = options.headers.Authorization
    if (authorization === undefined)
      throw fail("returned no token: it may have expired and cannot be refreshed, or the provider is unknown")
    return { authorization, expiresAtMs: tokenExpiry(authorization) }
  }
}

/**
 * client-node 2.0 hands the issuer's address to openid-client as it is in the file, which rejects a string, so that no expired token could be
 * renewed. One that is no URL is left for it to reject.
 */
const withIssuer = (config: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const issuer = URL.parse(String(config["idp-issuer-url"]))
  return issuer === null ? { ...config } : { ...config, "idp-issuer-url": issuer }
}

/** When a JSON Web Token expires, ms since the Unix epoch, unverified (RFC 7519 §4.1.4); other tokens do not say. */
export const tokenExpiry = (authorization: string): number | undefined => {
  const payload = /^Bearer [\w-]+\.([\w-]+)\.[\w-]*$/i.exec(authorization)?.[1]
  if (payload === undefined) return undefined
  try {
    const { exp }: { readonly exp?: unknown } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"))
    return typeof exp === "number" ? exp * 1000 : undefined
  } catch {
    // Three parts with dots between them, but no JSON Web Token.
    return undefined
  }
}

/** Both clocks: expiry is given in wall time, but waiting must not be affected when the clock is set. */
export type CredentialClock = Pick<Clock, "wallMicros" | "monotonicMs">

export interface IdentityOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: CredentialClock
  readonly timers: Timers
  /** ms that an exec plugin may take. */
  readonly execDeadlineMs: number
}

/** The credentials at one moment. */
export interface Identity {
  /** Value of the Authorization header. */
  readonly authorization: string | undefined
  /** PEM. */
  readonly certificate: string | undefined
  readonly key: string | undefined
  /** PEM of the server's authority. */
  readonly certificateAuthority: string | undefined
  /** Monotonic ms at which to read them again; infinite if they never change by themselves. */
  readonly renewAt: number
  /** Monotonic ms from which on the server will reject them; infinite if unknown. */
  readonly expiresAt: number
}

/** client-go's period (kubernetes/client-go#1381); kubelets renew a token when 20 % of its lifetime, and at least 10 min, are left. */
const fileRereadMs = 60_000
/** A token is renewed when a tenth of its lifetime is left, but at least this early: clocks differ, and plugins take time. */
const earliestRenewalMs = 10_000

/**
 * ms to use a credential with a lifetime of `lifeMs`: nine tenths of it, or all but the last 10 s, whichever is shorter. If the
 * lifetime is less than 20 s, half of it, but at least 1 s, so that a plugin that returns expired tokens is not run in a loop.
 */
export const useForMs = (lifeMs: number): number =>
  lifeMs <= 2 * earliestRenewalMs ? Math.max(1_000, lifeMs / 2) : lifeMs - Math.max(earliestRenewalMs, lifeMs / 10)

export class IdentitySource {
  readonly #context: ContextSettings
  readonly #options: IdentityOptions
  readonly #provider: AuthProvider | undefined
  #plugin: { readonly credential: ExecCredential; readonly renewAt: number; readonly expiresAt: number } | undefined

  constructor(context: ContextSettings, options: IdentityOptions) {
    this.#context = context
    this.#options = options
    const { identification } = context.user
    if (identification.tag === "auth-provider") {
      this.#provider = makeAuthProvider(identification.provider, context.name)
    }
  }

  /** Rejects with errors of this folder. Do not call it again before it has settled. */
  async read(): Promise<Identity> {
    const { user, cluster } = this.#context
    const certificateAuthority = await this.#material("certificate authority", cluster.certificateAuthority)
    const certificate = await this.#material("client certificate", user.clientCertificate?.certificate)
    const key = await this.#material("client key", user.clientCertificate?.key)
    const materials = [cluster.certificateAuthority, user.clientCertificate?.certificate, user.clientCertificate?.key]
    const hasFiles = materials.some((material) => material?.tag === "file")
    const renewAt = hasFiles ? this.#options.clock.monotonicMs() + fileRereadMs : Number.POSITIVE_INFINITY
    const expiresAt = Number.POSITIVE_INFINITY
    const base = { authorization: undefined, certificate, key, certificateAuthority, renewAt, expiresAt }
    const own = await this.#identify(certificateAuthority)
    return { ...base, ...own, renewAt: Math.min(renewAt, own.renewAt ?? renewAt) }
  }

  async #identify(certificateAuthority: string | undefined): Promise<Partial<Identity>> {
    const { identification } = this.#context.user
    switch (identification.tag) {
      case "none":
        return {}
      case "token":
        return { authorization: `Bearer ${identification.token.trim()}` }
      case "basic": {
        const { username, password } = identification
        return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` }
      }
      case "token-file": {
        const renewAt = this.#options.clock.monotonicMs() + fileRereadMs
        return { authorization: `Bearer ${await this.#token(identification.path)}`, renewAt }
      }
      case "auth-provider":
        return await this.#askProvider()
      case "exec": {
        this.#plugin = await this.#runPlugin(identification.exec, certificateAuthority)
        const { credential, renewAt, expiresAt } = this.#plugin
        const certificate = credential.certificate === undefined ? {} : { certificate: credential.certificate }
        const key = credential.key === undefined ? {} : { key: credential.key }
        const authorization = credential.token === undefined ? undefined : `Bearer ${credential.token}`
        return { authorization, ...certificate, ...key, renewAt, expiresAt }
      }
    }
  }

  /** The last credential while it is valid, so that re-reading a file does not run the plugin. */
  async #runPlugin(exec: Parameters<typeof runExecPlugin>[0], certificateAuthority: string | undefined) {
    const { clock, environment, timers, execDeadlineMs: deadlineMs } = this.#options
    if (this.#plugin !== undefined && clock.monotonicMs() < this.#plugin.renewAt) return this.#plugin
    const surroundings = { environment, timers, deadlineMs }
    const credential = await runExecPlugin(exec, this.#context, certificateAuthority, surroundings)
    return { credential, ...this.#life(credential.expiresAtMs) }
  }

  async #askProvider(): Promise<Partial<Identity>> {
    const token = await this.#provider?.()
    if (token === undefined) return {}
    const { expiresAt } = this.#life(token.expiresAtMs)
    // client-node renews a token only after it has expired; before that it returns the old one.
    const renewAt = Number.isFinite(expiresAt) ? expiresAt + 1_000 : this.#options.clock.monotonicMs() + fileRereadMs
    return { authorization: token.authorization, renewAt }
  }

  #life(expiresAtMs: number | undefined): { renewAt: number; expiresAt: number } {
    const { clock } = this.#options
    if (expiresAtMs === undefined) return { renewAt: Number.POSITIVE_INFINITY, expiresAt: Number.POSITIVE_INFINITY }
    const now = clock.monotonicMs()
    const life = expiresAtMs - clock.wallMicros() / 1000
    return { renewAt: now + useForMs(life), expiresAt: now + life }
  }

  async #token(path: string): Promise<string> {
    const token = (await this.#read("token", path)).trim()
    if (token === "") throw this.#unusable("token", path, "is empty")
    // Other characters must not end up in a header; a file with several lines is not a token file.
    if (!/^[\x21-\x7e]+$/.test(token)) throw this.#unusable("token", path, "does not contain a token")
    return token
  }

  async #material(purpose: string, material: Material | undefined): Promise<string | undefined> {
    if (material === undefined || material.tag === "inline") return material?.pem
    const pem = await this.#read(purpose, material.path)
    if (!pem.includes("-----BEGIN ")) throw this.#unusable(purpose, material.path, "does not contain PEM data")
    return pem
  }

  #read(purpose: string, path: string): Promise<string> {
    return readRegularFile(path).catch((error: unknown) => {
      const reason = error instanceof UnusualFileError ? error.reason : describeFileError(error)
      throw this.#unusable(purpose, path, reason)
    })
  }

  #unusable(purpose: string, path: string, reason: string): CredentialFileUnusable {
    return new CredentialFileUnusable({ purpose, path, context: this.#context.name, reason })
  }
}
