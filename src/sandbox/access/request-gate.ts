/** What every request over HTTP passes: authentication, impersonation and authorization, in this order. */

import type { AccessControl, RequestUser } from "../../apiserver/access-control.ts"
import { type Failure, unauthorized } from "../../apiserver/answers/failure.ts"
import type { Exchange } from "../../apiserver/http/exchange.ts"
import type { AccessAttributes, Authorizer, Decision } from "../rbac/access-attributes.ts"
import type { Authenticator } from "./authentication.ts"
import { forbiddenAccess } from "./forbidden.ts"
import { impersonated, isImpersonating } from "./impersonation.ts"
import { attributesOf } from "./request-attributes.ts"
import { masters } from "./users.ts"

export class RequestGate implements AccessControl {
  readonly #authenticator: Authenticator
  readonly #authorizer: Authorizer

  constructor(authenticator: Authenticator, authorizer: Authorizer) {
    this.#authenticator = authenticator
    this.#authorizer = authorizer
  }

  admit(exchange: Exchange): Failure | undefined {
    const { request } = exchange
    const sender = this.#authenticator.userOf(request)
    if (sender === undefined) return unauthorized
    const user = isImpersonating(request.rawHeaders)
      ? impersonated(this.#authorizer, sender, request.headersDistinct, request.url ?? "")
      : sender
    if ("type" in user) return user
    const { path, route, query } = exchange
    const attributes = attributesOf({ method: request.method ?? "", path, route, query })
    const { isAllowed, reason } = this.#authorizer.authorize(user, attributes)
    if (!isAllowed) return forbiddenAccess(user, attributes, reason)
    exchange.user = user
    return undefined
  }
}

/** Lets the members of `system:masters` do everything before anybody asks the rules, as the real server does. */
export class MastersFirst implements Authorizer {
  readonly #rules: Authorizer

  constructor(rules: Authorizer) {
    this.#rules = rules
  }

  authorize(user: RequestUser, attributes: AccessAttributes): Decision {
    if (user.groups.includes(masters)) return { isAllowed: true, reason: "" }
    return this.#rules.authorize(user, attributes)
  }
}
