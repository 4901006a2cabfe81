/**
 * `--auth kubernetes`: the API server authenticates clients and authorises them. An export requires `create`, and read-only requests `get`,
 * on exports.kubereel.dev in the recorder's own namespace, so that a Role there is enough; metrics require `get` on the path /metrics, the
 * permission with which Prometheus scrapes everything else. Questions about the past need no permission of their own: who may not export is shown what it may
 * read in the cluster (access.ts).
 *
 * Who may use the interface, and what a reader may read, are decided and kept apart. Of the first, a positive decision is kept for a minute and a negative one for
 * seconds: a revoked permission remains effective for that long,
 * and the number of reviews per token is bounded. Under overload, at most {@link maximumQuestions} reviews run at once; further requests
 * get 503.
 */
import { createHash } from "node:crypto"
import type { Clock } from "../../clock.ts"
import { type Attributes, DecisionCache, type ReviewedUser, ReviewFailed, type Reviews } from "../../kube/index.ts"

import { visible } from "../../text/index.ts"
import {
  type Access,
  type Action,
  type Decision,
  type MayRead,
  type PinAction,
  presentedToken,
  type ReadAction,
} from "./access.ts"

// Readers' rights by SubjectAccessReview, each decision kept for seconds: a permission that is revoked is effective after {@link grantedMs} at the latest.
//
// Bounded: the oldest of {@link maximumRights} decisions is forgotten first, {@link maximumReviews} reviews run at once, and of a question that is asked several times
// at once there is one review. Failures are not kept.

