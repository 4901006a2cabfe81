/**
 * SelfSubjectAccessReview: k9s, Headlamp and `kubectl auth can-i` ask whether they may before they do. Everything that is served may be read, and nothing
 * can be written. All other writes get a 405 with the reason.
 */
import { badRequest, type Failure, fail, readOnly } from "../../apiserver/answers/failure.ts"
import type { WriteHandler } from "../../apiserver/api-server-options.ts"
import type { Exchange } from "../../apiserver/http/exchange.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import { isRecord } from "../../is-record.ts"

/** Bytes. A review has some 200. */
const longestReview = 64 * 1024

const reads: ReadonlySet<string> = new Set(["get", "list", "watch"])

/** `reason`: why nothing can be written. */
export const refuseWrites =
  (reason: string): WriteHandler =>
  (exchange, _route, resource): Failure | undefined => {
    if (!isReview(resource) || exchange.request.method !== "POST") return readOnly(reason)
    exchange.whenReady(bodyOf(exchange), (body) => {
      const review = body === undefined ? undefined : parsed(body)
      if (typeof review === "string") exchange.fail(badRequest(review))
      else if (review === undefined)
        exchange.fail(fail(413, "the review is too large", { reason: "RequestEntityTooLarge" }))
      else
        exchange.written({ type: "written", status: 201, json: JSON.stringify(answered(review, reason)), warnings: [] })
    })
    return undefined
  }

const isReview = ({ gvk }: Resource): boolean =>
  gvk.group === "authorization.k8s.io" && gvk.kind === "SelfSubjectAccessReview"

/** `undefined` if it is too large. */
const bodyOf = async ({ request }: Exchange): Promise<string | undefined> => {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    // The rest is read all the same: the client does not listen before it has sent everything.
    if (bytes <= longestReview) parts.push(part)
  }
  return bytes > longestReview ? undefined : Buffer.concat(parts).toString("utf8")
}

type Review = Readonly<Record<string, unknown>>

/** The review, or what is wrong with it. */
const parsed = (body: string): Review | string => {
  try {
    const review: unknown = JSON.parse(body)
    return isRecord(review) ? review : "the review is not an object"
  } catch {
    return "the review is not JSON, the only encoding that is read here"
  }
}

const answered = (review: Review, reason: string): object => {
  const { spec } = review
  const { resourceAttributes, nonResourceAttributes } = isRecord(spec) ? spec : {}
  const attributes = isRecord(resourceAttributes) ? resourceAttributes : nonResourceAttributes
  const verb = isRecord(attributes) ? String(attributes.verb) : ""
  const allowed = reads.has(verb)
  return {
    kind: "SelfSubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {},
    spec: isRecord(spec) ? spec : {},
    status: allowed ? { allowed } : { allowed, reason },
  }
}
