/**
 * What clients ask about themselves: whether they may (k9s, Headlamp and `kubectl auth can-i` ask before they do), what they may (`can-i --list`), and who
 * they are (`kubectl auth whoami`). Everything that is served may be read, by whoever reaches the server, and nothing can be written. All other writes
 * get a 405 with the reason.
 */
import protobuf from "protobufjs/minimal.js"
import { badRequest, type Failure, fail, readOnly } from "../../apiserver/answers/failure.ts"
import type { WriteHandler } from "../../apiserver/api-server-options.ts"
import type { Exchange } from "../../apiserver/http/exchange.ts"
import { isRecord } from "../../is-record.ts"
import { apiVersionOf } from "../../kube/gvk.ts"
import { messageOf } from "../../message-of.ts"
import { historyUser } from "./history-kubeconfig.ts"

/** Bytes. A review has some 200. */
const longestReview = 64 * 1024

const reads: ReadonlySet<string> = new Set(["get", "list", "watch"])

/** `reason`: why nothing can be written. */
export const refuseWrites =
  (reason: string): WriteHandler =>
  (exchange, _route, resource): Failure | undefined => {
    const { group, kind } = resource.gvk
    const isReview = /^auth(?:entication|orization)\.k8s\.io$/.test(group) && kind.startsWith("SelfSubject")
    if (!isReview || exchange.request.method !== "POST") return readOnly(reason)
    exchange.whenReady(bodyOf(exchange), (body) => {
      const answer = (facts: object): void => {
        const json = JSON.stringify({ kind, apiVersion: apiVersionOf(resource.gvk), metadata: {}, ...facts })
        exchange.written({ type: "written", status: 201, json, warnings: [] })
      }
      if (body === undefined) return exchange.fail(tooLarge)
      if (kind === "SelfSubjectReview") return answer({ status: { userInfo: reader } })
      if (kind === "SelfSubjectRulesReview") return answer({ spec: {}, status: rules })
      const review = reviewIn(body)
      return "code" in review ? exchange.fail(review) : answer(accessOf(review, reason))
    })
    return undefined
  }

const tooLarge = fail(413, "the review is too large", { reason: "RequestEntityTooLarge" })

/** Nobody is told apart here: the server of the past has one reader. */
const reader = { username: historyUser, groups: ["system:authenticated"] }

const rules = {
  resourceRules: [{ verbs: [...reads], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["*"] }],
  incomplete: false,
}

/** `undefined` if it is too large. */
const bodyOf = async ({ request }: Exchange): Promise<Buffer | undefined> => {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    // The rest is read all the same: the client does not listen before it has sent everything.
    if (bytes <= longestReview) parts.push(part)
  }
  return bytes > longestReview ? undefined : Buffer.concat(parts)
}

/** What a review asks about; everything else of it changes nothing. */
interface Review {
  readonly verb: string
  /** As the client sent it; empty for a review in protobuf. */
  readonly spec: Readonly<Record<string, unknown>>
}

const reviewIn = (body: Buffer): Review | Failure =>
  body.subarray(0, magic.length).equals(magic) ? reviewInProtobuf(body.subarray(magic.length)) : reviewInJson(body)

const reviewInJson = (body: Buffer): Review | Failure => {
  let review: unknown
  try {
    review = JSON.parse(body.toString("utf8"))
  } catch (error) {
    return badRequest(`the review is not JSON: ${messageOf(error)}`)
  }
  const spec = isRecord(review) && isRecord(review.spec) ? review.spec : {}
  const attributes = spec.resourceAttributes ?? spec.nonResourceAttributes
  return { verb: isRecord(attributes) ? String(attributes.verb) : "", spec }
}

/** What Kubernetes' messages begin with. */
const magic = Buffer.from("k8s\0")

/**
 * kubectl sends reviews in protobuf: in `Unknown` the review is field 2, in it `spec` is 2; there the attributes of a resource are 1 and other ones 2, and
 * both have their verb in 2.
 */
const reviewInProtobuf = (message: Uint8Array): Review | Failure => {
  try {
    const spec = fieldIn(fieldIn(message, 2), 2)
    const attributes = fieldIn(spec, 1) ?? fieldIn(spec, 2)
    return { verb: Buffer.from(fieldIn(attributes, 2) ?? []).toString("utf8"), spec: {} }
  } catch (error) {
    return badRequest(`the review is not protobuf: ${messageOf(error)}`)
  }
}

/** The bytes of a field with a length; `undefined` if there is none. Throws for what is no message. */
const fieldIn = (message: Uint8Array | undefined, wanted: number): Uint8Array | undefined => {
  const reader = protobuf.Reader.create(message ?? new Uint8Array())
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 === wanted && (tag & 7) === 2) return reader.bytes()
    reader.skipType(tag & 7)
  }
  return undefined
}

const accessOf = ({ verb, spec }: Review, reason: string): object => {
  const allowed = reads.has(verb)
  return { spec, status: allowed ? { allowed } : { allowed, reason } }
}
