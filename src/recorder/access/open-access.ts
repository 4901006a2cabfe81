/** From what the command line says about access to who decides. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { EndpointSource } from "../../kube/endpoint.ts"
import type { Clock } from "../../runtime/clock.ts"
import { type Access, anybody } from "./access.ts"
import { type OwnNames, withoutForeignPages } from "./browser-guard.ts"
import { kubernetesAccess } from "./kubernetes-access.ts"
import { isLoopback } from "./loopback.ts"
import { Reviews } from "./reviews.ts"
import { readTokenFile, TokenFileError, tokenFileAccess } from "./token-file.ts"

/** Who may ask for exports, coverage and metrics. */
export type AccessSettings =
  /** Whoever reaches the address; on another than a loopback address only with `allowAnonymous`. */
  | {
      readonly auth: "none"
      readonly allowAnonymous: boolean
      /** Names by which it may be reached, besides `localhost`, addresses, and what it listens on. */
      readonly allowedHosts?: ReadonlyArray<string>
    }
  /** Whoever has a token of the file. */
  | { readonly auth: "token"; readonly tokenFile: string }
  /** Whom the API server lets. */
  | { readonly auth: "kubernetes" }

/** Nobody said that everybody may export. */
export class AnonymousRefused extends Schema.TaggedError<AnonymousRefused>()("AnonymousRefused", {
  host: Schema.String,
}) {
  override get message(): string {
    return (
      `others can reach ${this.host}, and could export everything that is recorded: ` +
      "say who may with --auth kubernetes or --auth token, or insist with --allow-anonymous"
    )
  }
}

/** The settings cannot work; to be asked before anything is begun. */
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

export interface AccessSurroundings {
  /** What it listens on. */
  readonly host: string
  readonly credentials: EndpointSource & { readonly defaultNamespace: string }
  readonly userAgent: string
  readonly clock: Clock
  /** Why nobody can be let in now; once per reason. */
  readonly trouble: (reason: string) => void
  /** What was told of is over. */
  readonly recovered: () => void
}

/** On an address that others reach nobody knows by which names they do, unless somebody says. */
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
          return withoutForeignPages(anybody, ownNames(settings, host))
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
