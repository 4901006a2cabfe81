/**
 * What users may do, according to the API server (SubjectAccessReview).
 *
 * Guaranteed: what cannot be found out is not allowed, and is reported. Answers are cached, positive ones for a minute
 * and negative ones for seconds, so a change of rights takes effect after that time at the latest. The same question is
 * asked once at a time, however many callers wait for it; different ones run side by side, as many as the reviewing
 * client has places. A right in all namespaces is one in each of them, and saves asking about each. Memory is bounded
 * by the number of cached answers.
 */

import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import { DecisionCache, type Kind, type ReviewedUser, ReviewFailed, type Reviews } from "../../kube/index.ts"

import { messageOf } from "../../message-of.ts"

/** The API server could not be asked, so the answer is no for the moment. */
export class AccessUnknown extends Schema.TaggedError<AccessUnknown>()("AccessUnknown", {
  user: Schema.String,
  verb: Schema.String,
  /** `deployments.apps`. */
  resource: Schema.String,
  /** Empty for all namespaces and for cluster-scoped kinds. */
  namespace: Schema.String,
  /** The server's words, or what became of the request. */
  detail: Schema.String,
  /** The host itself lacks the right to ask. */
  isForbidden: Schema.Boolean,
}) {
  override get message(): string {
    const where = this.namespace === "" ? "" : ` in namespace ${this.namespace}`
    const advice = this.isForbidden
      ? "; the host needs a ClusterRole with create on subjectaccessreviews.authorization.k8s.io"
      : ""
    return `cannot find out whether ${this.user} may ${this.verb} ${this.resource}${where}: ${this.detail}${advice}`
  }
}

interface AccessReviewerOptions {
  readonly reviews: Pick<Reviews, "authorise">
  readonly clock: Pick<Clock, "monotonicMs">
  /** ms for which a positive answer counts. Default 60,000: a right that is taken away lasts that long. */
  readonly allowedMs?: number
  /** ms for which a negative answer counts. Default 10,000: a new right is noticed after that time. */
  readonly refusedMs?: number
  /** ms until a question that failed is asked again. Default 1000. */
  readonly failedMs?: number
  /** Cached answers, some 300 bytes each; the oldest is dropped. Default 10,000: 100 modules with 100 questions each. */
  readonly maximumAnswers?: number
  /** Called once per reason when the server cannot be asked, and with `undefined` when it can be again. */
  readonly onTrouble?: (problem: AccessUnknown | undefined) => void
}

/** A question. An absent or empty namespace: all of them; an absent or empty name: all objects. */
type Question = readonly [user: ReviewedUser, verb: string, kind: Kind, namespace?: string, name?: string]

/** Whether the user may, or why that is not known at the moment. */
type AccessAnswer = boolean | AccessUnknown

export class AccessReviewer {
  readonly #options: AccessReviewerOptions
  readonly #answers: DecisionCache<AccessAnswer>
  readonly #asking = new Map<string, Promise<AccessAnswer>>()
  /** The users' part of each key, which may be long. */
  readonly #users = new WeakMap<ReviewedUser, string>()
  #told: string | undefined

  constructor(options: AccessReviewerOptions) {
    this.#options = options
    this.#answers = new DecisionCache(options.clock, options.maximumAnswers ?? 10_000)
  }

  /** Never rejects. For cluster-scoped kinds the namespace is ignored. */
  async answer(...question: Question): Promise<AccessAnswer> {
    const known = this.#known(...question)
    if (known !== undefined) return known
    const [user, verb, kind, namespace = "", name = ""] = question
    const everywhere = await this.#ask(user, verb, kind, "", name)
    if (everywhere === true || namespace === "" || !kind.namespaced) return everywhere
    return inEither(everywhere, await this.#ask(user, verb, kind, namespace, name))
  }

  #known(...[user, verb, kind, namespace = "", name = ""]: Question): AccessAnswer | undefined {
    const everywhere = this.#answers.get(this.#keyOf(user, verb, kind, "", name))
    if (everywhere === true || namespace === "" || !kind.namespaced) return everywhere
    return inEither(everywhere, this.#answers.get(this.#keyOf(user, verb, kind, namespace, name)))
  }

  #ask(...question: Required<Question>): Promise<AccessAnswer> {
    const key = this.#keyOf(...question)
    const known = this.#answers.get(key)
    if (known !== undefined) return Promise.resolve(known)
    const running = this.#asking.get(key)
    if (running !== undefined) return running
    const answer = this.#review(key, ...question).finally(() => this.#asking.delete(key))
    this.#asking.set(key, answer)
    return answer
  }

  async #review(key: string, ...[user, verb, kind, namespace, name]: Required<Question>): Promise<AccessAnswer> {
    const { reviews, allowedMs = 60_000, refusedMs = 10_000, failedMs = 1000 } = this.#options
    const { gvk, plural } = kind
    try {
      const resourceAttributes = { group: gvk.group, resource: plural, verb, namespace, ...(name !== "" && { name }) }
      const { isAllowed } = await reviews.authorise(user, { resourceAttributes })
      this.#tell(undefined)
      this.#answers.set(key, isAllowed, isAllowed ? allowedMs : refusedMs)
      return isAllowed
    } catch (cause) {
      const resource = gvk.group === "" ? plural : `${plural}.${gvk.group}`
      const isForbidden = cause instanceof ReviewFailed && cause.isForbidden
      const facts = { user: user.username, verb, resource, namespace, detail: messageOf(cause), isForbidden }
      const problem = new AccessUnknown(facts)
      this.#tell(problem)
      this.#answers.set(key, problem, failedMs)
      return problem
    }
  }

  #tell(problem: AccessUnknown | undefined): void {
    if (problem?.detail === this.#told) return
    this.#told = problem?.detail
    this.#options.onTrouble?.(problem)
  }

  #keyOf(...[user, verb, { gvk, plural }, namespace, name]: Required<Question>): string {
    const known = this.#users.get(user)
    const who = known ?? JSON.stringify([user.username, user.uid, user.groups, user.extra])
    if (known === undefined) this.#users.set(user, who)
    // What a guest wrote may have spaces in it, which must not make two questions one.
    return JSON.stringify([verb, plural, gvk.group, namespace, name, who])
  }
}

/** The right in all namespaces is not there, or not known: only if it is not there, a refusal in one of them is one. */
const inEither = <Answer extends AccessAnswer | undefined>(everywhere: Answer, there: Answer): Answer =>
  there === false ? everywhere : there