/** ms for which a granted permission is kept: pages of one answer, and a dashboard's questions, share reviews. */
export const grantedMs = 10_000
/** ms for a denied one: shorter, because a client that was just given a permission tries again. */
export const deniedMs = 5000
/** ms for one of a search through namespaces, which an open page repeats every few seconds. */
export const deniedSearchMs = 60_000
/** Decisions kept, some 250 bytes each. */
const maximumRights = 20_000
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
      const { isSearch, ...resourceAttributes } = action
      const { isAllowed } = await inTurn(() => authorise(identity, { resourceAttributes }))
      decisions.set(key, isAllowed, isAllowed ? grantedMs : isSearch === true ? deniedSearchMs : deniedMs)
      return isAllowed
    } finally {
      asking.delete(key)
    }
  }
  return async (identity, action) => {
    const { verb, group, resource, namespace, name = "", isSearch = false } = action
    const key = [keyOf(identity), verb, group, resource, namespace, name, isSearch].join(" ")
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

/** Group and resource for RBAC rules; no such objects exist. */
const exportsGroup = "kubereel.dev"
const exportsResource = "exports"

/** ms for which positive and negative decisions are cached. */
export const allowedMs = 60_000
export const refusedMs = 5000
/** Number of cached decisions, about 300 bytes each. */
const maximumDecisions = 1000
/** Concurrent reviews. */
export const maximumQuestions = 16

interface KubernetesAccessOptions {
  readonly reviews: Pick<Reviews, "authenticate" | "authorise" | "close">
  /** The recorder's own namespace, which holds the Roles that permit exports. */
  readonly namespace: string
  readonly clock: Pick<Clock, "monotonicMs">
  /** Called once per reason when the API server cannot be asked, and with `undefined` when it can be again. */
  readonly trouble: (reason: string | undefined) => void
}

export const kubernetesAccess = (options: KubernetesAccessOptions): Access => {
  const cache = new DecisionCache<Decision>(options.clock, maximumDecisions)
  const asking = new Map<string, Promise<Decision>>()
  let said: string | undefined
  const say = (trouble: string | undefined): void => {
    if (trouble !== said) options.trouble(trouble)
    said = trouble
  }
  const { reviews, clock } = options
  const mayRead = cachedRights({
    clock,
    authorise: async (user, attributes) => {
      try {
        const answer = await reviews.authorise(user, attributes)
        say(undefined)
        return answer
      } catch (cause) {
        if (cause instanceof ReviewFailed) say(cause.message)
        throw cause
      }
    },
  })
  const ask = async (key: string, token: string, action: Action): Promise<Decision> => {
    try {
      const decision = await review(options, mayRead, token, action)
      say(undefined)
      cache.set(key, decision, decision.tag === "allowed" ? allowedMs : refusedMs)
      return decision
    } catch (cause) {
      if (!(cause instanceof ReviewFailed)) throw cause
      say(cause.isForbidden ? `${cause.message}. ${missingReviews}` : cause.message)
      const message = cause.isForbidden
        ? `the recorder is not permitted to check access with the API server. ${missingReviews}`
        : "the API server could not check access; try again. The recorder's log has the reason"
      return { tag: "refused", status: 503, message }
    } finally {
      asking.delete(key)
    }
  }
  return {
    async decide(headers, action) {
      const presented = presentedToken(headers)
      if (presented.tag === "refused") return presented.refusal
      const key = `${action} ${createHash("sha256").update(presented.token).digest("base64")}`
      const known = cache.get(key) ?? asking.get(key)
      if (known !== undefined) return known
      if (asking.size >= maximumQuestions)
        return { tag: "refused", status: 503, message: "too many tokens are being checked; try again" }
      const question = ask(key, presented.token, action)
      asking.set(key, question)
      return question
    },
    close: () => options.reviews.close(),
  }
}

const missingReviews =
  "Its ServiceAccount needs a ClusterRole with create on tokenreviews.authentication.k8s.io and " +
  'subjectaccessreviews.authorization.k8s.io; "reel k8s --auth kubernetes" prints it'

const review = async (
  { reviews, namespace }: KubernetesAccessOptions,
  mayRead: MayRead,
  token: string,
  action: Action,
): Promise<Decision> => {
  const user = await reviews.authenticate(token)
  if (user === undefined) {
    const message =
      "the API server does not accept this token: it is for a different cluster or audience, or has expired"
    return { tag: "refused", status: 401, message }
  }
  const { isAllowed, remark } = await reviews.authorise(user, attributesOf(action, namespace))
  if (isAllowed) return { tag: "allowed", who: visible(user.username) }
  if (action === "query") return { tag: "allowed", who: visible(user.username), reader: { identity: user, mayRead } }
  const said = remark === "" ? "" : ` (the API server adds: ${visible(remark.slice(0, 300))})`
  return {
    tag: "refused",
    status: 403,
    message: `${visible(user.username)} ${missing(action, namespace)}${said}`,
  }
}

const verbs = { export: "create", query: "create", coverage: "get" } as const

/** On the path `/v1/pins`, which is in no namespace: who may pin keeps what limits would remove, and needs a right that others do not have. */
const pathVerbs: Readonly<Record<PinAction | "metrics", string>> = {
  ...{ metrics: "get", "list-pins": "get", "create-pin": "create", "delete-pin": "delete" },
}

type PathAction = keyof typeof pathVerbs

const isOfPath = (action: Action): action is PathAction => action in pathVerbs

const pathOf = (action: PathAction): string => (action === "metrics" ? "/metrics" : "/v1/pins")

const attributesOf = (action: Action, namespace: string): Attributes =>
  isOfPath(action)
    ? { nonResourceAttributes: { path: pathOf(action), verb: pathVerbs[action] } }
    : {
        resourceAttributes: { group: exportsGroup, resource: exportsResource, verb: verbs[action], namespace },
      }

/** The missing permission, and the rule that grants it. */
const missing = (action: Action, namespace: string): string => {
  if (isOfPath(action)) {
    const [path, verb] = [pathOf(action), pathVerbs[action]]
    return `may not ${verb} ${path}. A ClusterRole bound to this user needs the rule {nonResourceURLs: ["${path}"], verbs: ["${verb}"]}`
  }
  const verb = verbs[action]
  const rule = `{apiGroups: ["${exportsGroup}"], resources: ["${exportsResource}"], verbs: ["${verb}"]}`
  return `may not ${verb} ${exportsResource}.${exportsGroup} in namespace ${namespace}. A Role there, bound to this user, needs the rule ${rule}`
}
