/** One request for a token of a ServiceAccount, and the reasons for which there may be none. */

import * as Schema from "effect/Schema"
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { ApiError } from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ServiceAccountName } from "./service-account.ts"

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
export const requestToken = async (
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
