/**
 * Legacy `auth-provider` users (`oidc`, `gcp`, `azure`): delegated to client-node, which is loaded only for such a user, because
 * its `config` module loads every API type: 84 MB and 360 ms.
 *
 * The module's name is hidden from bundlers: in a single-file bundle they run an imported module at the start, wherever the import
 * is, and every recorder would pay 38 MB for code that hardly any needs (rolldown 1.3). So it is loaded from node_modules, as a
 * dependency of the package.
 */
import { messageOf } from "../../message-of.ts"
import { AuthProviderFailed } from "./errors.ts"
import type { AuthProviderSettings } from "./settings.ts"

export interface ProviderToken {
  /** Value of the Authorization header. */
  readonly authorization: string
  /** ms since the Unix epoch, if the token is a JWT with an expiry. */
  readonly expiresAtMs: number | undefined
}

const configModule: string = "@kubernetes/client-node/dist/config.js"

/** Gets a token; keeps the provider's state (refreshed tokens). Rejects with `AuthProviderFailed`. */
export type AuthProvider = () => Promise<ProviderToken>

/** One per context, since client-node confuses users of equal names from different files (kubernetes-client/javascript#592). */
export const makeAuthProvider = (settings: AuthProviderSettings, context: string): AuthProvider => {
  const fail = (reason: string): AuthProviderFailed =>
    new AuthProviderFailed({ provider: settings.name, context, reason })
  const ready = async () => {
    const { KubeConfig } = (await import(configModule)) as typeof import("@kubernetes/client-node/dist/config.js")
    const kubeConfig = new KubeConfig()
    // Required by client-node, but never connected to.
    const cluster = { name: "unused", server: "https://unused.invalid", skipTLSVerify: false }
    kubeConfig.loadFromClusterAndUser(cluster, { name: "user", authProvider: structuredClone(settings) })
    return kubeConfig
  }
  let loading: ReturnType<typeof ready> | undefined
  return async () => {
    loading ??= ready()
    const kubeConfig = await loading
    const options: { headers?: Record<string, string> } = {}
    await kubeConfig.applyToHTTPSOptions(options).catch((error: unknown) => {
      throw fail(`failed: ${messageOf(error)}`)
    })
    const authorization = options.headers?.Authorization
    if (authorization === undefined)
      throw fail("returned no token: it may have expired and cannot be refreshed, or the provider is unknown")
    return { authorization, expiresAtMs: expiryOf(authorization) }
  }
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
