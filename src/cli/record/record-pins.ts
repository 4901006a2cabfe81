/** Options of `reel record` for pins: what is kept around alerts, and where pinned windows are written. */
import { readStoreUrl, type StoreAddress } from "../../blob/index.ts"
import { defaultAlertMargins, type PinSettings } from "../../recorder/index.ts"
import { type OptionValues, optional, type Reading, refused, value, withDefault } from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"

const day = 86_400_000_000

/** µs. */
const parseMargin = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  return duration === undefined || duration > day
    ? refused("must be a duration of at most a day, such as 30m")
    : value(duration)
}

const parsePrefix = (given: string): Reading<StoreAddress> => {
  const reading = readStoreUrl(given)
  if (reading.tag === "store") return value(reading.address)
  return refused(
    reading.tag === "refused" ? reading.message : "must be a place in an object store, such as s3://traces/pins",
  )
}

const usual = (micros: number): string =>
  micros % 3_600_000_000 === 0 ? `${micros / 3_600_000_000}h` : `${micros / 60_000_000}m`

export const pinOptions = {
  pinBefore: withDefault(
    usual(defaultAlertMargins.before),
    "DURATION",
    "of a window that Alertmanager pins: how much is kept before the first alert",
    parseMargin,
  ),
  pinAfter: withDefault(
    usual(defaultAlertMargins.after),
    "DURATION",
    "and how much after the last one has ended",
    parseMargin,
  ),
  pinRepeat: withDefault(
    usual(defaultAlertMargins.repeat),
    "DURATION",
    "Alertmanager's repeat_interval: while an alert fires, its window is held open, and ends if nothing was heard for two of these",
    parseMargin,
  ),
  pinExportTo: optional(
    "PREFIX",
    "object store location that each pinned window is written to once it is over, as PREFIX/ID.ndjson.zst, such as s3://traces/pins; default: none",
    parsePrefix,
  ),
}

/** The options as settings of the recorder. */
export const pinSettingsOf = (given: OptionValues<typeof pinOptions>): PinSettings => ({
  alertMargins: { before: given.pinBefore, after: given.pinAfter, repeat: given.pinRepeat },
  exportTo: given.pinExportTo,
})
