/** The pin of a group of alerts: it begins before the first of them and lasts for as long as one fires, and a while longer. Times are µs since the Unix epoch. */
import type { Pin, PinRequest } from "../../archive/index.ts"
import { formatInstant } from "../../local-time.ts"
import { microsOf } from "../../trace/index.ts"
import type { AlertGroup } from "./pin-body.ts"

/** How much is kept around alerts, in µs. */
export interface AlertMargins {
  readonly before: number
  readonly after: number
}

/** Half an hour on either side: causes are mostly minutes before an alert, which itself waits for some with `for`. */
export const defaultAlertMargins: AlertMargins = { before: 1_800_000_000, after: 1_800_000_000 }

/** µs of alerts that are kept: one that fires for weeks would keep retention from removing anything for as long. Its first day is what shows its cause. */
export const longestAlertMicros = 86_400_000_000

/** Labels of such a pin beside those of the alerts: names that begin so are Prometheus' own, and no alert has them. */
const groupLabel = "__group__"
const startLabel = "__started__"

/**
 * What a notification asks for. Of notifications about one group the windows of which overlap, all extend the same pin, although the first alerts of the group may have ended
 * since and be named no more.
 *
 * @param pins those that there are
 */
export const alertPin = (
  { group, startedAt, endedAt, note, labels }: AlertGroup,
  pins: ReadonlyArray<Pin>,
  nowMicros: number,
  { before, after }: AlertMargins,
): PinRequest => {
  // The clock of the machine that noticed may be ahead.
  const started = Math.min(startedAt, nowMicros)
  const from = Math.max(0, started - before)
  const wanted = Math.min(endedAt ?? nowMicros, nowMicros) + after
  const known = pins.findLast(
    (pin) => pin.source === "alert" && pin.labels[groupLabel] === group && pin.from <= wanted && pin.until >= from,
  )
  const first = microsOf(known?.labels[startLabel]) ?? started
  const begin = Math.min(known?.from ?? from, from)
  const last = Math.max(0, first - before) + longestAlertMicros
  return {
    from: begin,
    until: Math.max(begin + 1, known?.until ?? 0, Math.min(wanted, last)),
    source: "alert",
    note,
    labels: { ...labels, [groupLabel]: group, [startLabel]: formatInstant(first) },
    key: `${group} ${first}`,
  }
}
