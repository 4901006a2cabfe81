/** The body of `POST /v1/pins`: a window to be kept, or a notification of Alertmanager's webhook. Fields that are not known are rejected by name in the former, and allowed in the latter. */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isRecord } from "../../is-record.ts"
import { parseDuration } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { microsOf } from "../../trace/index.ts"

/** A window as a client asks for it; times are µs since the Unix epoch. */
interface AskedPin {
  readonly from: number
  /** Exclusive. */
  readonly until: number
  readonly note: string
  readonly labels: Readonly<Record<string, string>>
}

/** What a notification says of a group of alerts. Times are µs since the Unix epoch. */
export interface AlertGroup {
  /** Of the group's key: the same in each notification about it. */
  readonly group: string
  /** When the first of its alerts began to fire. */
  readonly startedAt: number
  /** When the last one ended; `undefined`: one fires. */
  readonly endedAt: number | undefined
  readonly note: string
  readonly labels: Readonly<Record<string, string>>
}

type PinBody =
  | { readonly tag: "pin"; readonly pin: AskedPin }
  | { readonly tag: "alerts"; readonly group: AlertGroup }
  | { readonly tag: "refused"; readonly status: 400; readonly message: string }

const Texts = Schema.Record(Schema.String, Schema.String)

const PinBody = Schema.Struct({
  from: Schema.Union([Schema.Number, Schema.String]),
  until: Schema.Union([Schema.Number, Schema.String]),
  note: Schema.optionalKey(Schema.String),
  labels: Schema.optionalKey(Texts),
})

/** https://prometheus.io/docs/alerting/latest/configuration/#webhook_config */
const Notification = Schema.Struct({
  version: Schema.Literal("4"),
  groupKey: Schema.String,
  status: Schema.Literals(["firing", "resolved"]),
  commonLabels: Schema.optionalKey(Texts),
  commonAnnotations: Schema.optionalKey(Texts),
  alerts: Schema.NonEmptyArray(
    Schema.Struct({
      status: Schema.Literals(["firing", "resolved"]),
      startsAt: Schema.String,
      endsAt: Schema.optionalKey(Schema.String),
    }),
  ),
})

/** Reads a body. `nowMicros`: what relative times count from. Never throws. */
export const readPinBody = (body: string, nowMicros: number): PinBody => {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    return refused(`the body is not JSON: ${messageOf(cause)}`)
  }
  const isNotification = isRecord(parsed) && "groupKey" in parsed
  return isNotification ? notificationIn(parsed) : pinIn(parsed, nowMicros)
}

const refused = (message: string): PinBody => ({ tag: "refused", status: 400, message })

const pinIn = (parsed: unknown, nowMicros: number): PinBody => {
  const decoded = Schema.decodeUnknownResult(PinBody)(parsed, { onExcessProperty: "error" })
  if (Result.isFailure(decoded)) return refused(`not a window to pin: ${inOneLine(decoded.failure.message)}`)
  const { from, until, note = "", labels = {} } = decoded.success
  const [first, last] = [from, until].map((time) => momentIn(time, nowMicros))
  if (first === undefined || last === undefined)
    return refused(
      "from and until must be µs since 1970, RFC 3339 times such as 2026-11-29T03:12:00Z, now, or durations such as -30m and +1h",
    )
  return { tag: "pin", pin: { from: first, until: last, note, labels } }
}

/** µs since the Unix epoch. */
const momentIn = (given: number | string, nowMicros: number): number | undefined => {
  if (given === "now") return nowMicros
  if (typeof given === "number" || /^\d{1,16}$/.test(given)) {
    const micros = Number(given)
    return Number.isSafeInteger(micros) && micros >= 0 ? micros : undefined
  }
  const [, sign, length = ""] = /^([-+])(.{1,40})$/.exec(given) ?? []
  if (sign === undefined) return microsOf(given)
  const milliseconds = parseDuration(length)
  if (milliseconds === undefined) return undefined
  const moment = nowMicros + Math.round(milliseconds * 1000) * (sign === "-" ? -1 : 1)
  return Number.isSafeInteger(moment) && moment >= 0 ? moment : undefined
}

const longestFaults = 500

const inOneLine = (message: string): string =>
  message
    .replaceAll(/\n\s+at /g, " at ")
    .replaceAll(/\s*\n\s*/g, "; ")
    .slice(0, longestFaults)

/** Characters of a note, of a label's name and of its value, and labels, that a pin has at most: an alert with more is not refused. */
const longestText = 1024
const mostLabels = 60

const notificationIn = (parsed: unknown): PinBody => {
  const decoded = Schema.decodeUnknownResult(Notification)(parsed)
  if (Result.isFailure(decoded))
    return refused(`not a notification of Alertmanager, version 4: ${inOneLine(decoded.failure.message)}`)
  const { groupKey, status, alerts, commonLabels = {}, commonAnnotations = {} } = decoded.success
  const starts = alerts.map(({ startsAt }) => microsOf(startsAt))
  const ends = alerts.map(({ endsAt }) => microsOf(endsAt))
  if (!starts.every((time) => time !== undefined))
    return refused("startsAt of an alert is not an RFC 3339 time after 1970")
  const isOver = status === "resolved"
  if (isOver && !ends.every((time) => time !== undefined))
    return refused("endsAt of an alert that is resolved is not an RFC 3339 time after 1970")
  const { alertname = "" } = commonLabels
  const said = commonAnnotations.summary ?? commonAnnotations.description ?? commonAnnotations.message ?? ""
  const labels = Object.entries(commonLabels).slice(0, mostLabels)
  return {
    tag: "alerts",
    group: {
      // A key has all labels of its group, and may be longer than a pin's.
      group: createHash("sha256").update(groupKey).digest("hex").slice(0, 16),
      startedAt: Math.min(...starts),
      endedAt: isOver ? Math.max(...ends.map((time) => time ?? 0)) : undefined,
      note: [alertname, said]
        .filter((text) => text !== "")
        .join(": ")
        .slice(0, longestText),
      labels: Object.fromEntries(labels.map((texts) => texts.map((text) => text.slice(0, longestText)))),
    },
  }
}
