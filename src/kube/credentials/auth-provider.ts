/**
 * Legacy `auth-provider` users (`oidc`, `gcp`, `azure`): delegated to client-node's classes for them, which are loaded only for such a user.
 *
 * They are in a file of their own, whose name is hidden from bundlers: in a single-file bundle they run an imported module at the start,
 * wherever the import is, and every recorder would pay for code that hardly any needs (rolldown 1.3).
 */
import { existsSync } from "node:fs"
import { messageOf } from "../../message-of.ts"
import { AuthProviderFailed } from "./errors.ts"
import type { AuthProviderSettings } from "./settings.ts"

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
export type AuthProvider = () => Promise<ProviderToken>

/** One per context, since client-node confuses users of equal names from different files (kubernetes-client/javascript#592). */
export const makeAuthProvider = (settings: AuthProviderSettings, context: string): AuthProvider => {
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
    return { authorization, expiresAtMs: expiryOf(authorization) }
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

/** `exp` of a JWT (RFC 7519 §4.1.4), unverified: it only determines when to get a new token. */
const expiryOf = (authorization: string): number | undefined => {
  const payload = authorization.split(".")[1]
  if (payload === undefined) return undefined
  try {
    const { exp } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as { exp?: unknown }
    return typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : undefined
  } catch (error) {
    // Not a JWT: opaque tokens are valid too.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
