/**
 * `POST /v1/audit`: what an API server sends to its audit webhook, of which who wrote what is kept.
 *
 * A batch is answered with 200 once its authors are committed, as changes are: the API server sends every other one
 * again, for a minute or so. Two batches are received at once, each within {@link receiveMs}; further ones are refused
 * meanwhile, and come again. Memory: an event of each, and what is read of their others.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AuditBatch } from "../../actors/index.ts"
import { AuditBatchReader } from "../../audit/index.ts"
import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { Access } from "../access/access.ts"
import { refuse, text } from "../http/body/http-answer.ts"
import { awaitsContinue, receiveMs } from "../http/body/request-bodies.ts"
import type { Metric } from "../metrics/metrics-text.ts"
import type { RecorderLog } from "../notices/notice-log.ts"

/** The path of the webhook. */
export const auditPath = "/v1/audit"

/** Bytes of a batch: an API server sends at most 400 events by default, each with an object before and after. */
export const maximumBatchBytes = 32 * 1024 * 1024

/** Batches that are received at once. */
const maximumBatches = 2

/** ms between two log lines about batches that were not taken. */
const sayEveryMs = 60_000

interface WebhookParts {
  /** Of the webhook alone: tokens of readers do not count here, nor its own there. */
  readonly access: Access
  /** Whether the recorded kinds are not all known yet, so that writes would be left out. Batches come again. */
  readonly isStarting?: () => boolean
  readonly add: (batch: AuditBatch) => Promise<number>
  readonly clock: Clock
  readonly log: Pick<RecorderLog, "warn">
}

const outcomes = ["taken", "unauthorised", "too-large", "late", "malformed", "busy", "failed"] as const
type Outcome = (typeof outcomes)[number]

interface Refused {
  readonly outcome: Outcome
  readonly status: number
  readonly message: string
  readonly retryAfterSeconds?: number
}

/** Belongs to one recorder. */
export class AuditWebhook {
  readonly #parts: WebhookParts
  readonly #batches = new Map<Outcome, number>(outcomes.map((each) => [each, 0]))
  #events = 0
  #unknown = 0
  #kept = 0
  #ignored = 0
  #receiving = 0
  #lastMicros = 0
  #saidMs = Number.NEGATIVE_INFINITY

  constructor(parts: WebhookParts) {
    this.#parts = parts
  }

  /** Responds to a request. Never rejects. `discard`: reads the rest of a body that is not taken. */
  async answer(request: IncomingMessage, response: ServerResponse, discard: () => void): Promise<void> {
    if (request.method !== "POST") {
      discard()
      response.setHeader("Allow", "POST")
      return text(response, 405, "send batches of audit events with POST\n")
    }
    const refusal = await this.#taken(request, response, discard).catch(
      (cause: unknown): Refused => ({
        outcome: "failed",
        status: 503,
        message: messageOf(cause),
        retryAfterSeconds: 1,
      }),
    )
    this.#batches.set(refusal?.outcome ?? "taken", (this.#batches.get(refusal?.outcome ?? "taken") ?? 0) + 1)
    if (refusal === undefined) return text(response, 200, "")
    if (refusal.outcome !== "busy") this.#say(refusal)
    if (refusal.status === 401) response.setHeader("WWW-Authenticate", "Bearer")
    refuse(response, refusal)
  }

  /** How many batches, events and writes there were in this life. */
  metrics(): ReadonlyArray<Metric> {
    const counter = (name: string, help: string, samples: Metric["samples"]): Metric => ({
      ...{ name: `kubereel_audit_${name}`, help, type: "counter", samples },
    })
    return [
      counter(
        "batches_total",
        "Batches that API servers sent to the audit webhook, by what became of them.",
        [...this.#batches].map(([result, value]) => ({ labels: { result }, value })),
      ),
      counter("events_total", "Audit events in batches that were taken.", [{ value: this.#events }]),
      counter("unreadable_events_total", "Audit events that could not be read, of those.", [{ value: this.#unknown }]),
      counter("writes_total", "Writes in them, by whether their authors are kept: only those of recorded kinds are.", [
        { labels: { kept: "true" }, value: this.#kept },
        { labels: { kept: "false" }, value: this.#ignored },
      ]),
      {
        ...{ name: "kubereel_audit_last_batch_timestamp_seconds", type: "gauge" },
        help: "Unix time at which the last batch was taken; 0: none was in this life.",
        samples: [{ value: this.#lastMicros / 1e6 }],
      },
    ]
  }

  /** Why it was not. */
  async #taken(request: IncomingMessage, response: ServerResponse, discard: () => void): Promise<Refused | undefined> {
    const { access, add, clock, isStarting } = this.#parts
    const decision = await access.decide(request.headers, "query")
    if (decision.tag === "refused") {
      discard()
      return { outcome: "unauthorised", status: decision.status, message: decision.message }
    }
    if (isStarting?.() === true) {
      discard()
      const message = "the recorded kinds are being listed; send it again"
      return { outcome: "busy", status: 503, message, retryAfterSeconds: 1 }
    }
    if (this.#receiving >= maximumBatches) {
      discard()
      const message = `${maximumBatches} batches are being received, which is the limit; send it again`
      return { outcome: "busy", status: 429, message, retryAfterSeconds: 1 }
    }
    this.#receiving++
    try {
      const reader = new AuditBatchReader()
      const refusal = await this.#received(request, response, reader)
      if (refusal !== undefined) {
        // The rest of the body is not read.
        response.setHeader("Connection", "close")
        return refusal
      }
      const reading = reader.end()
      if (reading.tag === "malformed") return { outcome: "malformed", status: 400, message: reading.problem }
      const { writes, range, events, unknown } = reading
      const kept = range === undefined ? 0 : await add({ writes, range })
      this.#events += events
      this.#unknown += unknown
      this.#kept += kept
      this.#ignored += writes.length - kept
      this.#lastMicros = clock.wallMicros()
      return undefined
    } finally {
      this.#receiving--
    }
  }

  /** Why the body was not received; `undefined`: it was. Rejects if the connection breaks. */
  async #received(
    request: IncomingMessage,
    response: ServerResponse,
    reader: AuditBatchReader,
  ): Promise<Refused | undefined> {
    if (Number(request.headers["content-length"] ?? 0) > maximumBatchBytes) return tooLarge
    if (awaitsContinue(request)) response.writeContinue()
    const { promise: expired, resolve } = Promise.withResolvers<Refused>()
    const timer = this.#parts.clock.after(receiveMs, () => resolve(late))
    try {
      return await Promise.race([read(request, reader), expired])
    } finally {
      timer.cancel()
    }
  }

  #say({ status, message }: Refused): void {
    const now = this.#parts.clock.monotonicMs()
    if (now - this.#saidMs < sayEveryMs) return
    this.#saidMs = now
    this.#parts.log.warn(`a batch of audit events was not taken: ${message}`, { status })
  }
}

const tooLarge: Refused = {
  ...{ outcome: "too-large", status: 413 },
  message: `a batch may have at most ${maximumBatchBytes} bytes; lower --audit-webhook-batch-max-size of the API server`,
}

const late: Refused = {
  ...{ outcome: "late", status: 408 },
  message: `the batch did not arrive within ${receiveMs / 1000} s`,
}

const read = async (request: IncomingMessage, reader: AuditBatchReader): Promise<Refused | undefined> => {
  let length = 0
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > maximumBatchBytes) return tooLarge
    reader.push(piece)
  }
  return undefined
}
