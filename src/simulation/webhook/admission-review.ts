/** AdmissionReview of `admission.k8s.io/v1`: what an API server asks of a webhook, and the answer. */
import { isRecord } from "../../is-record.ts"
import type { Pod } from "../../kube/client/objects.ts"

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

/** Reads a request: the review of a Pod, the UID of a request about anything else, or what is wrong with it. */
export const readReview = (body: string): PodReview | { readonly uid: string } | ReviewProblem => {
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
export const answerReview = (uid: string, patch: ReadonlyArray<PatchOperation>): string => {
  const changed = patch.length > 0 && {
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  }
  const response = { uid, allowed: true, ...changed }
  return JSON.stringify({ apiVersion: reviewVersion, kind: "AdmissionReview", response })
}
