/** One log line for each requested export: who requested what, and the outcome. Never contains a token. */

import { addressUrl } from "../../blob/target-address.ts"
import type { ExportDestination, ExportRequest } from "./request.ts"
import { windowOf } from "./request.ts"
import type { ExportOutcome } from "./transfer.ts"

/** The facts of an audit line, in the order in which they are written. */
export interface ExportAudit {
  readonly who: string
  /** Address of the client, or of the proxy in front of it. */
  readonly from: string
  readonly request: string
  /** RFC 3339; start inclusive, end exclusive. */
  readonly start: string
  readonly end: string
  /** `simkube`, `ndjson+zstd`, … */
  readonly format: string
  /** As in the request. */
  readonly filters: string
  /** `answer`, or the object's URL. */
  readonly target: string
  readonly bytes: number
  readonly seconds: number
  readonly outcome: string
}

interface AuditedExport {
  readonly who: string
  readonly from: string
  readonly requestId: string
  readonly request: ExportRequest
  readonly destination: ExportDestination
  readonly bytes: number
  readonly milliseconds: number
  readonly outcome: string
}

export const auditOf = (audited: AuditedExport): ExportAudit => {
  const { fromTime, untilTime } = windowOf(audited.request)
  const { destination, request } = audited
  const { format, compression } = request
  return {
    who: audited.who,
    from: audited.from,
    request: audited.requestId,
    start: instant(fromTime),
    end: instant(untilTime),
    format: [format, ...(compression === "none" ? [] : [compression])].join("+"),
    filters: shortened(JSON.stringify(audited.request.filters)),
    target: destination.tag === "store" ? addressUrl(destination.address) : "answer",
    bytes: audited.bytes,
    seconds: Math.round(audited.milliseconds) / 1000,
    outcome: audited.outcome,
  }
}

/** The outcome in words, for the log line. */
export const outcomeText = (outcome: ExportOutcome): string => {
  switch (outcome.tag) {
    case "whole":
      return "whole"
    case "refused":
      return `rejected with ${outcome.refusal.status}: ${outcome.refusal.message}`
    case "failed":
      return `failed: ${outcome.message}`
    case "limit":
      return `aborted: ${outcome.message}`
    case "gone":
      return "the client disconnected"
  }
}

/** characters: a request may have a mebibyte of filters. */
const longestFilters = 2000

const shortened = (text: string): string => (text.length > longestFilters ? `${text.slice(0, longestFilters)}…` : text)

/** ms beyond which a date cannot be written. */
const lastDateMs = 8.64e15

const instant = (micros: number): string => {
  const milliseconds = Math.floor(micros / 1000)
  return Math.abs(milliseconds) <= lastDateMs ? new Date(milliseconds).toISOString() : `${micros} µs`
}
