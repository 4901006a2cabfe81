/**
 * Asks the API server to authenticate a token and to authorise a user: TokenReview and SubjectAccessReview, with credentials of the
 * program's own. After a 401 the credentials are read again and the request is repeated once.
 */

import type { Clock } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import { ApiClient } from "../client/api-client.ts"
import type { ApiError } from "../client/api-errors.ts"
import type { ApiObject } from "../client/objects.ts"
import type { EndpointSource } from "../endpoint.ts"

// A bounded cache of decisions with expiry: a client that sends many tokens can only evict other entries.

export class DecisionCache<Value> {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #maximum: number
  /** Oldest first. */
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>()

  /** `maximum`: the number of entries kept. */
  constructor(clock: Pick<Clock, "monotonicMs">, maximum: number) {
    this.#clock = clock
    this.#maximum = maximum
  }

  /** `undefined` if there is no entry or it has expired. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (this.#clock.monotonicMs() < entry.until) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  /** Keeps a value for `lifeMs` ms. */
  set(key: string, value: Value, lifeMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: this.#clock.monotonicMs() + lifeMs })
    const oldest = this.#entries.keys().next().value
    if (this.#entries.size > this.#maximum && oldest !== undefined) this.#entries.delete(oldest)
  }
}

/** `user` of a TokenReview, whose fields a SubjectAccessReview takes almost unchanged. */
export interface ReviewedUser {
  readonly username: string
  readonly uid?: string
  readonly groups?: ReadonlyArray<string>
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
}

/** The action to authorise, in one of the two forms of a SubjectAccessReview. */
export type Attributes =
  | {
      readonly resourceAttributes: {
        readonly group: string
        readonly resource: string
        readonly verb: string
        /** Empty: all namespaces, or a cluster-scoped resource. */
        readonly namespace: string
        /** Absent: all objects. */
        readonly name?: string
      }
    }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } }

/** The review failed; `isForbidden`: because the program is not permitted to create it. */
export class ReviewFailed extends Error {
  override readonly name = "ReviewFailed"
  readonly isForbidden: boolean
  constructor(message: string, isForbidden: boolean) {
    super(message)
    this.isForbidden = isForbidden
  }
}

/** ms for one review: the client's own request waits for it. */
const deadlineMs = 10_000

const review = (group: string, kind: string, plural: string) => ({
  gvk: { group, version: "v1", kind },
  plural,
  namespaced: false,
})
const tokenReviews = review("authentication.k8s.io", "TokenReview", "tokenreviews")
const accessReviews = review("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews")

export class Reviews {
  readonly #client: ApiClient

  /** `credentials`: of the asking process, which needs the right to create reviews. */
  constructor(credentials: EndpointSource, userAgent: string) {
    this.#client = new ApiClient({ server: credentials, userAgent, deadlineMs })
  }

  /** The user that the token belongs to; `undefined` if it is not valid. Rejects with {@link ReviewFailed}. */
  async authenticate(token: string): Promise<ReviewedUser | undefined> {
    const status = await this.#review(tokenReviews, { token })
    const user: Partial<ReviewedUser> | undefined = isRecord(status.user) ? status.user : undefined
    if (status.authenticated !== true || typeof user?.username !== "string" || user.username === "") return undefined
    return { ...user, username: user.username }
  }

  /** Whether the user is authorised and, if not, the server's remark, if any. Rejects with {@link ReviewFailed}. */
  async authorise(
    { username, ...user }: ReviewedUser,
    attributes: Attributes,
  ): Promise<{ readonly isAllowed: boolean; readonly remark: string }> {
    const status = await this.#review(accessReviews, { user: username, ...user, ...attributes })
    const { evaluationError } = status
    return { isAllowed: status.allowed === true, remark: typeof evaluationError === "string" ? evaluationError : "" }
  }

  close(): void {
    this.#client.close()
  }

  async #review(kind: typeof tokenReviews, spec: object): Promise<Readonly<Record<string, unknown>>> {
    const name = kind.gvk.kind
    const object: ApiObject = { apiVersion: `${kind.gvk.group}/v1`, kind: name, metadata: { name: "" }, spec }
    const answer = await this.#client.create(kind, object, { isRepeatable: true }).catch((cause: ApiError) => {
      if (cause._tag === "ApiUnreachableError") throw new ReviewFailed(`${name}: ${cause.detail}`, false)
      throw new ReviewFailed(`${name}: HTTP ${cause.code}: ${cause.detail}`, cause._tag === "ForbiddenError")
    })
    const status = isRecord(answer) ? answer.status : undefined
    if (!isRecord(status)) throw new ReviewFailed(`${name}: the response is not a ${name}`, false)
    return status
  }
}
