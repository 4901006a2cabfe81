/** `reel store info`: what a recording holds, as a table or as JSON. */
import type { RecordingInfo } from "../../archive/upkeep/recording-info.ts"
import { formatInstant, formatLocalTime } from "../../local-time.ts"
import { formatBytes } from "../terminal/quantities.ts"

/** For programs. Times are RFC 3339, `null` where there is none; sizes are bytes. */
export const infoJson = (info: RecordingInfo): string => {
  const { kinds, leases, growthPerDay, daysLeft, ...rest } = info
  const document = {
    ...rest,
    growthPerDay: growthPerDay ?? null,
    daysLeft: daysLeft === undefined ? null : Math.round(daysLeft * 10) / 10,
    kinds: kinds.map(({ since, until, removedThrough, ...kind }) => ({
      ...kind,
      since: instant(since),
      until: instant(until),
      removedThrough: instant(removedThrough),
      bytesPerEvent: kind.events === 0 ? null : Math.round((kind.storedBytes / kind.events) * 10) / 10,
    })),
    leases: leases.map(({ fromTime, ...lease }) => ({ ...lease, from: instant(fromTime) })),
  }
  return JSON.stringify(document, undefined, 2)
}

/** For people, a line each. */
export const infoLines = (info: RecordingInfo, nowMs: number): ReadonlyArray<string> => {
  const local = (micros: number): string => (micros === 0 ? "-" : formatLocalTime(micros / 1000, nowMs))
  const head = ["KIND", "FROM", "UNTIL", "EVENTS", "BYTES", "PER EVENT", "GAPS"]
  const rows = info.kinds.map(({ gvk, since, removedThrough, until, events, storedBytes, gaps }) => [
    gvk,
    `${local(since)}${removedThrough > 0 ? "*" : ""}`,
    local(until),
    String(events),
    formatBytes(storedBytes),
    events === 0 ? "-" : formatBytes(Math.round(storedBytes / events)),
    String(gaps),
  ])
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] as string).length)))
  const table = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join("  ")
      .trimEnd(),
  )
  const hasRemoved = info.kinds.some(({ removedThrough }) => removedThrough > 0)
  return [
    ...table,
    ...(hasRemoved ? ["* retention has removed what was before"] : []),
    `on disk: ${formatBytes(info.databaseBytes)}, of which ${formatBytes(info.freeBytes)} free, and ${formatBytes(info.logBytes)} of log; ${info.blocks} blocks`,
    growth(info),
    ...info.leases.map(
      ({ purpose, host, pid, since, fromTime }) =>
        `being read since ${formatLocalTime(Date.parse(since), nowMs)} by process ${pid} on ${host}: ${purpose}; kept ${fromTime === 0 ? "from the beginning" : `from ${local(fromTime)}`}`,
    ),
  ]
}

const growth = ({ growthPerDay, daysLeft, diskFreeBytes }: RecordingInfo): string => {
  const free = `${formatBytes(diskFreeBytes)} free on the disk`
  if (growthPerDay === undefined) return `growth: too little is recorded to tell; ${free}`
  const left =
    daysLeft === undefined
      ? ""
      : `: full in ${daysLeft < 10 ? daysLeft.toFixed(1) : Math.round(daysLeft)} days if nothing is removed`
  return `growth: ${formatBytes(growthPerDay)} a day; ${free}${left}`
}

const instant = (micros: number): string | null => (micros === 0 ? null : formatInstant(micros))
