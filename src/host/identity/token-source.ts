/**
 * The credentials of one ServiceAccount: a token that is renewed when at most 80 % of its life is over, while requests
 * continue with the old one; or, if the host may make no tokens for it, the host's own credentials with impersonation,
 * which is tried again every few minutes.
 *
 * Guaranteed: one request for a token at a time, and after a failure none before a back-off; an unchanged endpoint is the same object. No timer runs here,
 * so an idle module costs nothing.
 */

import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import {
  type ApiClient,
  type ApiEndpoint,
  type ApiError,
  type EndpointSource,
  impersonating,
  kinds,
} from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { type ServiceAccountName, userOfAccount } from "./service-account.ts"

interface TokenSourceOptions {
  readonly account: ServiceAccountName
  /** The host's own credentials: where the server is, and on whose behalf tokens are requested. */
  readonly host: EndpointSource
  /** With the host's own credentials. */
  readonly client: Pick<ApiClient, "createSubresource">
  readonly clock: Pick<Clock, "monotonicMs">
  /** Returns a number in [0, 1): spreads the renewals of many modules. */
  readonly random: () => number
  /** Of a token; the server gives at least 600. Default 3600, as the kubelet's. */
  readonly expirationSeconds?: number
  /** Called once per reason when there is no new token, and with `undefined` when there is one again. */
  readonly onTrouble?: (problem: TokenRefused | undefined) => void
}

type State =
  | { readonly tag: "without" }
  /** Times are monotonic ms. */
  | { readonly tag: "token"; readonly token: string; readonly renewAt: number; readonly expiresAt: number }
  | { readonly tag: "impersonating" }

/** The part of a token's life after which it is renewed at the latest, and the part before that over which renewals spread. */
const renewAfter = 0.8
const spread = 0.1
/** ms before its end at which a token is no longer used: a request takes time. */
const marginMs = 10_000
/** ms between requests after a 401: a server that refuses every token must not be flooded. */
const forcedMs = 10_000
/** ms until the first attempt after a failure, doubled for each further one, and the longest. */
const firstRetryMs = 1000
const longestRetryMs = 60_000
/** ms until a host that may make no tokens tries again. */
const fallbackRetryMs = 300_000

export class TokenSource implements EndpointSource {
  readonly #options: TokenSourceOptions
  readonly #impersonating: EndpointSource
  #state: State = { tag: "without" }
  #running: Promise<void> | undefined
  /** Monotonic ms: no request before. */
  #nextAttempt = Number.NEGATIVE_INFINITY
  #forcedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #problem: TokenRefused | undefined
  #made: { readonly given: ApiEndpoint; readonly token: string; readonly endpoint: ApiEndpoint } | undefined

  constructor(options: TokenSourceOptions) {
    this.#options = options
    const user = userOfAccount(options.account).username
    // The server derives a ServiceAccount's groups itself.
    this.#impersonating = impersonating(options.host, { user, uid: undefined, groups: [], extra: [] })
  }

  /** Why there is no new token, while the old one or impersonation is in use. */
  get problem(): TokenRefused | undefined {
    return this.#problem
  }

  /** Whether requests act with the host's credentials, because it may make no tokens. */
  get isImpersonating(): boolean {
    return this.#state.tag === "impersonating"
  }

  /** Rejects with {@link TokenRefused}, or with the error of the host's own credentials. */
  async endpoint(): Promise<ApiEndpoint> {
    if (this.#isDue() && this.#now() >= this.#nextAttempt) this.#start()
    if (!this.#isUsable()) await this.#running
    const state = this.#state
    if (state.tag === "impersonating") return this.#impersonating.endpoint()
    if (state.tag === "token" && this.#isUsable()) return this.#withToken(state.token)
    throw this.#problem ?? new TokenRefused({ ...this.#options.account, failure: "other", detail: "it has expired" })
  }

  /** After a 401: gets another token, or other credentials for the host if those are in use. Keeps what there is if it gets none. */
  async onUnauthorized(): Promise<void> {
    if (this.#state.tag === "impersonating") return this.#options.host.onUnauthorized()
    if (this.#running === undefined) {
      if (this.#now() - this.#forcedAt < forcedMs) return
      this.#forcedAt = this.#now()
      this.#start()
    }
    await this.#running
  }

  #now(): number {
    return this.#options.clock.monotonicMs()
  }

  #isDue(): boolean {
    return this.#state.tag !== "token" || this.#now() >= this.#state.renewAt
  }

  #isUsable(): boolean {
    const state = this.#state
    return state.tag === "impersonating" || (state.tag === "token" && this.#now() < state.expiresAt - marginMs)
  }

  #start(): void {
    this.#running ??= this.#renew().finally(() => {
      this.#running = undefined
    })
  }

