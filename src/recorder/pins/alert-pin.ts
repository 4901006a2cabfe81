/** The pin of a group of alerts: it begins before the first of them and lasts for as long as one fires, and a while longer. Times are µs since the Unix epoch. */
import type { Pin, PinRequest } from "../../archive/index.ts"
import { formatInstant } from "../../local-time.ts"
import { microsOf } from "../../trace/index.ts"
import type { AlertGroup } from "./pin-body.ts"

/** How much is kept around alerts, in µs. */
export interface AlertMargins {
  readonly before: number
  readonly after: number
  /** Between two notifications about alerts that fire, when nothing of their group changes (`repeat_interval` of Alertmanager). */
  readonly repeat: number
}

/** Half an hour on either side: causes are mostly minutes before an alert, which itself waits for some with `for`. Alertmanager repeats itself after 4 h by default. */
export const defaultAlertMargins: AlertMargins = {
  ...{ before: 1_800_000_000, after: 1_800_000_000, repeat: 4 * 3_600_000_000 },
}

/** Intervals without a notification after which an alert is taken for one that ended: the end of an alert may not be sent, and one notification may be lost. */
const missedRepeats = 2

/** µs of alerts that are kept: one that fires for weeks would keep retention from removing anything for as long. Its first day is what shows its cause. */
export const longestAlertMicros = 86_400_000_000

/** Labels of such a pin beside those of the alerts: names that begin so are Prometheus' own, and no alert has them. */
const groupLabel = "__group__"
const startLabel = "__started__"
/** When it was last notified of that an alert fires; none: all have ended. */
const heardLabel = "__heard__"

/**
 * What a notification asks for. While an alert fires, the window ends {@link missedRepeats} intervals after its last notification, so that retention removes nothing of it; that all have ended
 * ends it. Of notifications about one group the windows of which overlap, all extend the same pin, although the first alerts of the group may have ended
 * since and be named no more.
 *
 * @param pins those that there are
 */
export const alertPin = (
  { group, startedAt, endedAt, note, labels }: AlertGroup,
  pins: ReadonlyArray<Pin>,
  nowMicros: number,
  { before, after, repeat }: AlertMargins,
): PinRequest => {
  // The clock of the machine that noticed may be ahead.
  const started = Math.min(startedAt, nowMicros)
  const from = Math.max(0, started - before)
  const held = nowMicros + Math.max(after, missedRepeats * repeat)
  const wanted = endedAt === undefined ? held : Math.min(endedAt, nowMicros) + after
  const known = pins.findLast(
    (pin) => pin.source === "alert" && pin.labels[groupLabel] === group && pin.from <= wanted && pin.until >= from,
  )
  const first = microsOf(known?.labels[startLabel]) ?? started
  const begin = Math.min(known?.from ?? from, from)
  const last = Math.max(0, first - before) + longestAlertMicros
  // Alerts of the group that ended before may have a window that ends later; one that is held open ends now.
  const ended = known === undefined || heardLabel in known.labels ? 0 : known.until
  return {
    from: begin,
    until: Math.max(begin + 1, ended, Math.min(wanted, last)),
    source: "alert",
    note,
    labels: {
      ...{ ...labels, [groupLabel]: group, [startLabel]: formatInstant(first) },
      ...(endedAt === undefined && { [heardLabel]: formatInstant(nowMicros) }),
    },
    key: `${group} ${first}`,
  }
}

/** What is to be known of a window that is held open, or was until nothing more was heard of its alert; one sentence. `undefined`: nothing. */
export const alertSentence = ({ source, labels, from, until, place }: Pin): string | undefined => {
  const heard = labels[heardLabel]
  if (source !== "alert" || heard === undefined || until - from >= longestAlertMicros) return undefined
  return place === "open"
    ? `Its alert fired at ${heard}; the window is held open until it is resolved.`
    : `Nothing was heard of its alert after ${heard}, not that it is resolved either; so the window ended.`
}
