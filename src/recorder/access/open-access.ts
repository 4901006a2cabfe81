/** Creates the access control that the command line configures. */
import { BlockList, isIP } from "node:net"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Clock } from "../../clock.ts"
import { type EndpointSource, Reviews } from "../../kube/index.ts"
import { type Access, anonymousAccess } from "./access.ts"
import { type OwnNames, withoutForeignPages } from "./browser-guard.ts"
import { kubernetesAccess } from "./kubernetes-access.ts"
import { readTokenFile, TokenFileError, tokenFileAccess } from "./token-file.ts"

/** Who may ask for exports, coverage and metrics. */
export type AccessSettings =
  /** Anyone who can reach the address; on a non-loopback address only with `allowAnonymous`. */
  | {
      readonly auth: "none"
      readonly allowAnonymous: boolean
      /** Host names that clients may use, besides `localhost`, IP addresses and the address it listens on. */
      readonly allowedHosts?: ReadonlyArray<string>
    }
  /** Anyone with a token from the file. */
  | { readonly auth: "token"; readonly tokenFile: string }
  /** Users whom the API server authorises. */
  | { readonly auth: "kubernetes" }

/** The recorder would be open to everyone without `--allow-anonymous`. */
export class AnonymousRefused extends Schema.TaggedError<AnonymousRefused>()("AnonymousRefused", {
  host: Schema.String,
}) {
  override get message(): string {
    return (
      `other machines can reach ${this.host} and could export everything that is recorded: ` +
      "restrict access with --auth kubernetes or --auth token, or allow it with --allow-anonymous"
    )
  }
}

/** Checks the settings before anything is started. */
export const checkAccess = (
  settings: AccessSettings,
  host: string,
): Effect.Effect<void, AnonymousRefused | TokenFileError> => {
  switch (settings.auth) {
    case "none":
      return settings.allowAnonymous || isLoopback(host) ? Effect.void : Effect.fail(new AnonymousRefused({ host }))
    case "token":
      return Effect.tryPromise({
        try: () => readTokenFile(settings.tokenFile),
        catch: (cause) =>
          cause instanceof TokenFileError
            ? cause
            : new TokenFileError({ path: settings.tokenFile, reason: String(cause) }),
      }).pipe(Effect.asVoid)
    case "kubernetes":
      return Effect.void
  }
}

interface AccessSurroundings {
  /** The address the recorder listens on. */
  readonly host: string
  readonly credentials: EndpointSource & { readonly defaultNamespace: string }
  readonly userAgent: string
  readonly clock: Clock
  /** Called once per reason why no client can be authorised at present. */
  readonly trouble: (reason: string) => void
  /** Called when that trouble is over. */
  readonly recovered: () => void
}

/** On an address that other machines can reach, the host names that clients use are unknown unless `allowedHosts` lists them. */
const ownNames = ({ allowedHosts = [] }: Extract<AccessSettings, { auth: "none" }>, host: string): OwnNames =>
  isLoopback(host) || allowedHosts.length > 0 ? [host, ...allowedHosts] : "any"

export const openAccess = (
  settings: AccessSettings,
  { host, credentials, userAgent, clock, trouble, recovered }: AccessSurroundings,
): Effect.Effect<Access, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      switch (settings.auth) {
        case "none":
          return withoutForeignPages(anonymousAccess, ownNames(settings, host))
        case "token":
          return tokenFileAccess(settings.tokenFile, (error) =>
            error === undefined ? recovered() : trouble(error.message),
          )
        case "kubernetes":
          return kubernetesAccess({
            reviews: new Reviews(credentials, userAgent),
            namespace: credentials.defaultNamespace,
            clock,
            trouble: (reason) => (reason === undefined ? recovered() : trouble(reason)),
          })
      }
    }),
    (access) => Effect.sync(() => access.close()),
  )

const loopback = new BlockList()
loopback.addSubnet("127.0.0.0", 8, "ipv4")
loopback.addAddress("::1", "ipv6")

/**
 * Whether an address is reachable only from this machine. A host name other than `localhost` can resolve to anything, so it is not
 * loopback. IPv4-mapped IPv6 addresses are recognised.
 */
export const isLoopback = (host: string): boolean => {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === "localhost"
  return loopback.check(host, version === 4 ? "ipv4" : "ipv6")
}