  /** Never rejects: the outcome is the state and the problem. */
  async #renew(): Promise<void> {
    const { client, account, random, expirationSeconds = 3600 } = this.#options
    const sentAt = this.#now()
    try {
      const { token, seconds } = await requestToken(client, account, expirationSeconds)
      const lifeMs = seconds * 1000
      const renewAt = sentAt + lifeMs * (renewAfter - spread * random())
      this.#state = { tag: "token", token, renewAt, expiresAt: sentAt + lifeMs }
      this.#failures = 0
      this.#nextAttempt = Number.NEGATIVE_INFINITY
      this.#tell(undefined)
    } catch (cause) {
      const problem =
        cause instanceof TokenRefused
          ? cause
          : new TokenRefused({ ...account, failure: "other", detail: messageOf(cause) })
      this.#fail(problem)
    }
  }

  #fail(problem: TokenRefused): void {
    const isFallback = problem.failure === "forbidden" && !(this.#state.tag === "token" && this.#isUsable())
    if (isFallback) this.#state = { tag: "impersonating" }
    else if (problem.failure === "absent" || !this.#isUsable()) this.#state = { tag: "without" }
    const ownMs = Math.min(longestRetryMs, firstRetryMs * 2 ** this.#failures++)
    this.#nextAttempt = this.#now() + (isFallback ? fallbackRetryMs : ownMs)
    this.#tell(problem)
  }

  #tell(problem: TokenRefused | undefined): void {
    const isNew = problem?.message !== this.#problem?.message
    this.#problem = problem
    if (isNew) this.#options.onTrouble?.(problem)
  }

  async #withToken(token: string): Promise<ApiEndpoint> {
    const given = await this.#options.host.endpoint()
    // The same object while nothing changes, because connections are kept per endpoint object.
    if (this.#made?.given !== given || this.#made.token !== token) {
      // A certificate would make the request the host's own.
      const { clientCertificate: _certificate, clientKey: _key, headers, ...server } = given
      const others = headers.filter(([name]) => !/^(authorization$|impersonate-)/i.test(name))
      const endpoint = { ...server, headers: [...others, ["Authorization", `Bearer ${token}`] as const] }
      this.#made = { given, token, endpoint }
    }
    return this.#made.endpoint
  }
}

/** There is no new token. */
export class TokenRefused extends Schema.TaggedError<TokenRefused>()("TokenRefused", {
  namespace: Schema.String,
  /** Of the ServiceAccount. */
  name: Schema.String,
  failure: Schema.Literals([
    /** The host may not make tokens for it. */
    "forbidden",
    /** There is no such ServiceAccount. */
    "absent",
    /** Anything else: no connection, an overloaded server, an unreadable response. */
    "other",
  ]),
  /** The server's words, or what became of the request. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `no token for ServiceAccount ${this.namespace}/${this.name}: ${this.detail}${advice[this.failure]}`
  }
}

const advice = {
  forbidden: "; the host needs the right to create serviceaccounts/token there",
  absent: "; create it, or name another one",
  other: "",
} as const

interface GivenToken {
  readonly token: string
  /** Seconds from the time of the request: the server may give less than it was asked for. */
  readonly seconds: number
}

interface TokenAnswer {
  readonly spec?: { readonly expirationSeconds?: unknown }
  readonly status?: { readonly token?: unknown }
}

/** Rejects with {@link TokenRefused}. */
const requestToken = async (
  client: Pick<ApiClient, "createSubresource">,
  account: ServiceAccountName,
  expirationSeconds: number,
): Promise<GivenToken> => {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } }
  const answer = await client
    .createSubresource<TokenAnswer | null>(kinds.serviceAccounts, account, "token", body)
    .catch((error: ApiError) => {
      throw new TokenRefused({ ...account, failure: failureOf(error), detail: error.detail })
    })
  const token = answer?.status?.token
  if (typeof token !== "string" || token === "")
    throw new TokenRefused({ ...account, failure: "other", detail: "the response has no token" })
  const given = answer?.spec?.expirationSeconds
  return { token, seconds: typeof given === "number" && given > 0 ? given : expirationSeconds }
}

const failureOf = ({ _tag }: ApiError): TokenRefused["failure"] => {
  if (_tag === "ForbiddenError") return "forbidden"
  return _tag === "NotFoundError" ? "absent" : "other"
}
