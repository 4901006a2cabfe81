/**
 * One request handler for each moment that is asked for, the most recently used ones. A handler that is forgotten still serves its open watches; the next
 * request for its moment makes another one, with the same states and versions.
 */

import protobuf from "protobufjs/minimal.js"
import {
  ApiHandler,
  badRequest,
  type Exchange,
  expiredList,
  type Failure,
  fail,
  type OnTrouble,
  readOnly,
  type WriteHandler,
} from "../../apiserver/index.ts"
import type { Clock } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import { apiVersionOf } from "../../kube/offline.ts"
import { formatLocalTime } from "../../local-time.ts"
import { messageOf } from "../../message-of.ts"
import { HistoryBackend, type MomentKinds } from "../backend/history-backend.ts"
import { type FixedKinds, fixedMoment } from "../backend/moments.ts"
import type { Past } from "../past/past.ts"
import { StateCache } from "../state/state-cache.ts"
import { historyUser } from "./history-kubeconfig.ts"

// What clients ask about themselves: whether they may (k9s, Headlamp and `kubectl auth can-i` ask before they do), what
// they may (`can-i --list`), and who they are (`kubectl auth whoami`). Every client that reaches the server may read
// everything that is served, and nothing can be written. All other writes get a 405 with the reason.

/** Bytes. A review has some 200. */
const longestReview = 64 * 1024

const reads: ReadonlySet<string> = new Set(["get", "list", "watch"])

/** `reason`: why nothing can be written. */
const refuseWrites =
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

/** Clients are not told apart: the server of the past has one reader. */
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

/** A moment that was asked for. */
export interface AskedMoment {
  /** µs since the Unix epoch. */
  readonly time: number
  /** What a reader must know of how it was taken, such as which of two. */
  readonly remark?: string | undefined
}

export interface HandlerSettings {
  readonly past: Past
  readonly clock: Clock
  /** Reads a moment as a person writes it; a text: what is wrong with it (continues "…: "). */
  readonly readMoment: (text: string) => AskedMoment | string
  /** Bytes of states of fixed moments that are kept. */
  readonly cacheBytes: number
  /** ms between the bookmarks of a watch. */
  readonly bookmarkInterval: number
  readonly onTrouble: OnTrouble
}

/** Each has a registry of kinds and little else: some 100 kB. */
const keptHandlers = 64

/** ms between two looks for how far a past reaches to which a recorder adds, or from which retention removes. */
const refreshMs = 1000

export class MomentHandlers {
  readonly #settings: HandlerSettings
  readonly #states: FixedKinds
  /** Least recently used first, as a Map iterates. */
  readonly #handlers = new Map<string, Promise<ApiHandler>>()
  #refreshedMs = Number.NEGATIVE_INFINITY

  constructor(settings: HandlerSettings) {
    this.#settings = settings
    this.#states = new StateCache(settings.cacheBytes)
  }

  /** The handler of a moment, or why it cannot be served. Rejects with what reading the past throws. */
  async at(moment: string): Promise<ApiHandler | Failure> {
    const asked = this.#settings.readMoment(moment)
    if (typeof asked === "string") return badRequest(`${JSON.stringify(moment)}: ${asked}`)
    return (await this.#refusal(asked.time)) ?? this.#handlerAt(asked)
  }

  /** A handler for the kinds of a moment; `now`: that moment, µs since the Unix epoch, by which ages are shown. */
  handlerOf(kinds: MomentKinds, now: () => number, remark?: string): ApiHandler {
    const { past, clock, bookmarkInterval, onTrouble } = this.#settings
    const backend = new HistoryBackend(kinds, { past, clock, bookmarkInterval, remark })
    const reason = `this is the recorded past in ${past.name}, which cannot be changed`
    const momentClock: Clock = {
      wallMicros: now,
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, action) => clock.after(delayMs, action),
    }
    const options = { clock: momentClock, requestLogLimit: 0, onTrouble }
    return new ApiHandler(backend, options, { write: refuseWrites(reason), readOnlyReason: reason })
  }

  async #refusal(time: number): Promise<Failure | undefined> {
    const { past, clock } = this.#settings
    if (clock.monotonicMs() - this.#refreshedMs >= refreshMs) {
      this.#refreshedMs = clock.monotonicMs()
      await past.refresh()
    }
    if (time >= past.begin && time <= past.end) return undefined
    const said = (micros: number): string => formatLocalTime(micros / 1000, clock.wallMicros() / 1000)
    const reach = `${past.name} reaches from ${said(past.begin)} to ${said(past.end)}`
    return time < past.begin
      ? { ...expiredList, message: `${said(time)} is before the beginning: ${reach}` }
      : badRequest(`${said(time)} is after the end: ${reach}`)
  }

  #handlerAt({ time, remark }: AskedMoment): Promise<ApiHandler> {
    const { past, clock } = this.#settings
    const key = `${time} ${remark ?? ""}`
    const known = this.#handlers.get(key)
    this.#handlers.delete(key)
    const handler =
      known ?? fixedMoment(past, time, this.#states, clock).then((kinds) => this.handlerOf(kinds, () => time, remark))
    this.#handlers.set(key, handler)
    // The requests that wait for it receive the error; the next one tries again.
    handler.catch(() => this.#handlers.delete(key))
    for (const oldest of this.#handlers.keys()) {
      if (this.#handlers.size <= keptHandlers) break
      this.#handlers.delete(oldest)
    }
    return handler
  }
}
