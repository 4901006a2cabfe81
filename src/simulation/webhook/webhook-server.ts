/**
 * The HTTPS server that an API server asks about pods, with `POST` to one path. A review is always answered with
 * "allowed"; what goes wrong costs the pod its patch. What is no review is refused, and said.
 */
import { mostBytes, ReviewServer, type ServerCertificate } from "../../host/index.ts"
import { isRecord } from "../../is-record.ts"
import type { Pod } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"

// AdmissionReview of `admission.k8s.io/v1`: what an API server asks of a webhook, and the answer.

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

/** Why a body is not a review; the text is for the server's log. */
type ReviewProblem = { readonly problem: string }

/** Reads a request: the review of a Pod, the UID of a request about anything else, or what is wrong with it. `undefined`: a body that is too long. */
export const readReview = (body: string | undefined): PodReview | { readonly uid: string } | ReviewProblem => {
  if (body === undefined) return { problem: `the body has more than ${mostBytes} bytes` }
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return { problem: "the body is not JSON" }
  }
  if (!isRecord(value) || value.kind !== "AdmissionReview" || value.apiVersion !== reviewVersion)
    return { problem: `the body is not an AdmissionReview of ${reviewVersion}` }
  const { request } = value
  if (!isRecord(request) || typeof request.uid !== "string" || request.uid === "")
    return { problem: "the review has no request" }
  const { uid, operation, namespace, object, oldObject, dryRun } = request
  const isAboutPod = (operation === "CREATE" || operation === "UPDATE") && isPod(object)
  if (!isAboutPod || typeof namespace !== "string") return { uid }
  const before = operation === "UPDATE" && isPod(oldObject) ? oldObject : undefined
  return { uid, operation, namespace, pod: object, before, isDryRun: dryRun === true }
}

const isPod = (value: unknown): value is Pod =>
  isRecord(value) && value.kind === "Pod" && isRecord(value.metadata) && isRecord(value.spec)

const reviewVersion = "admission.k8s.io/v1"

/** Always allows: a replay changes pods and rejects none. */
const answerReview = (uid: string, patch: ReadonlyArray<PatchOperation>): string => {
  const changed = patch.length > 0 && {
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  }
  const response = { uid, allowed: true, ...changed }
  return JSON.stringify({ apiVersion: reviewVersion, kind: "AdmissionReview", response })
}

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
    serves: (path) => path === options.path,
    answer: async (_path, body) => {
      const review = readReview(body)
      if ("problem" in review) {
        options.onProblem(`a review was refused: ${review.problem}`)
        return { status: body === undefined ? 413 : 400, text: `${review.problem}\n` }
      }
      return { status: 200, text: answerReview(review.uid, "pod" in review ? await patch(review, options) : []) }
    },
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
