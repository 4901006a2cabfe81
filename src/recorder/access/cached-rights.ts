/**
 * Readers' rights by SubjectAccessReview, each decision kept for seconds: a permission that is revoked is effective after {@link grantedMs} at the latest.
 *
 * Bounded: the oldest of {@link maximumRights} decisions is forgotten first, {@link maximumReviews} reviews run at once, and of a question that is asked several times
 * at once there is one review. Failures are not kept.
 */
import { createHash } from "node:crypto"
import type { Clock } from "../../clock.ts"
import { DecisionCache } from "../../kube/access/decision-cache.ts"
import type { ReviewedUser, Reviews } from "../../kube/access/reviews.ts"
import type { MayRead, ReadAction } from "./may-read.ts"

/** ms for which a granted permission is kept: pages of one answer, and a dashboard's questions, share reviews. */
export const grantedMs = 10_000
/** ms for a denied one: shorter, because whoever was just given a permission tries again. */
export const deniedMs = 5000
/** Decisions kept, some 250 bytes each. */
export const maximumRights = 20_000
/** A question about 150 kinds takes as many reviews. */
export const maximumReviews = 16

interface CachedRightsOptions {
  readonly authorise: Reviews["authorise"]
  readonly clock: Pick<Clock, "monotonicMs">
}

export const cachedRights = ({ authorise, clock }: CachedRightsOptions): MayRead => {
  const decisions = new DecisionCache<boolean>(clock, maximumRights)
  const asking = new Map<string, Promise<boolean>>()
  const waiting: Array<() => void> = []
  let running = 0

  const inTurn = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    if (running >= maximumReviews) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await ask()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
  const review = async (key: string, identity: ReviewedUser, action: ReadAction): Promise<boolean> => {
    try {
      const { isAllowed } = await inTurn(() => authorise(identity, { resourceAttributes: action }))
      decisions.set(key, isAllowed, isAllowed ? grantedMs : deniedMs)
      return isAllowed
    } finally {
      asking.delete(key)
    }
  }
  return async (identity, action) => {
    const { verb, group, resource, namespace, name = "" } = action
    const key = [keyOf(identity), verb, group, resource, namespace, name].join(" ")
    const known = decisions.get(key) ?? asking.get(key)
    if (known !== undefined) return known
    const question = review(key, identity, action)
    asking.set(key, question)
    return question
  }
}

/** Whatever a decision may depend on. */
const keyOf = ({ username, uid, groups, extra }: ReviewedUser): string =>
  createHash("sha256")
    .update(JSON.stringify([username, uid, groups, extra]))
    .digest("base64")
