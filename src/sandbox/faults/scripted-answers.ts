/** Responses that a test sets instead of the server's own: 403, 429, 500 and the like, with the real server's bodies. */

import {
  badRequest,
  type Exchange,
  type Failure,
  forbiddenRequest,
  internalError,
  type Resource,
  tooManyRequests,
  unauthorized,
  unavailable,
  unexplained,
  unknownResource,
} from "../../apiserver/index.ts"

// The scope of a fault: the plural of a kind, `discovery` for all paths that are not a resource, or everything.

/** The scope that covers all kinds and discovery. */
export const everything = "*"

export const covers = (scope: string, target: string): boolean => scope === everything || scope === target

export const anyCovers = (scopes: ReadonlySet<string>, target: string): boolean =>
  scopes.has(everything) || scopes.has(target)

export interface RespondOptions {
  /** Number of requests that get this response. Default: all until the faults are cleared. */
  readonly times?: number
  /** `Retry-After` in whole seconds. Default: none, except 1 for a 429. */
  readonly retryAfterSeconds?: number
  /** Only requests of this verb (`get`, `list`, `watch`, `discovery`). Default: all. */
  readonly verb?: string
}

interface Rule extends RespondOptions {
  readonly scope: string
  readonly status: number
  left: number
}

export class ScriptedAnswers {
  readonly #user: string
  #rules: Rule[] = []

  /** `user` is the user that a 403 names as refused. */
  constructor(user: string) {
    this.#user = user
  }

  add(scope: string, status: number, options: RespondOptions): void {
    this.#rules.push({ ...options, scope, status, left: options.times ?? Number.POSITIVE_INFINITY })
  }

  clear(): void {
    this.#rules = []
  }

  /** The first rule that covers the request and is not used up. `resource` is absent if the path names no served kind. */
  take(exchange: Exchange, resource: Resource | undefined): Failure | undefined {
    const rule = this.#rules.find(
      ({ scope, verb, left }) => left > 0 && covers(scope, exchange.scope) && (verb ?? exchange.verb) === exchange.verb,
    )
    if (rule === undefined) return undefined
    rule.left--
    return this.#failure(rule, exchange, resource)
  }

  #failure({ status, retryAfterSeconds }: Rule, exchange: Exchange, resource: Resource | undefined): Failure {
    const { route, verb } = exchange
    switch (status) {
      case 400:
        return badRequest("the request was refused")
      case 401:
        return unauthorized
      case 403:
        if (resource === undefined || route.type !== "resource") return unexplained(status, retryAfterSeconds)
        return forbiddenRequest(resource, { ...route, verb, user: this.#user })
      case 404:
        return unknownResource
      case 429:
        return tooManyRequests(retryAfterSeconds)
      case 500:
        return internalError("etcdserver: request timed out", retryAfterSeconds)
      case 503:
        return unavailable(retryAfterSeconds)
      default:
        return unexplained(status, retryAfterSeconds)
    }
  }
}
