/**
 * Asks the API server to authenticate a token and to authorise its user: TokenReview and SubjectAccessReview, with the recorder's
 * own credentials. After a 401 the credentials are read again and the request is repeated once.
 */
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { HttpClient } from "../../kube/http/http-client.ts"
import { describeFailure, postOnce } from "../../kube/http/request-once.ts"
import { statusOfResponse } from "../../kube/status.ts"
import { messageOf } from "../../runtime/errors.ts"

/** The recorder's own credentials. */
export interface ReviewCredentials {
  endpoint(): Promise<ApiEndpoint>
  onUnauthorized(): Promise<void>
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
        readonly namespace: string
      }
    }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } }

/** The review failed; `isForbidden`: because the recorder is not permitted to create it. */
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

const paths = {
  TokenReview: ["authentication.k8s.io/v1", "tokenreviews"],
  SubjectAccessReview: ["authorization.k8s.io/v1", "subjectaccessreviews"],
} as const

export class Reviews {
  readonly #credentials: ReviewCredentials
  readonly #userAgent: string
  #client: HttpClient | undefined

  constructor(credentials: ReviewCredentials, userAgent: string) {
    this.#credentials = credentials
    this.#userAgent = userAgent
  }

  /** The user that the token belongs to; `undefined` if it is not valid. Rejects with {@link ReviewFailed}. */
  async whoseToken(token: string): Promise<ReviewedUser | undefined> {
    const status = await this.#review("TokenReview", { token })
    const user = status.user as Partial<ReviewedUser> | undefined
    if (status.authenticated !== true || typeof user?.username !== "string" || user.username === "") return undefined
    return { ...user, username: user.username }
  }

  /** Whether the user is authorised and, if not, the server's remark, if any. Rejects with {@link ReviewFailed}. */
  async mayThey(
    { username, ...user }: ReviewedUser,
    attributes: Attributes,
  ): Promise<{ readonly isAllowed: boolean; readonly remark: string }> {
    const status = await this.#review("SubjectAccessReview", { user: username, ...user, ...attributes })
    const { evaluationError } = status
    return { isAllowed: status.allowed === true, remark: typeof evaluationError === "string" ? evaluationError : "" }
  }

  close(): void {
    this.#client?.close()
  }

  async #review(kind: keyof typeof paths, spec: object): Promise<Readonly<Record<string, unknown>>> {
    const [version, plural] = paths[kind]
    const body = JSON.stringify({ apiVersion: version, kind, spec })
    const ask = async () => {
      const outcome = await postOnce(await this.#connected(), `/apis/${version}/${plural}`, body, { deadlineMs })
      if (outcome.tag === "response") return outcome
      throw new ReviewFailed(`${kind}: ${describeFailure(outcome)}`, false)
    }
    let answer = await ask()
    if (answer.status === 401) {
      await this.#credentials.onUnauthorized().catch((cause: unknown) => {
        throw new ReviewFailed(`${kind}: ${messageOf(cause)}`, false)
      })
      answer = await ask()
    }
    if (answer.status >= 300) {
      const { message } = statusOfResponse(answer.status, answer.headers, answer.body)
      throw new ReviewFailed(`${kind}: HTTP ${answer.status}: ${message}`, answer.status === 403)
    }
    return statusIn(kind, answer.body)
  }

  async #connected(): Promise<HttpClient> {
    const endpoint = await this.#credentials.endpoint().catch((cause: unknown) => {
      throw new ReviewFailed(messageOf(cause), false)
    })
    if (this.#client === undefined) this.#client = new HttpClient(endpoint, { userAgent: this.#userAgent })
    else this.#client.updateEndpoint(endpoint)
    return this.#client
  }
}

const statusIn = (kind: string, body: Buffer): Readonly<Record<string, unknown>> => {
  const unusable = (): ReviewFailed => new ReviewFailed(`${kind}: the response is not a ${kind}`, false)
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString("utf8"))
  } catch {
    throw unusable()
  }
  const status = (parsed as { readonly status?: unknown } | null)?.status
  if (typeof status !== "object" || status === null) throw unusable()
  return status as Record<string, unknown>
}
