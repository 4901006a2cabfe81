/**
 * The HTTPS server that an API server asks about pods, with `POST` to one path. A review is always answered with
 * "allowed"; what goes wrong costs the pod its patch. What is no review is refused, and said.
 */
import { allowedWith, type ReviewRequest, ReviewServer, type ServerCertificate } from "../../host/index.ts"
import { isRecord } from "../../is-record.ts"
import type { Pod } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"

/** One request of an API server about a Pod. */
export interface PodReview {
  readonly uid: string
  readonly operation: "CREATE" | "UPDATE"
  readonly namespace: string
  /** Its name is empty if the server generates one. */
  readonly pod: Pod
  /** The stored object; `undefined` for a creation. */
  readonly before: Pod | undefined
  /** Nothing is stored. */
  readonly isDryRun: boolean
}

/** An operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: "add"
  /** JSON pointer. */
  readonly path: string
  readonly value: unknown
}

/** The review of a Pod; `undefined`: the request is about anything else. */
const podReviewIn = ({
  uid,
  operation,
  namespace,
  object,
  oldObject,
  dryRun,
}: ReviewRequest): PodReview | undefined => {
  const isAboutPod = (operation === "CREATE" || operation === "UPDATE") && isPod(object)
  if (!isAboutPod || typeof namespace !== "string") return undefined
  const before = operation === "UPDATE" && isPod(oldObject) ? oldObject : undefined
  return { uid: String(uid), operation, namespace, pod: object, before, isDryRun: dryRun === true }
}

const isPod = (value: unknown): value is Pod =>
  isRecord(value) && value.kind === "Pod" && isRecord(value.metadata) && isRecord(value.spec)

/** `review`: what to change in a pod; may reject, which costs the pod its patch. */
interface WebhookServerOptions {
  /** Where it listens; port 0: any that is free. */
  readonly address: string
  readonly port: number
  /** API servers do not authenticate to webhooks: a path that cannot be guessed keeps others from sending reviews. */
  readonly path: string
  readonly certificate: Omit<ServerCertificate, "authority">
  readonly review: (review: PodReview) => Promise<ReadonlyArray<PatchOperation>>
  /** Gets one sentence for each pod that was not changed because of a failure, and for each request of an API server that is no review. */
  readonly onProblem: (problem: string) => void
}

/** Rejects with the error of the socket. */
export const startWebhookServer = (options: WebhookServerOptions): Promise<ReviewServer> =>
  ReviewServer.start({
    ...options,
    at: (path) =>
      path === options.path
        ? async (request) => {
            // Always allowed: a replay changes pods and rejects none.
            const review = podReviewIn(request)
            return allowedWith(review === undefined ? [] : await patch(review, options))
          }
        : undefined,
  })

const patch = async (review: PodReview, options: WebhookServerOptions): Promise<ReadonlyArray<PatchOperation>> => {
  try {
    return await options.review(review)
  } catch (error) {
    const { name, generateName = "" } = review.pod.metadata
    options.onProblem(
      `pod ${review.namespace}/${name || generateName} lives as the cluster decides: ${messageOf(error)}`,
    )
    return []
  }
}
